#include "hocket/passes/sink_waits.h"

#include <fmt/core.h>

#include <vector>

#include "hocket/passes/collectives.h"

namespace hocket {
namespace {

/// By node: waits, and what follows one wherever it goes.
std::vector<bool> find_sinking(const Graph& g) {
  std::vector<bool> sinks(g.node_bound());
  for (NodeId n : g.nodes()) {
    NodeId source = g[n].op->waits ? NodeId{} : only_source(g, n);
    sinks[n.index] = g[n].op->waits || (is_cheap(*g[n].op) && source && sinks[source.index]);
  }
  return sinks;
}

void remark(Graph& g, NodeId wait, NodeId reader, bool moved) {
  std::string_view what = moved ? "waits in front of" : "stays in front of";
  g.remark({.where = shown(g, wait),
            .what = fmt::format("{} {}", what, shown(g, reader)),
            .why = "its first reader"});
}

}  // namespace

void sink_waits(Graph& g, const NoOptions&) {
  std::vector<bool> sinks = find_sinking(g);
  // What was moved in front of a reader, with all that was moved in front of that, is one run of
  // nodes: the reader it ends at, and for that reader the first node of the run.
  std::vector<NodeId> ends_at(g.node_bound()), front(g.node_bound());
  for (NodeId n : reversed(g.nodes())) {
    if (!sinks[n.index]) continue;
    NodeId reader = g.first_user(n);
    if (!reader) continue;
    NodeId end = ends_at[reader.index] ? ends_at[reader.index] : reader;
    bool first = reader == end || front[end.index] == reader;
    NodeId place = reader == end && front[end.index] ? front[end.index] : reader;
    std::uint64_t before = g.edits();
    g.move_before(n, place);
    ends_at[n.index] = end;
    if (first) front[end.index] = n;
    if (g[n].op->waits) remark(g, n, reader, g.edits() != before);
  }
}

}  // namespace hocket

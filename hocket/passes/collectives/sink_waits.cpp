#include "hocket/passes/collectives/sink_waits.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

/// A wait, or what follows one wherever it goes.
struct Sinking {
  NodeId node;
  NodeId start;  ///< of the transfer; an input when it was started in an earlier iteration
};

/// In the order in which they are to be moved: last started first, and readers before what they
/// read.
std::vector<Sinking> find_sinking(const Graph& g) {
  std::vector<NodeId> start(g.node_bound());
  std::vector<Sinking> list;
  for (NodeId n : g.nodes()) {
    if (g[n].op->is_wait)
      start[n.index] = g.node(g[n].inputs[0]);
    else if (NodeId source = is_cheap(*g[n].op) ? only_source(g, n) : NodeId{})
      start[n.index] = start[source.index];
    if (start[n.index]) list.push_back({n, start[n.index]});
  }
  std::ranges::reverse(list);
  std::ranges::stable_sort(
      list, [&](const Sinking& a, const Sinking& b) { return g.before(b.start, a.start); });
  return list;
}

/// The first node that n must stand before: its first reader, or, where it waits for a state, the
/// node that starts the next transfer into the same place.
NodeId first_behind(const Graph& g, NodeId n, NodeId start) {
  NodeId reader = g.first_user(n);
  if (!reader || !g[n].op->is_wait || !g.is_input(start)) return reader;
  for (Value v : g[n].inputs)
    if (NodeId maker = maker_of_next(g, v); maker && g.before(n, maker) && g.before(maker, reader))
      reader = maker;
  return reader;
}

void remark(Graph& g, NodeId wait, NodeId reader, bool moved) {
  std::string_view what = moved ? "waits in front of" : "stays in front of";
  g.remark({.where = shown(g, wait),
            .what = fmt::format("{} {}", what, shown(g, reader)),
            .why = "nothing needs it earlier"});
}

}  // namespace

void sink_waits(Graph& g, const NoOptions&) {
  // What was moved in front of a reader, with all that was moved in front of that, is one run of
  // nodes: the reader it ends at, and for that reader the first node of the run.
  std::vector<NodeId> ends_at(g.node_bound()), front(g.node_bound());
  for (auto [n, start] : find_sinking(g)) {
    NodeId reader = first_behind(g, n, start);
    if (!reader) continue;
    NodeId end = ends_at[reader.index] ? ends_at[reader.index] : reader;
    bool first = reader == end || front[end.index] == reader;
    NodeId place = reader == end && front[end.index] ? front[end.index] : reader;
    std::uint64_t before = g.edits();
    g.move_before(n, place);
    ends_at[n.index] = end;
    if (first) front[end.index] = n;
    if (g[n].op->is_wait) remark(g, n, reader, g.edits() != before);
  }
}

}  // namespace hocket

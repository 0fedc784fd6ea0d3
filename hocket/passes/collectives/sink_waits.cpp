#include "hocket/passes/collectives/sink_waits.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/analysis/dependencies.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

/// A wait, or a cheap node that follows one.
struct Sinking {
  NodeId node;
  NodeId start;  ///< the collective; an input if it was started in an earlier iteration
};

/// Nodes in the order in which they are moved: those of the collective started last come first, and
/// readers come before the nodes that they read.
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

/// The first node that n must stand before: its first reader, or the collective whose transfer
/// reuses the buffer that n waits for. None if there is no such node.
NodeId first_behind(const Graph& g, const Dependencies& order, NodeId n) {
  NodeId first = g.first_user(n);
  if (!first) return first;
  for (NodeId m : order.more_behind(n))
    if (g.before(m, first)) first = m;
  return first;
}

void remark(Graph& g, NodeId wait, NodeId reader, bool moved) {
  std::string_view what = moved ? "waits in front of" : "stays in front of";
  g.remark({.where = shown(g, wait),
            .what = fmt::format("{} {}", what, shown(g, reader)),
            .why = "nothing needs it earlier"});
}

}  // namespace

void sink_waits(Graph& g, const NoOptions&) {
  // Nodes that are moved in front of a reader, directly or through each other, form a contiguous
  // run that ends at the reader. `ends_at`, by node: the reader at the end of its run. `front`, by
  // reader: the first node of the run.
  std::vector<NodeId> ends_at(g.node_bound()), front(g.node_bound());
  const Dependencies order(g, Holds::in_flight);
  for (auto [n, start] : find_sinking(g)) {
    NodeId reader = first_behind(g, order, n);
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

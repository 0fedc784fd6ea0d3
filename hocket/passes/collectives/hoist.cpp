#include "hocket/passes/collectives/hoist.h"

#include "hocket/passes/analysis/dataflow.h"

namespace hocket {

NodeId Hoist::last_operand(NodeId n, NodeId bound) const {
  NodeId last = bound;
  for (Value v : g_[n].inputs) {
    NodeId from = g_.node(v);
    if (g_.is_input(from) || is_constant(g_, v)) continue;
    if (!last || g_.before(last, from)) last = from;
  }
  return last;
}

void Hoist::put_behind(NodeId n, NodeId place) {
  if (place)
    g_.move_after(n, place);
  else
    g_.move_before(n, g_.first_node());
  for (Value v : g_[n].inputs)
    if (is_constant(g_, v) && !g_.before(g_.node(v), n)) g_.move_before(g_.node(v), n);
}

NodeId Hoist::start(NodeId n, NodeId bound) {
  NodeId last = last_operand(n, bound), &start = starts_[last.index], &tail = tail_[last.index];
  put_behind(n, start ? start : last);
  if (tail == start) tail = n;
  start = n;
  return last;
}

void Hoist::prepare(NodeId n) {
  NodeId last = last_operand(n, {}), place = last;
  while (tail_[place.index]) place = tail_[place.index];
  put_behind(n, place);
  tail_[last.index] = n;
}

std::vector<bool> find_feeders(const Graph& g) {
  std::vector<bool> feeds(g.node_bound());
  for (NodeId n : reversed(g.nodes())) {
    const Node& node = g[n];
    if (!is_cheap(*node.op) || node.result_count != 1 || !only_source(g, n)) continue;
    auto uses = g.uses(g.result(n));
    if (uses.size() != 1 || uses[0].node == g.return_node()) continue;
    NodeId reader = uses[0].node;
    feeds[n.index] = g[reader].op->is_collective || feeds[reader.index];
  }
  return feeds;
}

}  // namespace hocket

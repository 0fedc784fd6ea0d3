#include "hocket/passes/hoist.h"

#include "hocket/passes/collectives.h"

namespace hocket {

NodeId Hoist::up(NodeId n, NodeId bound) {
  NodeId last = bound;
  for (Value v : g_[n].inputs) {
    NodeId from = g_.node(v);
    if (g_.is_input(from) || is_constant(g_, v)) continue;
    if (!last || g_.before(last, from)) last = from;
  }
  NodeId root = last && root_[last.index] ? root_[last.index] : last;
  NodeId place = tail_[root.index] ? tail_[root.index] : root;
  // A bound may stand among the nodes behind another root; then that is its own end of them.
  if (last && place && g_.before(place, last)) place = last;
  if (place)
    g_.move_after(n, place);
  else
    g_.move_before(n, g_.first_node());
  root_[n.index] = root;
  tail_[root.index] = n;
  for (Value v : g_[n].inputs)
    if (is_constant(g_, v) && !g_.before(g_.node(v), n)) g_.move_before(g_.node(v), n);
  return last;
}

std::vector<bool> find_feeders(const Graph& g) {
  std::vector<bool> feeds(g.node_bound());
  for (NodeId n : reversed(g.nodes())) {
    const Node& node = g[n];
    if (!is_cheap(*node.op) || node.result_count != 1 || !only_source(g, n)) continue;
    auto uses = g.uses(g.result(n));
    if (uses.size() != 1 || uses[0].node == g.return_node()) continue;
    NodeId reader = uses[0].node;
    feeds[n.index] = g[reader].op->starts || feeds[reader.index];
  }
  return feeds;
}

}  // namespace hocket

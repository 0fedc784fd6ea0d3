#include "hocket/passes/analysis/precedence.h"

namespace hocket {
namespace {

/// From the node that makes a state's next value to the readers of the state that stand before it.
void add_holds(const Graph& g, std::vector<NodeEdge>& edges) {
  for (const Input& in : g.inputs()) {
    if (!in.state) continue;
    Value next = g.next(in.value);
    if (!next || g.is_input(g.node(next))) continue;
    NodeId maker = g.node(next);
    for (Use use : g.uses(in.value))
      if (g.before(use.node, maker)) edges.push_back({maker, use.node});
  }
}

/// From each node to what must stand before it beside its operands.
std::vector<NodeEdge> edges_back(const Graph& g) {
  std::vector<NodeEdge> edges = reversed(fixed_order(g));
  add_holds(g, edges);
  return edges;
}

}  // namespace

Precedence::Precedence(const Graph& g)
    : graph_(g), position_(g.node_bound()), more_(g.node_bound(), edges_back(g)) {
  for (NodeId n : g.nodes()) {
    nodes_.push_back(n);
    position_[n.index] = static_cast<std::uint32_t>(nodes_.size());
  }
}

std::vector<NodeId> Precedence::before(NodeId n) const {
  std::vector<NodeId> list;
  for (Value v : graph_[n].inputs)
    if (NodeId from = graph_.node(v); !graph_.is_input(from)) list.push_back(from);
  list.insert(list.end(), more_[n].begin(), more_[n].end());
  return list;
}

}  // namespace hocket

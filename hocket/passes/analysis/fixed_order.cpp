#include "hocket/passes/analysis/fixed_order.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "hocket/ir/collective_matching.h"
#include "hocket/passes/analysis/own_groups.h"

namespace hocket {

NodeLists::NodeLists(std::size_t node_bound, const std::vector<NodeEdge>& edges) {
  if (edges.empty()) return;
  starts_.resize(node_bound + 1);
  nodes_.resize(edges.size());
  for (const NodeEdge& e : edges) ++starts_[e.from.index + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  std::vector<std::uint32_t> at(starts_.begin(), starts_.end() - 1);
  for (const NodeEdge& e : edges) nodes_[at[e.from.index]++] = e.to;
}

std::vector<NodeEdge> fixed_order(const Graph& g) {
  struct Fence {
    NodeId barrier;
    std::vector<NodeId> since;  // collectives behind it
  };
  std::vector<NodeEdge> edges;
  OwnGroups own(g);
  NodeId last;  // of those that other graphs or ranks see
  std::vector<bool> seen(g.node_bound());
  std::map<std::string, Fence, std::less<>> fences;  // by group
  for (NodeId n : g.nodes()) {
    const Node& node = g[n];
    if (node.op->is_wait && last) {
      // A handle that was carried here may be of any.
      bool for_seen = std::ranges::any_of(
          node.inputs, [&](Value v) { return seen[g.node(v).index] || g.is_input(g.node(v)); });
      if (for_seen) edges.push_back({last, n});
    }
    if (!has_channel(node)) continue;
    if (node.op->has_effect || !own.owns(node)) {
      if (last) edges.push_back({last, n});
      last = n;
      seen[n.index] = true;
    }
    Fence& fence = fences[node.attr<std::string>("group")];
    if (node.op->is_collective) {
      if (fence.barrier) edges.push_back({fence.barrier, n});
      fence.since.push_back(n);
    } else {
      for (NodeId m : fence.since) edges.push_back({m, n});
      fence = {.barrier = n, .since = {}};
    }
  }
  return edges;
}

std::vector<NodeEdge> reversed(std::vector<NodeEdge> edges) {
  for (NodeEdge& e : edges) std::swap(e.from, e.to);
  return edges;
}

}  // namespace hocket

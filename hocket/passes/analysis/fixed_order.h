#pragma once
// Order that no operand tells.

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

struct NodeEdge {
  NodeId from, to;
};

/// A list of nodes for each node, in one piece of memory.
class NodeLists {
 public:
  /// The list of e.from gets e.to, for every edge in turn.
  NodeLists(std::size_t node_bound, const std::vector<NodeEdge>& edges);
  std::span<const NodeId> operator[](NodeId n) const {
    if (n.index + 1 >= starts_.size()) return {};
    return std::span(nodes_).subspan(starts_[n.index], starts_[n.index + 1] - starts_[n.index]);
  }

 private:
  std::vector<std::uint32_t> starts_;  // by node, and the end; none when there are no edges
  std::vector<NodeId> nodes_;
};

/// What passes do not turn round, because ranks see it of each other, in the list as it stands:
/// - effects, and collectives that ranks with another graph take part in, one after the other,
///   since those would start them in another order;
/// - each of these, and the waits for such that stand behind it: a wait that came earlier would
///   keep a rank from what its partner needs in order to answer;
/// - a barrier, and the collectives of its group on either side.
/// An edge leads from what stands before to what stands behind. O(nodes).
std::vector<NodeEdge> fixed_order(const Graph& g);

std::vector<NodeEdge> reversed(std::vector<NodeEdge> edges);

}  // namespace hocket

#pragma once
// What must stand before what when nodes are moved.

#include <cstdint>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/passes/analysis/fixed_order.h"

namespace hocket {

/// The order that a graph's nodes must keep, as the list stood when this was made: operands before
/// their readers; readers of a state before the node that makes its next value, so that one buffer
/// serves both; and what no operand tells (fixed_order.h). Any other order of the same nodes means
/// the same.
class Precedence {
 public:
  /// O(nodes + uses).
  explicit Precedence(const Graph& g);

  /// All nodes but inputs and return, in the order they had.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  /// 1 for the first node; 0 for inputs and for nodes made since.
  std::uint32_t position(NodeId n) const {
    return n.index < position_.size() ? position_[n.index] : 0;
  }
  /// The nodes that must stand before `n`, some twice, without inputs.
  std::vector<NodeId> before(NodeId n) const;

 private:
  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::vector<std::uint32_t> position_;  // by node
  NodeLists more_;                       // what must stand before a node beside its operands
};

}  // namespace hocket

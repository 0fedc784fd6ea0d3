#pragma once
// What must stand before what when nodes are moved.

#include <cstdint>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// The order that a graph's nodes must keep, as the list stood when this was made: operands before
/// their readers; readers of a state before the node that makes its next value, so that one buffer
/// serves both; effects, and collectives that ranks with another graph take part in, one after the
/// other. Any other order of the same nodes means the same.
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
  // The edges that are not operands: of node n those from starts_[n] to starts_[n + 1].
  std::vector<std::uint32_t> starts_;
  std::vector<NodeId> more_;
};

}  // namespace hocket

#pragma once
// Moves collectives up, together with the nodes that prepare their operands.

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Moves collectives up, right behind the last node that they depend on. Call its functions in list
/// order.
class Hoist {
 public:
  explicit Hoist(Graph& g) : g_(g), starts_(g.node_bound()), tail_(g.node_bound()) {}

  /// Moves a collective right behind its last operand or `bound`, whichever is later, and behind
  /// collectives that were moved there before; to the front of the graph if it reads only inputs
  /// and has no bound. Constants that it reads move along. Returns the later of the two nodes, none
  /// at the front.
  NodeId start(NodeId n, NodeId bound = {});

  /// Moves a node that prepares an operand of a collective (see find_feeders) right behind its own
  /// operand, and behind all nodes that were moved there before.
  void prepare(NodeId n);

 private:
  NodeId last_operand(NodeId n, NodeId bound) const;
  void put_behind(NodeId n, NodeId place);

  Graph& g_;
  std::vector<NodeId> starts_;  // by node: the last collective that was moved right behind it
  std::vector<NodeId> tail_;    // by node: the last node that was moved behind it
};

/// For each node: is it a cheap node with one operand, read only by a collective or by another such
/// node? Such a node (a division, view or cast of a gradient) can move with the collective.
/// O(nodes).
std::vector<bool> find_feeders(const Graph& g);

}  // namespace hocket

#pragma once
// Moving collectives up, with what is done to their operands.

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Moves nodes up to right behind the last of their operands, in the order of the calls: of several
/// that end behind one node the first stays first. Call it in list order.
class Hoist {
 public:
  explicit Hoist(Graph& g) : g_(g), root_(g.node_bound()), tail_(g.node_bound()) {}

  /// Moves n behind its last operand, or behind `bound` where that is later; to the front when it
  /// reads inputs alone and has no bound. Constants that it reads come along. Returns the node that
  /// it may not pass, none at the front.
  NodeId up(NodeId n, NodeId bound = {});

 private:
  Graph& g_;
  std::vector<NodeId> root_;  // of a node that was moved: behind which it and others were put
  std::vector<NodeId> tail_;  // of a root: the last that was put behind it
};

/// By node: cheap nodes with one operand that only prepare what a collective sends (the division,
/// view or cast in front of it), so that they can go where it goes. O(nodes).
std::vector<bool> find_feeders(const Graph& g);

}  // namespace hocket

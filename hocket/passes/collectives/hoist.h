#pragma once
// Moving collectives up, with what is done to their operands.

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Moves collectives up, right behind the last node that they depend on. Call it in list order.
class Hoist {
 public:
  explicit Hoist(Graph& g) : g_(g), starts_(g.node_bound()), tail_(g.node_bound()) {}

  /// Moves a collective right behind its last operand, or behind `bound` where that is later; to
  /// the front when it reads inputs alone and has no bound. Others that were put there stay before
  /// it. Constants that it reads come along. Returns the node that it may not pass, none at the
  /// front.
  NodeId start(NodeId n, NodeId bound = {});

  /// Moves what prepares an operand of a collective behind what it reads, and behind all that was
  /// moved there.
  void prepare(NodeId n);

 private:
  NodeId last_operand(NodeId n, NodeId bound) const;
  void put_behind(NodeId n, NodeId place);

  Graph& g_;
  std::vector<NodeId> starts_;  // the last collective put right behind a node
  std::vector<NodeId> tail_;    // the last node put behind a node
};

/// By node: cheap nodes with one operand that only prepare what a collective sends (the division,
/// view or cast in front of it), so that they can go where it goes. O(nodes).
std::vector<bool> find_feeders(const Graph& g);

}  // namespace hocket

#include "hocket/iter/place.h"

#include <vector>

namespace hocket {
namespace {

class Placer {
 public:
  Placer(Graph& g, std::span<const NodeId> block, NodeId place)
      : g_(g), waiting_(g.node_bound()), place_(place) {
    for (NodeId n : block) waiting_[n.index] = 1;
    skip_waiting();
  }

  /// Places a node after the nodes that it reads. Iterative, because chains of operands are long.
  void put(NodeId n) {
    stack_.push_back({n, 0});
    while (!stack_.empty()) {
      auto& [top, operand] = stack_.back();
      if (operand < g_[top].inputs.size()) {
        NodeId from = g_.node(g_[top].inputs[operand++]);
        if (!in_place(from)) stack_.push_back({from, 0});
        continue;
      }
      settle(top);
      stack_.pop_back();
    }
  }

 private:
  bool in_place(NodeId n) const { return !waiting_[n.index] && g_.before(n, place_); }

  void settle(NodeId n) {
    if (in_place(n)) return;
    waiting_[n.index] = 0;
    if (n != place_) return g_.move_before(n, place_);
    place_ = g_.following(place_);
    skip_waiting();
  }

  /// Advances the place to a node that does not move.
  void skip_waiting() {
    while (waiting_[place_.index]) place_ = g_.following(place_);
  }

  struct Visit {
    NodeId node;
    std::uint32_t operand;
  };
  Graph& g_;
  std::vector<char> waiting_;  // by node: in the block, and not placed yet
  NodeId place_;
  std::vector<Visit> stack_;
};

}  // namespace

void place_block(Graph& g, std::span<const NodeId> block, NodeId place) {
  Placer placer(g, block, place);
  for (NodeId n : block) placer.put(n);
}

}  // namespace hocket

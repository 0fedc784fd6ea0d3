#include "hocket/passes/analysis/restore_order.h"

#include <queue>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/passes/analysis/dependencies.h"

namespace hocket {
namespace {

class Sorter {
 public:
  explicit Sorter(Graph& g)
      : g_(g),
        order_(g, Holds::soft),
        blocked_(g.node_bound()),
        holds_(g.node_bound()),
        passed_(g.node_bound()),
        ready_(Later{&order_}),
        held_(Later{&order_}) {
    for (NodeId n : order_.nodes()) {
      order_.for_each_before(n, [&](NodeId) { ++blocked_[n.index]; });
      holds_[n.index] = order_.soft_before(n).size();
    }
  }

  void run() {
    for (NodeId at = g_.first_node(); at != g_.return_node();) {
      NodeId next = g_.following(at);
      passed_[at.index] = true;
      if (blocked_[at.index] == 0) arrive(at, /*in_place=*/true);
      place_ready(next);
      at = next;
    }
    while (!held_.empty()) {  // ignores soft edges that would close a cycle
      NodeId n = held_.top();
      held_.pop();
      if (holds_[n.index] != 0) put(n, g_.return_node());
      place_ready(g_.return_node());
    }
    if (placed_ != g_.size())
      internal_fail("{} of {} nodes read each other in a circle", g_.size() - placed_, g_.size());
  }

 private:
  struct Later {
    const Dependencies* order;
    bool operator()(NodeId a, NodeId b) const { return order->position(a) > order->position(b); }
  };
  using Queue = std::priority_queue<NodeId, std::vector<NodeId>, Later>;

  /// Called when all nodes that n depends on are placed. Places n where it stands (`in_place`),
  /// else at the current position of the walk; holds it back while soft edges demand it.
  void arrive(NodeId n, bool in_place) {
    if (holds_[n.index] != 0)
      held_.push(n);
    else if (in_place)
      place(n);
    else
      ready_.push(n);
  }

  void place_ready(NodeId before) {
    while (!ready_.empty()) {
      NodeId n = ready_.top();
      ready_.pop();
      put(n, before);
    }
  }

  void put(NodeId n, NodeId before) {
    g_.move_before(n, before);
    place(n);
  }

  void place(NodeId n) {
    ++placed_;
    holds_[n.index] = 0;
    for (NodeId maker : order_.soft_behind(n))
      if (holds_[maker.index] > 0 && --holds_[maker.index] == 0 && passed_[maker.index] &&
          blocked_[maker.index] == 0)
        ready_.push(maker);
    order_.for_each_behind(n, [&](NodeId behind) { unblock(behind); });
  }

  void unblock(NodeId n) {
    if (--blocked_[n.index] == 0 && passed_[n.index]) arrive(n, /*in_place=*/false);
  }

  Graph& g_;
  Dependencies order_;
  std::vector<std::uint32_t> blocked_;  // by node: edges from nodes not placed yet
  std::vector<std::size_t> holds_;      // by node: soft edges from readers not placed yet
  std::vector<bool> passed_;            // by node: the walk has been there
  Queue ready_, held_;
  std::size_t placed_ = 0;
};

}  // namespace

void restore_order(Graph& g) { Sorter(g).run(); }

}  // namespace hocket

#include "hocket/passes/analysis/restore_order.h"

#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/analysis/fixed_order.h"

namespace hocket {
namespace {

class Sorter {
 public:
  explicit Sorter(Graph& g)
      : g_(g),
        position_(g.node_bound()),
        blocked_(g.node_bound()),
        holds_(g.node_bound()),
        passed_(g.node_bound()),
        fixed_(fixed_order(g)),
        followers_(g.node_bound(), fixed_),
        ready_(Later{&position_}),
        held_(Later{&position_}) {
    std::uint32_t position = 0;
    for (NodeId n : std::as_const(g).nodes()) {
      position_[n.index] = position++;
      for (Value v : g[n].inputs) blocked_[n.index] += g.is_input(g.node(v)) ? 0 : 1;
    }
    for (const NodeEdge& e : fixed_) ++blocked_[e.to.index];
    for (const Input& in : g.inputs()) count_holds(in.value);
  }

  void run() {
    for (NodeId at = g_.first_node(); at != g_.return_node();) {
      NodeId next = g_.following(at);
      passed_[at.index] = true;
      if (blocked_[at.index] == 0) arrive(at, /*in_place=*/true);
      place_ready(next);
      at = next;
    }
    while (!held_.empty()) {  // holds are wishes
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
    const std::vector<std::uint32_t>* position;
    bool operator()(NodeId a, NodeId b) const {
      return (*position)[a.index] > (*position)[b.index];
    }
  };
  using Queue = std::priority_queue<NodeId, std::vector<NodeId>, Later>;

  /// The node that makes a state's next value is held by the state's readers, unless one of them
  /// stands behind it anyway.
  void count_holds(Value state) {
    NodeId maker = maker_of_next(g_, state);
    if (!maker) return;
    int count = 0;
    for (Use use : g_.uses(state)) {
      if (use.node == maker || use.node == g_.return_node()) continue;
      if (!g_.before(use.node, maker)) return;
      ++count;
    }
    holds_[maker.index] += count;
    if (count > 0) held_states_.emplace(state, maker);
  }

  /// All that n reads is placed: n is next, where it stands or, when it was passed, here.
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
    for (Value v : g_[n].inputs) {
      auto held = held_states_.find(v);
      if (held == held_states_.end() || held->second == n) continue;
      NodeId maker = held->second;
      if (holds_[maker.index] > 0 && --holds_[maker.index] == 0 && passed_[maker.index] &&
          blocked_[maker.index] == 0)
        ready_.push(maker);
    }
    for (std::uint32_t i = 0; i < g_[n].result_count; ++i)
      for (Use use : g_.uses(g_.result(n, i)))
        if (use.node != g_.return_node()) unblock(use.node);
    for (NodeId next : followers_[n]) unblock(next);
  }

  void unblock(NodeId n) {
    if (--blocked_[n.index] == 0 && passed_[n.index]) arrive(n, /*in_place=*/false);
  }

  Graph& g_;
  std::vector<std::uint32_t> position_;  // in the list as it was
  std::vector<std::uint32_t> blocked_;   // operands that are not placed yet
  std::vector<int> holds_;               // readers that shall come first
  std::vector<bool> passed_;             // the walk has been there
  std::vector<NodeEdge> fixed_;
  NodeLists followers_;  // along fixed_
  std::unordered_map<Value, NodeId> held_states_;
  Queue ready_, held_;
  std::size_t placed_ = 0;
};

}  // namespace

void restore_order(Graph& g) { Sorter(g).run(); }

}  // namespace hocket

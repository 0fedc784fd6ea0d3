#include "hocket/passes/analysis/dependencies.h"

#include <algorithm>
#include <map>
#include <string>

#include "hocket/ir/collective_matching.h"
#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/analysis/own_groups.h"

namespace hocket {
namespace {

/// Edges of the dependency graph, stored with the node that they come from.
using Edges = std::vector<NodeLists::Entry>;

Edges reversed(Edges edges) {
  for (auto& e : edges) std::swap(e.node, e.listed);
  return edges;
}

/// Derives the edges between calls that are observable on other ranks or in other graphs, and to
/// their waits.
class CallOrder {
 public:
  explicit CallOrder(const Graph& g) : g_(g), own_(g), seen_(g.node_bound()) {}

  void add(NodeId n, Edges& edges) {
    const Node& node = g_[n];
    if (node.op->is_wait && last_ && waits_for_seen(node)) edges.push_back({last_, n});
    if (!has_channel(node)) return;
    if (node.op->has_effect || !own_.owns(node)) {
      if (last_) edges.push_back({last_, n});
      last_ = n;
      seen_[n.index] = true;
    }
    Fence& fence = fences_[node.attr<std::string>("group")];
    if (node.op->is_collective) {
      if (fence.barrier) edges.push_back({fence.barrier, n});
      fence.since.push_back(n);
    } else {
      for (NodeId m : fence.since) edges.push_back({m, n});
      fence = {.barrier = n, .since = {}};
    }
  }

 private:
  struct Fence {
    NodeId barrier;
    std::vector<NodeId> since;  // collectives after the barrier
  };

  /// A pending state, from an earlier iteration, may belong to any call.
  bool waits_for_seen(const Node& wait) const {
    return std::ranges::any_of(
        wait.inputs, [&](Value v) { return seen_[g_.node(v).index] || g_.is_input(g_.node(v)); });
  }

  const Graph& g_;
  OwnGroups own_;
  NodeId last_;  // the last call that other graphs or ranks observe
  std::vector<bool> seen_;
  std::map<std::string, Fence, std::less<>> fences_;  // by group
};

void add_holds(const Graph& g, Holds holds, Edges& edges) {
  for (const Input& in : g.inputs()) {
    NodeId maker = maker_of_next(g, in.value);
    if (!maker || (holds == Holds::in_flight && !g.type(in.value).pending)) continue;
    std::size_t size = edges.size();
    for (Use use : g.uses(in.value)) {
      if (g.before(use.node, maker)) {
        edges.push_back({use.node, maker});
      } else if (holds == Holds::soft && use.node != maker && use.node != g.return_node()) {
        edges.resize(size);  // the live ranges of state and next value overlap in any case
        break;
      }
    }
  }
}

}  // namespace

NodeLists::NodeLists(std::size_t node_bound, std::span<const Entry> entries) {
  if (entries.empty()) return;
  starts_.resize(node_bound + 1);
  nodes_.resize(entries.size());
  for (const Entry& e : entries) ++starts_[e.node.index + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  std::vector<std::uint32_t> at(starts_.begin(), starts_.end() - 1);
  for (const Entry& e : entries) nodes_[at[e.node.index]++] = e.listed;
}

Dependencies::Dependencies(const Graph& g, Holds holds) : graph_(g), position_(g.node_bound()) {
  Edges edges, held;
  CallOrder calls(g);
  nodes_.reserve(g.size());
  for (NodeId n : g.nodes()) {
    nodes_.push_back(n);
    position_[n.index] = static_cast<std::uint32_t>(nodes_.size());
    calls.add(n, edges);
  }
  if (holds != Holds::none) add_holds(g, holds, holds == Holds::soft ? held : edges);
  more_behind_ = NodeLists(g.node_bound(), edges);
  soft_behind_ = NodeLists(g.node_bound(), held);
  more_before_ = NodeLists(g.node_bound(), reversed(std::move(edges)));
  soft_before_ = NodeLists(g.node_bound(), reversed(std::move(held)));
}

}  // namespace hocket

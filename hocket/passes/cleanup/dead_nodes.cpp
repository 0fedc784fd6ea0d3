#include "hocket/passes/cleanup/dead_nodes.h"

#include <unordered_map>

#include "hocket/passes/analysis/own_groups.h"
#include "hocket/passes/cleanup/edit_regions.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

class Judge {
 public:
  Judge(const Graph& g, const DeadNodes& options) : graph_(g), options_(options), own_(g) {}

  bool dead(NodeId n) {
    const Node& node = graph_[n];
    if (graph_.used(n) || node.op->has_effect || (options_.keep && options_.keep(graph_, n)))
      return false;
    if (node.op->is_collective) return own_.owns(node);
    if (node.op->is_wait) return !holds_others(node);
    return true;
  }

 private:
  /// True if `wait` is the last reader of a collective that must stay. Otherwise subtracts its
  /// operands from the remaining uses.
  bool holds_others(const Node& wait) {
    NodeId from = graph_.node(wait.inputs[0]);
    if (graph_.is_input(from) || own_.owns(graph_[from])) return false;
    auto [it, fresh] = readers_.emplace(from, 0);
    if (fresh)
      for (Value v : graph_.results(from)) it->second += graph_.uses(v).size();
    if (it->second == wait.inputs.size()) return true;
    it->second -= wait.inputs.size();
    return false;
  }

  const Graph& graph_;
  const DeadNodes& options_;
  OwnGroups own_;
  std::unordered_map<NodeId, std::size_t> readers_;  // uses left, by collective that must stay
};

/// Removes forwarded states that no node reads, because they keep the nodes with their next values
/// alive. Keeps a state whose next value is a result of a collective that must stay. Returns true
/// if any was removed.
bool drop_unread_forwarded(Graph& g) {
  std::vector<Value> unread;
  OwnGroups own(g);
  auto must_stay = [&](Value v) {
    if (!v || g.is_input(g.node(v))) return false;
    const Node& maker = g[g.node(v)];
    return maker.op->is_collective && !own.owns(maker);
  };
  for (const Input& in : g.inputs())
    if (in.state && in.kind == StateKind::forwarded && g.uses(in.value).empty() &&
        !must_stay(g.next(in.value)))
      unread.push_back(in.value);
  g.erase_inputs(unread);
  return !unread.empty();
}

}  // namespace

void dead_nodes(Graph& g, const DeadNodes& options) {
  do {
    Judge judge(g, options);
    for (NodeId n : reversed(g.nodes()))
      if (judge.dead(n)) {
        if (g[n].op->is_collective)
          g.remark(
              {.where = shown(g, n), .what = "removed", .why = "its result is never waited for"});
        g.erase(n);
      }
  } while (drop_unread_forwarded(g));
  edit_regions(g, [&](Graph& inner) { dead_nodes(inner, options); });
}

}  // namespace hocket

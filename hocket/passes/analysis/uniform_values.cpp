#include "hocket/passes/analysis/uniform_values.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/iter/replaced_states.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/analysis/own_groups.h"
#include "hocket/passes/optimizer/element_rows.h"

namespace hocket {
namespace {

using Axes = std::set<std::string_view>;

/// The axes that a group runs over; none for a listed group.
std::optional<Axes> axes_of(const World& world, std::string_view group) {
  for (const ListedGroup& listed : world.groups())
    if (listed.name == group) return std::nullopt;
  Axes axes;
  if (group == "world") {
    for (const Axis& a : world.mesh()) axes.insert(a.name);
    return axes;
  }
  for (std::string_view part : split(group, ',')) axes.insert(part);
  return axes;
}

/// How the sets of a group relate to the sets of the group that is analysed. `covers`: each set is
/// a union of those sets. `apart`: two sets share at most one rank.
enum class Relation : std::uint8_t { covers, apart, mixed };

class Relations {
 public:
  Relations(const World& world, std::string_view group)
      : world_(world), group_(group), axes_(axes_of(world, group)) {}

  Relation operator()(const std::string& other) {
    auto [it, fresh] = known_.emplace(other, Relation::mixed);
    if (!fresh) return it->second;
    auto axes = axes_of(world_, other);
    if (other == group_ || other == "world")
      it->second = Relation::covers;
    else if (axes_ && axes && std::ranges::includes(*axes, *axes_))
      it->second = Relation::covers;
    else if (axes_ && axes &&
             std::ranges::none_of(*axes, [&](std::string_view a) { return axes_->contains(a); }))
      it->second = Relation::apart;
    return it->second;
  }

 private:
  const World& world_;
  std::string_view group_;
  std::optional<Axes> axes_;
  std::map<std::string, Relation, std::less<>> known_;
};

bool same_on_all(const Node& node) {
  return node.op->collective != nullptr && node.op->collective->same_on_all;
}

class Uniformity {
 public:
  Uniformity(const Graph& g, std::string_view group)
      : g_(g), relation_(g.world(), group), own_(g), states_(g), uniform_(g.value_bound(), true) {}

  std::vector<bool> run() {
    for (const Input& in : g_.inputs()) {
      bool equal = in.state && in.kind != StateKind::forwarded &&
                   (!in.shard || relation_(in.shard->group) == Relation::apart);
      if (!equal) differs(in.value);
    }
    for (NodeId n : g_.nodes())
      if (makes_differences(g_[n])) all_differ(n);
    while (!queue_.empty()) {
      Value v = queue_.back();
      queue_.pop_back();
      for (Use use : g_.uses(v)) reach(use, v);
      reach_late_update(v);
    }
    return std::move(uniform_);
  }

 private:
  bool makes_differences(const Node& node) {
    if (node.op->has_effect || node.op->has_region) return true;
    if (!node.op->is_collective && !node.op->depends_on_rank) return false;
    Relation r = relation_(node.attr<std::string>("group"));
    if (r == Relation::covers) return !same_on_all(node);
    // The operands of ranks that run another graph are unknown here.
    return r == Relation::mixed || (node.op->is_collective && !own_.owns(node));
  }

  void differs(Value v) {
    if (!uniform_[v.index]) return;
    uniform_[v.index] = false;
    queue_.push_back(v);
  }

  void all_differ(NodeId n) {
    for (std::uint32_t i = 0; i < g_[n].result_count; ++i) differs(g_.result(n, i));
  }

  /// In the first iteration a reader ahead of a delayed update reads the state itself.
  void reach_late_update(Value state) {
    if (!g_.is_input(g_.node(state)) || g_.input(state).kind == StateKind::forwarded) return;
    if (Value next = g_.next(state); next && g_[g_.node(next)].delay > 0) differs(next);
  }

  void reach(Use use, Value v) {
    if (use.node == g_.return_node()) {
      for (Value s = states_.first(v); s; s = states_.another(s)) differs(s);
      return;
    }
    const Node& node = g_[use.node];
    if (node.op->is_collective) {
      if (!same_on_all(node) || relation_(node.attr<std::string>("group")) != Relation::covers)
        differs(g_.result(use.node, use.operand));
    } else if (node.op->is_wait) {
      differs(g_.result(use.node, use.operand));
    } else if (auto at = list_position(node, use.operand)) {
      for (std::uint32_t i = *at; i < node.result_count; i += list_length(node))
        differs(g_.result(use.node, i));
    } else if (!node.op->is_ordering || use.operand == 0) {
      // In a node without lists all results may differ if one does.
      if (has_lists(node) || (node.result_count > 0 && uniform_[node.first_result]))
        all_differ(use.node);
    }
  }

  const Graph& g_;
  Relations relation_;
  OwnGroups own_;
  ReplacedStates states_;
  std::vector<bool> uniform_;
  std::vector<Value> queue_;
};

/// Walks backwards from uniform values to the state that they are computed from.
class WayBack {
 public:
  WayBack(const Graph& g, std::string_view group)
      : g_(g), relation_(g.world(), group), states_(g), seen_(g.value_bound()) {}

  std::vector<Value> run(const std::vector<bool>& uniform, std::span<const Value> values) {
    std::vector<Value> found;
    for (Value v : values) reach(v);
    while (!open_.empty()) {
      Value v = open_.back();
      open_.pop_back();
      if (!uniform[v.index]) internal_fail("{}: %{} differs between ranks", g_.name(), g_.name(v));
      if (!g_.is_input(g_.node(v))) {
        step(v);
        continue;
      }
      found.push_back(v);
      if (Value next = g_.next(v)) reach(next);
    }
    return found;
  }

 private:
  void reach(Value v) {
    if (seen_[v.index]) return;
    seen_[v.index] = true;
    open_.push_back(v);
  }

  void step(Value v) {
    NodeId n = g_.node(v);
    const Node& node = g_[n];
    // In the first iteration a reader ahead of a delayed update reads the state itself.
    if (node.delay > 0)
      for (Value s = states_.first(v); s; s = states_.another(s))
        if (g_.input(s).kind != StateKind::forwarded) reach(s);
    std::uint32_t result = v.index - node.first_result;
    if (node.op->is_collective) {
      if (relation_(node.attr<std::string>("group")) != Relation::covers)
        reach(node.inputs[result]);
    } else if (node.op->is_wait) {
      reach(node.inputs[result]);
    } else if (node.op->is_ordering) {
      reach(node.inputs[0]);
    } else if (has_lists(node)) {
      ElementRow row = element_row(g_, n, result % list_length(node));
      for (std::uint32_t i : row.tensors) reach(node.inputs[i]);
      for (std::uint32_t i : row.numbers) reach(node.inputs[i]);
    } else if (!(result > 0 && seen_[node.first_result])) {
      for (Value operand : node.inputs) reach(operand);
    }
  }

  const Graph& g_;
  Relations relation_;
  ReplacedStates states_;
  std::vector<bool> seen_;
  std::vector<Value> open_;
};

}  // namespace

std::vector<bool> uniform_values(const Graph& g, std::string_view group) {
  return Uniformity(g, group).run();
}

std::vector<Value> starts_behind(const Graph& g, std::string_view group,
                                 const std::vector<bool>& uniform, std::span<const Value> values) {
  return WayBack(g, group).run(uniform, values);
}

}  // namespace hocket

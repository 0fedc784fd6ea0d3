#include "hocket/passes/optimizer/shard_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "hocket/base/disjoint_sets.h"
#include "hocket/base/text.h"
#include "hocket/iter/replaced_states.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/analysis/own_groups.h"
#include "hocket/passes/analysis/uniform_values.h"
#include "hocket/passes/framework/node_names.h"
#include "hocket/passes/optimizer/element_rows.h"

namespace hocket {
namespace {

/// Equivalence classes of values: either all values of a class become pieces, or none.
class Classes {
 public:
  explicit Classes(std::size_t count) : sets_(count), updates_(count) {}

  void join(Value a, Value b) {
    std::uint32_t x = find(a), y = find(b);
    if (x == y) return;
    if (y < x)
      std::swap(x, y);  // the earlier value becomes the representative, whose reason is kept
    sets_.join(x, y);
    updates_[x] = updates_[x] || updates_[y];
    if (auto it = reasons_.find(y); it != reasons_.end()) {
      reasons_.emplace(x, it->second);
      reasons_.erase(y);
    }
  }
  void refuse(Value v, std::string why) { reasons_.emplace(find(v), std::move(why)); }
  void note_update(Value v) { updates_[find(v)] = true; }
  /// Why the class cannot become pieces; "" when it can.
  std::string reason(Value v) {
    auto it = reasons_.find(find(v));
    if (it != reasons_.end()) return it->second;
    return updates_[find(v)] ? "" : "it updates no parameter";
  }
  bool refused(Value v) { return reasons_.contains(find(v)); }

 private:
  std::uint32_t find(Value v) const { return sets_.find(v.index); }

  DisjointSets sets_;
  std::vector<bool> updates_;
  std::map<std::uint32_t, std::string> reasons_;  // by representative
};

class ShardPlanner {
 public:
  ShardPlanner(Graph& g, const std::string& group)
      : g_(g),
        plan_{.group = group},
        uniform_(uniform_values(g, group)),
        replaced_(g),
        classes_(g.value_bound()),
        reached_(g.value_bound()),
        output_(g.value_bound()),
        parameter_(g.value_bound()) {
    for (const Output& o : g.outputs()) output_[o.value.index] = true;
    for (const Input& in : g.inputs()) {
      Value next = in.state ? g.next(in.value) : Value{};
      if (next && in.kind == StateKind::parameter && !g.is_input(g.node(next)))
        parameter_[next.index] = true;
    }
  }

  ShardPlan run() {
    std::vector<NodeId> reduces = start();
    while (!queue_.empty()) {
      Value v = queue_.back();
      queue_.pop_back();
      if (!classes_.refused(v)) follow(v);
    }
    settle();
    pull();
    report(reduces);
    trace_back();
    find_starts();
    return std::move(plan_);
  }

 private:
  // ---- candidates

  /// Why a reduce-scatter cannot replace this collective; "" when it can.
  std::string refusal(NodeId n, OwnGroups& own) {
    const Node& node = g_[n];
    const auto& reduce = node.attr<std::string>("reduce");
    if (reduce != "sum" && reduce != "avg")
      return fmt::format("it reduces by {}, wanted a sum or an average", reduce);
    if (!own.owns(node)) return "ranks that run another graph take part";
    if (g_.world().group_size(plan_.group) == 1) return "its group has one rank";
    return "";
  }

  std::vector<NodeId> start() {
    OwnGroups own(g_);
    std::vector<NodeId> reduces;
    for (NodeId n : std::as_const(g_).nodes()) {
      if (g_[n].op != &ops::all_reduce || g_[n].attr<std::string>("group") != plan_.group) continue;
      reduces.push_back(n);
      std::string why = refusal(n, own);
      for (Value v : g_.results(n)) {
        if (g_.uses(v).empty()) continue;
        reached_[v.index] = true;
        if (!why.empty()) classes_.refuse(v, why);
        if (why.empty()) queue_.push_back(v);
      }
    }
    return reduces;
  }

  void refuse(Value v, std::string why) { classes_.refuse(v, std::move(why)); }

  void enter(Value v, Value with) {
    classes_.join(v, with);
    if (reached_[v.index]) return;
    reached_[v.index] = true;
    queue_.push_back(v);
  }

  void follow(Value v) {
    if (g_[g_.node(v)].delay != 0) return refuse(v, shown(g_, v) + " belongs to another iteration");
    if (g_.type(v).shape.empty()) return refuse(v, shown(g_, v) + " is a single number");
    if (g_.is_input(g_.node(v))) check_state(v);
    follow_carries(v);
    // New parameters are gathered, so their readers do not matter.
    if (parameter_[v.index]) return;
    if (output_[v.index]) return refuse(v, shown(g_, v) + " is an output");
    for (Use use : g_.uses(v))
      if (use.node != g_.return_node()) follow_use(v, use);
  }

  void follow_use(Value v, Use use) {
    const Node& node = g_[use.node];
    if (node.op->is_wait) return enter(g_.result(use.node, use.operand), v);
    if (node.op->is_ordering && use.operand > 0) return;  // an order constraint, not a read
    auto row = row_of(g_, use);
    if (!row)
      return refuse(
          v, fmt::format("{} reads {}, and not by element", g_.describe(use.node), shown(g_, v)));
    ElementRow r = element_row(g_, use.node, *row);
    Value first = g_.result(use.node, r.results[0]);
    bool known = reached_[first.index];
    for (std::uint32_t i : r.results) enter(g_.result(use.node, i), v);
    if (known) return;
    // Checks scalars first, since they give the better reason: if one differs, so do the tensors
    // computed with it.
    for (std::uint32_t i : r.numbers) require_uniform(node.inputs[i], v);
    for (std::uint32_t i : r.tensors) meet(node.inputs[i], v);
  }

  /// Handles another tensor operand of a node that may become one on pieces.
  void meet(Value v, Value reader) {
    bool state = g_.is_input(g_.node(v)) && g_.input(v).kind == StateKind::optimizer;
    if (reached_[v.index] || (state && g_.input(v).state))
      enter(v, reader);
    else
      require_uniform(v, reader);
  }

  void require_uniform(Value v, Value reader) {
    if (!uniform_[v.index]) refuse(reader, shown(g_, v) + " may differ between ranks");
  }

  void check_state(Value v) {
    const Input& in = g_.input(v);
    classes_.note_update(v);
    if (in.shard) refuse(v, shown(g_, v) + " is a shard already");
    require_uniform(v, v);
  }

  /// Follows a next value to the states that it replaces.
  void follow_carries(Value v) {
    for (Value s = replaced_.first(v); s; s = replaced_.another(s)) {
      const Input& in = g_.input(s);
      if (in.kind == StateKind::optimizer)
        enter(in.value, v);
      else if (in.kind == StateKind::parameter && parameter_[v.index])
        classes_.note_update(v);
      else
        refuse(v, fmt::format("{} becomes {}, which is no optimizer state", shown(g_, v),
                              shown(g_, in.value)));
    }
  }

  // ---- the decision

  void settle() {
    plan_.sharded.resize(g_.value_bound());
    plan_.gathered.resize(g_.value_bound());
    for (std::uint32_t i = 1; i < g_.value_bound(); ++i) {
      if (!reached_[i] || !classes_.reason({i}).empty()) continue;
      plan_.sharded[i] = true;
      plan_.gathered[i] = parameter_[i];
    }
    for (const Input& in : g_.inputs())
      if (plan_.sharded[in.value.index]) plan_.states.push_back(in.value);
  }

  /// Elementwise nodes that are read only by nodes on pieces are computed on pieces, too. Walks
  /// backwards, so that readers are decided first.
  void pull() {
    for (NodeId n : reversed(std::as_const(g_).nodes())) {
      if (g_[n].op->body == nullptr || g_[n].delay != 0) continue;
      Value v = g_.result(n);
      if (plan_.sharded[v.index] || g_.uses(v).empty()) continue;
      if (element_row(g_, n, 0).tensors.size() == 0) continue;
      plan_.sharded[v.index] = std::ranges::all_of(g_.uses(v), [&](Use use) {
        if (use.node == g_.return_node()) return false;
        auto row = row_of(g_, use);
        return row && plan_.sharded[g_.result(use.node, *row).index];
      });
    }
  }

  void report(const std::vector<NodeId>& reduces) {
    auto ranks = g_.world().group_size(plan_.group).value_or(1);
    for (NodeId n : reduces) {
      std::size_t count = 0;
      for (Value v : g_.results(n)) {
        if (!reached_[v.index]) continue;
        std::string why = classes_.reason(v);
        if (why.empty())
          ++count;
        else
          g_.remark({.where = shown(g_, v), .what = "left whole", .why = std::move(why)});
      }
      if (count == 0) continue;
      plan_.reduces.push_back(n);
      g_.remark({.where = shown(g_, n),
                 .what = fmt::format("scattered, {} of {}", count,
                                     count_of(std::ssize(g_.results(n)), "gradient")),
                 .why = fmt::format("each of {} updates its piece", count_of(ranks, "rank"))});
    }
  }

  /// Finds, for each sharded value, the bucket of its gradient, because gathers use the same
  /// buckets.
  void trace_back() {
    plan_.origin.resize(g_.value_bound());
    for (NodeId n : std::as_const(g_).nodes())
      for (std::uint32_t i = 0; i < g_[n].result_count; ++i) {
        Value v = g_.result(n, i);
        if (!plan_.sharded[v.index]) continue;
        NodeId& origin = plan_.origin[v.index];
        if (g_[n].op->is_collective) {
          origin = n;
        } else if (g_[n].op->is_wait) {
          origin = g_.node(g_[n].inputs[i]);
        } else {
          std::uint32_t row = has_lists(g_[n]) ? i % list_length(g_[n]) : 0;
          for (std::uint32_t k : element_row(g_, n, row).tensors) {
            NodeId from = plan_.origin[g_[n].inputs[k].index];
            if (from && (!origin || g_.before(origin, from))) origin = from;
          }
        }
      }
  }

  /// Finds the state that must be equal on all ranks at the start, since each rank's piece is used
  /// by all ranks.
  void find_starts() {
    std::vector<Value> with;
    for (NodeId n : std::as_const(g_).nodes()) {
      if (g_[n].op->is_collective || g_[n].op->is_wait) continue;
      for (std::uint32_t i = 0; i < g_[n].result_count; ++i) {
        if (!plan_.sharded[g_.result(n, i).index]) continue;
        ElementRow row = element_row(g_, n, has_lists(g_[n]) ? i % list_length(g_[n]) : 0);
        for (std::uint32_t k : row.tensors) with.push_back(g_[n].inputs[k]);
        for (std::uint32_t k : row.numbers) with.push_back(g_[n].inputs[k]);
      }
    }
    for (Value state : starts_behind(g_, plan_.group, uniform_, with))
      if (!plan_.sharded[state.index]) plan_.equal.push_back(state);
  }

  Graph& g_;
  ShardPlan plan_;
  std::vector<bool> uniform_;
  ReplacedStates replaced_;
  Classes classes_;
  std::vector<bool> reached_, output_;
  std::vector<bool> parameter_;  // by value: the next value of a parameter
  std::vector<Value> queue_;
};

}  // namespace

ShardPlan plan_shards(Graph& g, const std::string& group) { return ShardPlanner(g, group).run(); }

}  // namespace hocket

#include "hocket/passes/optimizer/shard_optimizer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hocket/ops/ops.h"
#include "hocket/passes/optimizer/element_rows.h"
#include "hocket/passes/optimizer/optimizer_lists.h"
#include "hocket/passes/optimizer/shard_gathers.h"
#include "hocket/passes/optimizer/shard_plan.h"

namespace hocket {
namespace {

/// Rewrites a graph according to a ShardPlan in one walk: every node whose results become pieces
/// gets a counterpart in front of it, and is erased at the end.
class Sharder {
 public:
  Sharder(Graph& g, const ShardPlan& plan)
      : g_(g),
        plan_(plan),
        ranks_(*g.world().group_size(plan.group)),
        piece_(g.value_bound()),
        gathers_(g, plan) {}

  void run() {
    shard_states();
    std::vector<NodeId> nodes;
    for (NodeId n : std::as_const(g_).nodes()) nodes.push_back(n);
    for (NodeId n : nodes) {
      gathers_.land_for(n);
      if (makes_pieces(n)) {
        replace(n);
        old_.push_back(n);
      } else if (g_[n].op->is_ordering) {
        follow_tokens(n);
      }
    }
    gathers_.finish();
    for (auto [state, next] : nexts_) {
      // The node with the next value may have been replaced by one for the operands that stay
      // whole.
      if (!sharded(next)) next = g_.next(state);
      g_.set_next(state, piece(next, g_.return_node(), g_.node(state)));
    }
    for (auto n = old_.rbegin(); n != old_.rend(); ++n) g_.erase(*n);
  }

 private:
  bool sharded(Value v) const { return v.index < plan_.sharded.size() && plan_.sharded[v.index]; }

  bool makes_pieces(NodeId n) const {
    for (std::uint32_t i = 0; i < g_[n].result_count; ++i)
      if (sharded(g_.result(n, i))) return true;
    return false;
  }

  void shard_states() {
    for (Value s : plan_.states) {
      Type whole = g_.type(s);
      InputInfo info = g_.input(s);
      info.shard = ShardOf{plan_.group, whole};
      g_.set_input_info(s, std::move(info));
      g_.set_type(s, {whole.dtype, false, {(whole.elements() + ranks_ - 1) / ranks_}});
      piece_[s.index] = s;
      if (Value next = g_.next(s)) nexts_.emplace_back(s, next);
    }
    for (Value s : plan_.equal) {
      InputInfo info = g_.input(s);
      if (std::ranges::find(info.equal, plan_.group) != info.equal.end()) continue;
      info.equal.push_back(plan_.group);
      g_.set_input_info(s, std::move(info));
    }
  }

  NodeId add(NodeId place, NodeId like, const Op& op, std::span<const Value> inputs,
             Attributes attributes, std::span<const std::string_view> names = {},
             std::span<const Type> types = {}) {
    return g_.add(At(g_, place), {.op = &op,
                                  .inputs = inputs,
                                  .attributes = std::move(attributes),
                                  .names = names,
                                  .types = types,
                                  .path = g_.path(like),
                                  .delay = g_[like].delay,
                                  .stage = g_[like].stage});
  }

  /// This rank's piece of a value; adds a `shard` of the whole value if no node computes the piece.
  Value piece(Value v, NodeId place, NodeId like) {
    if (sharded(v)) return piece_[v.index];
    Value& cut = cut_[v];
    if (!cut) {
      std::string name = g_.name(v) + "_shard";
      std::string_view names[] = {name};
      cut = g_.result(add(place, like, ops::shard, {{v}},
                          Attributes(ops::shard, {{"group", plan_.group}}), names));
    }
    return cut;
  }

  /// Registers `piece` for `old`. The piece takes over the name, unless the gathered value needs
  /// it.
  void becomes(Value old, Value piece) {
    piece_[old.index] = piece;
    if (!plan_.gathered[old.index]) g_.swap_names(old, piece);
  }

  void replace(NodeId n) {
    if (g_[n].op->is_collective)
      scatter(n);
    else if (g_[n].op->is_wait)
      wait(n);
    else if (has_lists(g_[n]))
      replace_lists(n);
    else
      replace_one(n);
    for (std::uint32_t i = 0; i < g_[n].result_count; ++i)
      if (Value v = g_.result(n, i); sharded(v) && plan_.gathered[v.index])
        gathers_.add(v, piece_[v.index], n);
  }

  // ---- collectives

  Value zero(DType dtype, NodeId place) {
    Value& zero = zeros_[dtype];
    if (!zero) {
      Attribute value = is_float(dtype) ? Attribute(0.0) : Attribute(std::int64_t{0});
      Type types[] = {{dtype, false, {}}};
      zero = g_.result(
          add(place, place, ops::full, {}, Attributes(ops::full, {{"value", value}}), {}, types));
    }
    return zero;
  }

  /// The value, flattened and padded to the total length of all pieces.
  Value padded(Value v, NodeId place) {
    Type type = g_.type(v);
    std::int64_t count = type.elements(), missing = (ranks_ - count % ranks_) % ranks_;
    if (type.shape.size() != 1)
      v = g_.result(add(place, place, ops::reshape, {{v}},
                        Attributes(ops::reshape, {{"shape", Ints{count}}})));
    if (missing == 0) return v;
    Value operands[] = {v, zero(type.dtype, place)};
    return g_.result(add(place, place, ops::pad, operands,
                         Attributes(ops::pad, {{"low", Ints{0}}, {"high", Ints{missing}}})));
  }

  /// Adds a reduce-scatter of the members that become pieces. The others keep an all-reduce.
  void scatter(NodeId n) {
    std::vector<Value> scattered, pending, rest, whole;
    for (std::uint32_t i = 0; i < g_[n].result_count; ++i) {
      Value v = g_.result(n, i);
      if (sharded(v)) {
        pending.push_back(v);
        scattered.push_back(padded(g_[n].inputs[i], n));
      } else if (!g_.uses(v).empty()) {
        whole.push_back(v);
        rest.push_back(g_[n].inputs[i]);
      }
    }
    auto channel = static_cast<std::size_t>(g_[n].op->attribute_index("channel"));
    Attributes attributes(
        ops::reduce_scatter,
        {{"group", plan_.group},
         {"reduce", g_[n].attr<std::string>("reduce")},
         {"channel", rest.empty() ? g_[n].attributes.values()[channel] : std::int64_t{-1}}});
    NodeId made = add(n, n, ops::reduce_scatter, scattered, std::move(attributes));
    for (std::uint32_t i = 0; i < pending.size(); ++i)
      piece_[pending[i].index] = g_.result(made, i);
    if (!rest.empty()) keep(whole, add(n, n, ops::all_reduce, rest, g_[n].attributes));
  }

  /// Redirects the readers of values that stay whole to the node that replaces `made`.
  void keep(const std::vector<Value>& whole, NodeId made) {
    for (std::uint32_t i = 0; i < whole.size(); ++i) {
      g_.replace_uses(whole[i], g_.result(made, i));
      g_.swap_names(whole[i], g_.result(made, i));
    }
  }

  void wait(NodeId n) {
    std::vector<Value> pieces, rest, whole;
    for (std::uint32_t i = 0; i < g_[n].result_count; ++i) {
      Value v = g_[n].inputs[i];
      if (!sharded(g_.result(n, i))) {
        rest.push_back(v);
        whole.push_back(g_.result(n, i));
      } else {
        pieces.push_back(piece_[v.index]);
      }
    }
    NodeId made = add(n, n, ops::wait, pieces, {});
    for (std::uint32_t i = 0, next = 0; i < g_[n].result_count; ++i)
      if (Value v = g_.result(n, i); sharded(v)) becomes(v, g_.result(made, next++));
    if (!rest.empty()) keep(whole, add(n, n, ops::wait, rest, {}));
  }

  // ---- elementwise nodes

  void replace_one(NodeId n) {
    const Node& node = g_[n];
    Value v = g_.result(n);
    if (node.op == &ops::reshape) {  // pieces are flat, so a reshape does nothing to them
      piece_[v.index] = piece(node.inputs[0], n, n);
      return;
    }
    std::vector<Value> operands(node.inputs.begin(), node.inputs.end());
    for (std::uint32_t i : element_row(g_, n, 0).tensors) operands[i] = piece(operands[i], n, n);
    if (node.op->is_ordering) use_pieces(operands);
    becomes(v, g_.result(add(n, n, *node.op, operands, node.attributes)));
  }

  /// Replaces a node with lists by one for the rows that become pieces and one for the others.
  void replace_lists(NodeId n) {
    std::uint32_t length = list_length(g_[n]);
    std::vector<std::uint32_t> rows, rest, sizes;
    for (std::uint32_t i = 0; i < length; ++i)
      (sharded(g_.result(n, i)) ? rows : rest).push_back(i);
    std::vector<Value> operands;
    std::uint32_t start = 0;
    std::size_t slot = 0;
    for (std::uint32_t size : g_[n].attributes.list_sizes()) {
      bool list = g_[n].op->operands[slot++].count == Count::many;
      for (std::uint32_t i = 0; !list && i < size; ++i) operands.push_back(g_[n].inputs[start + i]);
      for (std::uint32_t i = 0; list && size > 0 && i < rows.size(); ++i) {
        Value v = g_[n].inputs[start + rows[i]];
        operands.push_back(row_of(g_, {n, start + rows[i]}) ? piece(v, n, n) : v);
      }
      sizes.push_back(list && size > 0 ? static_cast<std::uint32_t>(rows.size()) : size);
      start += size;
    }
    if (!rest.empty()) assemble(g_, {{{n, rest}}}, n);
    NodeId made = add(n, n, *g_[n].op, operands, g_[n].attributes.with_list_sizes(sizes));
    for (std::uint32_t l = 0, next = 0; l < g_[n].result_count; l += length)
      for (std::uint32_t i : rows) becomes(g_.result(n, l + i), g_.result(made, next++));
  }

  // ---- order

  /// Order constraints on a value become order constraints on its piece.
  void use_pieces(std::vector<Value>& operands) {
    for (std::size_t i = 1; i < operands.size(); ++i)
      if (sharded(operands[i])) operands[i] = piece_[operands[i].index];
  }
  void follow_tokens(NodeId n) {
    for (std::uint32_t i = 1; i < g_[n].inputs.size(); ++i)
      if (Value v = g_[n].inputs[i]; sharded(v)) g_.set_operand(n, i, piece_[v.index]);
  }

  Graph& g_;
  const ShardPlan& plan_;
  std::int64_t ranks_;
  std::vector<Value> piece_;              // by value
  std::unordered_map<Value, Value> cut_;  // pieces cut out of whole values
  std::map<DType, Value> zeros_;
  std::vector<std::pair<Value, Value>> nexts_;  // pairs of a state and its old next value
  std::vector<NodeId> old_;
  ShardGathers gathers_;
};

}  // namespace

void shard_optimizer(Graph& g) {
  std::set<std::string> groups;
  for (NodeId n : std::as_const(g).nodes())
    if (g[n].op == &ops::all_reduce) groups.insert(g[n].attr<std::string>("group"));
  for (const std::string& group : groups) {
    ShardPlan plan = plan_shards(g, group);
    if (!plan.reduces.empty()) Sharder(g, plan).run();
  }
}

}  // namespace hocket

#include "hocket/passes/optimizer/shard_gathers.h"

#include "hocket/ops/ops.h"
#include "hocket/passes/optimizer/element_rows.h"

namespace hocket {

ShardGathers::ShardGathers(Graph& g, const ShardPlan& plan)
    : g_(g), plan_(plan), gather_of_(g.value_bound()) {
  for (std::uint32_t i = 0; i < plan.gathered.size(); ++i)
    if (plan.gathered[i]) ++outstanding_[plan.origin[i]];
}

void ShardGathers::add(Value old, Value piece, NodeId n) {
  NodeId origin = plan_.origin[old.index];
  auto [it, fresh] = open_.emplace(origin, gathers_.size());
  if (fresh) gathers_.push_back({.like = n});
  Gather& gather = gathers_[it->second];
  gather.old.push_back(old);
  gather.pieces.push_back(piece);
  gather_of_[old.index] = static_cast<std::uint32_t>(it->second) + 1;
  if (--outstanding_[origin] == 0) start(gather, n);
}

/// True if the reader needs the whole value; false if it works on pieces or only has an order
/// constraint.
bool ShardGathers::wants_whole(Use use) const {
  if (use.node == g_.return_node()) return true;
  if (g_[use.node].op->is_ordering && use.operand > 0) return false;
  auto row = row_of(g_, use);
  Value result = row ? g_.result(use.node, *row) : Value{};
  return !row || result.index >= plan_.sharded.size() || !plan_.sharded[result.index];
}

void ShardGathers::land_for(NodeId n) {
  for (std::uint32_t i = 0; i < g_[n].inputs.size(); ++i) {
    Value v = g_[n].inputs[i];
    std::uint32_t number = v.index < gather_of_.size() ? gather_of_[v.index] : 0;
    if (number == 0 || !wants_whole({n, i})) continue;
    Gather& gather = gathers_[number - 1];
    if (!gather.landed) land(gather, n);
  }
}

void ShardGathers::finish() {
  for (Gather& gather : gathers_)
    if (!gather.landed) land(gather, g_.return_node());
}

void ShardGathers::start(Gather& gather, NodeId place) {
  open_.erase(plan_.origin[gather.old[0].index]);
  gather.started =
      g_.add(At(g_, place), {.op = &ops::all_gather,
                             .inputs = gather.pieces,
                             .attributes = Attributes(ops::all_gather, {{"group", plan_.group}}),
                             .path = g_.path(gather.like),
                             .stage = g_[gather.like].stage});
}

void ShardGathers::land(Gather& gather, NodeId place) {
  if (!gather.started) start(gather, place);
  std::vector<Value> pending = g_.results(gather.started);
  NodeId wait = g_.add(At(g_, place), {.op = &ops::wait,
                                       .inputs = pending,
                                       .path = g_.path(gather.like),
                                       .stage = g_[gather.like].stage});
  for (std::uint32_t i = 0; i < gather.old.size(); ++i) {
    Value old = gather.old[i];
    Value now = whole(g_.result(wait, i), g_.type(old), gather, place);
    g_.replace_uses(old, now, [&](Use use) { return wants_whole(use); });
    g_.swap_names(old, now);
  }
  gather.landed = true;
}

/// The gathered value without padding, in its original shape.
Value ShardGathers::whole(Value flat, const Type& type, const Gather& gather, NodeId place) {
  auto add = [&](const Op& op, Attributes attributes) {
    Value operands[] = {flat};
    return g_.result(g_.add(At(g_, place), {.op = &op,
                                            .inputs = operands,
                                            .attributes = std::move(attributes),
                                            .path = g_.path(gather.like),
                                            .stage = g_[gather.like].stage}));
  };
  std::int64_t count = type.elements();
  if (g_.type(flat).elements() != count)
    flat = add(ops::slice, Attributes(ops::slice, {{"starts", Ints{0}}, {"stops", Ints{count}}}));
  if (type.shape.size() != 1)
    flat = add(ops::reshape,
               Attributes(ops::reshape, {{"shape", Ints(type.shape.begin(), type.shape.end())}}));
  return flat;
}

}  // namespace hocket

// Collectives and point-to-point transfers.

#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/element.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/ops.h"
#include "support/graph_maker.h"

namespace hocket::testing {

Value GraphMaker::summed(Value v) {
  return ops::wait(graph_, graph_.result(make(ops::all_reduce, {v}, {{"group", some_group()}})));
}

Value GraphMaker::offer() {
  return !groups_.own || chance(random_, 50) ? any() : summed(floats(DType::f32, {dim_of(2), 2}));
}

void GraphMaker::send(Value v, std::int64_t to, std::int64_t channel) {
  NodeId n = make(ops::send, {v}, {{"group", "pp"}, {"to", to}, {"channel", channel}});
  flights_.push_back({n, {false}});
  if (chance(random_, 50)) wait();
}

Value GraphMaker::receive(std::int64_t from, const Type& type, std::int64_t channel) {
  return graph_.result(
      make(ops::recv, {}, {{"group", "pp"}, {"from", from}, {"type", type}, {"channel", channel}}));
}

void GraphMaker::take(Value pending) {
  keep(ops::wait(graph_, pending));
  if (groups_.own && graph_.type(values_.back()).dtype == DType::f32) keep(summed(values_.back()));
}

void GraphMaker::meet(const Op& op, const std::vector<Named>& given,
                      const std::vector<Type>& types) {
  std::vector<Value> operands;
  operands.reserve(types.size());
  for (const Type& type : types) operands.push_back(of(type));
  flights_.push_back({make(op, operands, given), std::vector<bool>(types.size())});
}

void GraphMaker::meet_at_barrier(const std::string& group, std::int64_t channel) {
  make(ops::barrier, {}, {{"group", group}, {"channel", channel}});
}

void GraphMaker::rank_and_shard() {
  if (chance(random_, 30))
    keep(ops::rank(graph_, std::initializer_list<Value>{}, {{"group", some_group()}}));
  else
    keep(ops::shard(graph_, {any()}, {{"group", some_group()}}));
}

void GraphMaker::collective() {
  if (!groups_.own) return;
  if (!flights_.empty() && chance(random_, 50)) return wait();
  static const std::vector<const Op*> list = {&ops::all_reduce,     &ops::all_gather,
                                              &ops::reduce_scatter, &ops::reduce,
                                              &ops::broadcast_from, &ops::all_to_all};
  const Op* op = list[below(random_, list.size())];
  std::string group = some_group();
  auto size = *graph_.world().group_size(group);
  std::vector<Value> operands;
  bool reduces = op == &ops::all_reduce || op == &ops::reduce_scatter || op == &ops::reduce;
  for (std::size_t i = 0; i < 1 + below(random_, 3); ++i) {
    Value v = some([&](const Type& t) {
      if (t.elements() > 200 || (reduces && t.dtype == DType::boolean)) return false;
      return (op != &ops::reduce_scatter && op != &ops::all_to_all) ||
             (!t.shape.empty() && t.shape[0] % size == 0);
    });
    if (v) operands.push_back(v);
  }
  if (operands.empty()) return;
  constexpr std::string_view reductions[] = {"sum", "min", "max", "product"};
  std::vector<Named> given;
  given.reserve(3);
  given.push_back({"group", group});
  if (reduces)
    given.push_back({"reduce", std::string(reductions[below(random_, std::size(reductions))])});
  if (op->attribute_index("root") >= 0)
    given.push_back(
        {"root", static_cast<std::int64_t>(below(random_, static_cast<std::size_t>(size)))});
  NodeId n =
      graph_.add(graph_, {.op = op, .inputs = operands, .attributes = Attributes(*op, given)});
  flights_.push_back({n, std::vector<bool>(operands.size())});
}

void GraphMaker::gradients() {
  DType dtype = some_float();
  std::string group = some_group();
  bool before = chance(random_, 50);
  auto divided = [&](Value v) {
    Type scalar{dtype, false, {}};
    Tensor two(scalar);
    visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      two.as<T>()[0] = store<T>(static_cast<std::int64_t>(chance(random_, 80) ? 3 : 5));
    });
    return ops::div(graph_, v, *ops::add_constant(graph_, two));
  };
  std::vector<Value> made;
  for (std::size_t i = 0; i < 2 + below(random_, 4); ++i) {
    Value v = floats(dtype, {dim_of(4), dim_of(3)});
    made.push_back(before && chance(random_, 80) ? divided(v) : v);
  }
  std::shuffle(made.begin(), made.end(), random_);
  for (Value v : made) {
    std::string reduce = chance(random_, 85) ? "sum" : "max";
    Value h = graph_.result(make(ops::all_reduce, {v}, {{"group", group}, {"reduce", reduce}}));
    graph_.set_path(graph_.node(h), fmt::format("layers.{}", below(random_, 2)));
    if (chance(random_, 30)) {
      flights_.push_back({graph_.node(h), {false}});
      continue;
    }
    Value arrived = ops::wait(graph_, h);
    if (chance(random_, 30)) graph_.add_output(fmt::format("sum.{}", sums_++), arrived);
    keep(!before && chance(random_, 80) ? divided(arrived) : arrived);
    if (chance(random_, 20)) keep(ops::neg(graph_, arrived));
  }
}

void GraphMaker::chain() {
  std::string group = some_group();
  Value v = floats(DType::f32, {2, 2});
  for (std::size_t i = 0; i < 2 + below(random_, 3); ++i) {
    v = ops::wait(graph_, graph_.result(make(ops::all_reduce, {v}, {{"group", group}})));
    if (chance(random_, 70)) v = ops::tanh(graph_, v);
    keep(v);
  }
}

void GraphMaker::wait() {
  if (flights_.empty()) return;
  Flight& flight = flights_[below(random_, flights_.size())];
  std::vector<Value> arrived;
  for (std::uint32_t i = 0; i < flight.waited.size(); ++i)
    if (chance(random_, 60)) {
      arrived.push_back(graph_.result(flight.start, i));
      flight.waited[i] = true;
    }
  if (arrived.empty()) return;
  NodeId n = graph_.add(graph_, {.op = &ops::wait, .inputs = arrived});
  for (Value v : graph_.results(n)) keep(v);
}

void GraphMaker::wait_for_all() {
  for (Flight& flight : flights_) {
    if (std::ranges::find(flight.waited, true) != flight.waited.end()) continue;
    keep(ops::wait(graph_, graph_.result(flight.start)));
  }
}

void GraphMaker::after() {
  std::vector<Value> operands{any(), any()};
  keep(ops::after(graph_, operands, {}));
}

void GraphMaker::barrier() {
  if (chance(random_, 70)) return;
  graph_.add(graph_, {.op = &ops::barrier,
                      .attributes = Attributes(ops::barrier, {{"group", some_group()}})});
}

}  // namespace hocket::testing

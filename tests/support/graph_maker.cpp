#include "support/graph_maker.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "hocket/base/element.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {

double special_value(Random& r) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double values[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               2.0,
                               3.25,
                               -0.75,
                               1e-3,
                               7.0,
                               inf,
                               -inf,
                               std::numeric_limits<double>::quiet_NaN()};
  // Mostly finite numbers, because a NaN spreads to all values computed from it.
  return values[chance(r, 95) ? below(r, 10) : below(r, std::size(values))];
}

Tensor random_tensor(Random& r, const Type& type, std::size_t integers_below) {
  Tensor t(type);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < type.elements(); ++i)
      t.as<T>()[i] = is_float(type.dtype)
                         ? store<T>(special_value(r))
                         : store<T>(static_cast<std::int64_t>(below(r, integers_below)));
  });
  return t;
}

void GraphMaker::inputs() {
  std::size_t count = 2 + below(random_, 4);
  for (std::size_t i = 0; i < count; ++i) {
    InputInfo info;
    info.state = !region_ && chance(random_, 40);
    if (info.state) {
      info.kind = static_cast<StateKind>(below(random_, 3));
      info.names = {fmt::format("state.{}", i)};
    }
    values_.push_back(graph_.add_input(random_type(), info.state ? "w" : "x", info));
  }
}

void GraphMaker::loop_inputs() {
  std::size_t count = 2 + below(random_, 5);
  for (std::size_t i = 0; i < count; ++i) {
    InputInfo info{.names = {fmt::format("loop.{}", i)}, .state = true};
    values_.push_back(graph_.add_input(graph_.type(any()), "w", info));
  }
}

void GraphMaker::loop_updates() {
  Value last;
  for (const Input& in : graph_.inputs()) {
    if (!in.state || chance(random_, 10)) continue;
    const Type& type = graph_.type(in.value);
    if (last && graph_.type(last) == type && chance(random_, 25)) {
      graph_.set_next(in.value, last);
      continue;
    }
    if (chance(random_, 15))
      if (Value v = some_input(type)) {
        graph_.set_next(in.value, v);
        continue;
      }
    collective();
    wait_for_all();
    Value with = of(type);
    if (type.dtype == DType::boolean)
      last = ops::bit_xor(graph_, in.value, with);
    else
      last = (chance(random_, 50) ? ops::sub : ops::maximum)(graph_, in.value, with);
    keep(last);
    graph_.set_next(in.value, last);
  }
}

void GraphMaker::node() {
  // Repeated entries are drawn more often: most nodes of real graphs are elementwise.
  static const std::vector<void (GraphMaker::*)()> makers = {
      &GraphMaker::elementwise,    &GraphMaker::elementwise,   &GraphMaker::elementwise,
      &GraphMaker::elementwise,    &GraphMaker::elementwise,   &GraphMaker::elementwise,
      &GraphMaker::elementwise,    &GraphMaker::elementwise,   &GraphMaker::cast,
      &GraphMaker::reshape,        &GraphMaker::reshape,       &GraphMaker::permute,
      &GraphMaker::broadcast,      &GraphMaker::reduction,     &GraphMaker::reduction,
      &GraphMaker::reduction,      &GraphMaker::matmul,        &GraphMaker::constant,
      &GraphMaker::full,           &GraphMaker::twin,          &GraphMaker::twin,
      &GraphMaker::rank_and_shard, &GraphMaker::movement,      &GraphMaker::movement,
      &GraphMaker::convolution,    &GraphMaker::pooling,       &GraphMaker::indexing,
      &GraphMaker::indexing,       &GraphMaker::normalisation, &GraphMaker::normalisation,
      &GraphMaker::loss,           &GraphMaker::draw,          &GraphMaker::optimizer,
  };
  static const std::vector<void (GraphMaker::*)()> outer = {&GraphMaker::after, &GraphMaker::call,
                                                            &GraphMaker::call};
  static const std::vector<void (GraphMaker::*)()> speaking = {
      &GraphMaker::collective, &GraphMaker::collective, &GraphMaker::collective,
      &GraphMaker::gradients,  &GraphMaker::chain,      &GraphMaker::barrier};
  std::size_t inner = makers.size(), around = inner + (region_ ? 0 : outer.size());
  std::size_t pick = below(random_, around + (region_ || !groups_.own ? 0 : speaking.size()));
  (this->*(pick < inner    ? makers[pick]
           : pick < around ? outer[pick - inner]
                           : speaking[pick - around]))();
}

void GraphMaker::outputs() {
  wait_for_all();
  std::size_t count = 1 + below(random_, 6);
  for (std::size_t i = 0; i < count; ++i)
    graph_.add_output(region_ ? "" : fmt::format("out.{}", i), any());
  if (region_) return;
  for (const Input& in : graph_.inputs()) {
    if (!in.state || chance(random_, 20)) continue;
    for (Value v : shuffled())
      if (graph_.type(v) == graph_.type(in.value) && v != in.value) {
        graph_.set_next(in.value, v);
        break;
      }
  }
}

Type GraphMaker::random_type() {
  constexpr DType dtypes[] = {DType::f32, DType::f32, DType::f32, DType::f64, DType::bf16,
                              DType::f16, DType::i64, DType::i32, DType::u8,  DType::boolean};
  Type t{dtypes[below(random_, std::size(dtypes))], false, {}};
  std::size_t rank = below(random_, 4);
  for (std::size_t i = 0; i < rank; ++i)
    t.shape.push_back(chance(random_, 3) ? 0 : dim_of(largest_));
  return t;
}

DType GraphMaker::some_float() {
  constexpr DType list[] = {DType::f32, DType::f32, DType::f64, DType::bf16, DType::f16};
  return list[below(random_, std::size(list))];
}

std::int64_t GraphMaker::dim_of(std::int64_t most) {
  return static_cast<std::int64_t>(1 + below(random_, static_cast<std::size_t>(most)));
}

std::vector<Value> GraphMaker::shuffled() {
  std::vector<Value> list = values_;
  std::shuffle(list.begin(), list.end(), random_);
  return list;
}

Value GraphMaker::some_input(const Type& type) {
  auto inputs = graph_.inputs();
  std::size_t start = below(random_, inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value v = inputs[(start + i) % inputs.size()].value;
    if (graph_.type(v) == type) return v;
  }
  return {};
}

Value GraphMaker::some(const std::function<bool(const Type&)>& like) {
  std::size_t start = below(random_, values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    Value v = values_[(start + i) % values_.size()];
    if (like(graph_.type(v))) return v;
  }
  return {};
}

Value GraphMaker::iota(DType dtype, const Shape& shape) {
  Type types[] = {{dtype, false, shape}};
  auto dim = static_cast<std::int64_t>(below(random_, shape.size()));
  return graph_.result(graph_.add(
      graph_,
      {.op = &ops::iota, .attributes = Attributes(ops::iota, {{"dim", dim}}), .types = types}));
}

Value GraphMaker::seed() {
  Value v = some([](const Type& t) { return t.dtype == DType::f32; });
  if (!v) v = some([](const Type& t) { return t.dtype != DType::boolean; });
  if (!v) v = ops::cast(graph_, {any()}, {{"dtype", DType::f32}});
  Ints dims;
  for (std::size_t i = 0; i < graph_.type(v).shape.size(); ++i)
    dims.push_back(static_cast<std::int64_t>(i));
  Value total =
      ops::cast(graph_, {ops::sum(graph_, {v}, {{"dims", dims}})}, {{"dtype", DType::f32}});
  return ops::tanh(graph_, total);
}

Value GraphMaker::of(const Type& type) {
  if (chance(random_, 40))
    if (Value v = some([&](const Type& t) { return t == type; })) return v;
  if (type.shape.empty()) return ops::cast(graph_, {seed()}, {{"dtype", type.dtype}});
  Value x = ops::mul(graph_, iota(DType::f32, type.shape), seed());
  return ops::cast(graph_, {ops::sin(graph_, x)}, {{"dtype", type.dtype}});
}

Value GraphMaker::indices(const Shape& shape, std::int64_t bound) {
  Value i = shape.empty() ? ops::cast(graph_, {seed()}, {{"dtype", DType::i64}})
                          : iota(DType::i64, shape);
  Type scalar[] = {{DType::i64, false, {}}};
  auto number = [&](std::int64_t n) {
    return graph_.result(graph_.add(
        graph_,
        {.op = &ops::full, .attributes = Attributes(ops::full, {{"value", n}}), .types = scalar}));
  };
  Value turned = ops::mul(graph_, i, number(static_cast<std::int64_t>(1 + below(random_, 5))));
  Value inside = ops::remainder(graph_, turned, number(bound));
  return chance(random_, 20) ? ops::sub(graph_, inside, number(bound))
                             : inside;  // negative: counts from the end
}

Value GraphMaker::random_key() {
  Tensor t(Type{DType::i64, false, {2}});
  for (int i : {0, 1}) t.as<std::int64_t>()[i] = static_cast<std::int64_t>(below(random_, 1000));
  return *ops::add_constant(graph_, t);
}

NodeId GraphMaker::make(const Op& op, const std::vector<Value>& inputs,
                        const std::vector<Named>& given, std::vector<std::uint32_t> sizes,
                        std::vector<Type> types) {
  Attributes attributes(op, given);
  if (!sizes.empty()) attributes = attributes.with_list_sizes(std::move(sizes));
  return graph_.add(graph_,
                    {.op = &op, .inputs = inputs, .attributes = attributes, .types = types});
}

void GraphMaker::keep_all(NodeId n) {
  for (Value v : graph_.results(n)) keep(v);
}

void GraphMaker::twin() {
  std::vector<NodeId> pure;
  for (NodeId n : std::as_const(graph_).nodes())
    if (graph_[n].op->pure() && !graph_[n].op->is_collective && !graph_[n].op->is_wait &&
        graph_[n].result_count == 1)
      pure.push_back(n);
  if (pure.empty()) return;
  const Node& node = graph_[pure[below(random_, pure.size())]];
  Type types[] = {graph_.type({node.first_result})};
  keep(graph_.result(graph_.add(graph_, {.op = node.op,
                                         .inputs = {node.inputs.data(), node.inputs.size()},
                                         .attributes = node.attributes,
                                         .types = types,
                                         .region = node.region})));
}

void GraphMaker::call() {
  Graph inner("region", graph_.shared_world());
  GraphMaker maker(random_, inner, true);
  std::vector<Value> operands;
  for (std::size_t i = 0; i < 1 + below(random_, 3); ++i) {
    Value v = any();
    operands.push_back(v);
    maker.values_.push_back(inner.add_input(graph_.type(v), "p"));
  }
  for (std::size_t i = 0; i < 2 + below(random_, 5); ++i) maker.node();
  maker.outputs();
  NodeId n = graph_.add(graph_, {.op = &ops::call,
                                 .inputs = operands,
                                 .attributes = Attributes(ops::call, {}),
                                 .region = std::make_shared<const Graph>(std::move(inner))});
  for (Value v : graph_.results(n)) keep(v);
}

void GraphMaker::constant() {
  Type t = random_type();
  if (t.elements() > ops::max_written_elements) t.shape = {2};
  if (auto v = ops::add_constant(graph_, random_tensor(random_, t, 5))) keep(*v);
}

void GraphMaker::full() {
  Type t = random_type();
  Attribute value = is_float(t.dtype)     ? Attribute(special_value(random_))
                    : is_integer(t.dtype) ? Attribute(static_cast<std::int64_t>(below(random_, 4)))
                                          : Attribute(chance(random_, 50));
  Type types[] = {t};
  keep(graph_.result(graph_.add(graph_, {.op = &ops::full,
                                         .attributes = Attributes(ops::full, {{"value", value}}),
                                         .types = types})));
}

}  // namespace hocket::testing

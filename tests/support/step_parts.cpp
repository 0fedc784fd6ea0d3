#include "support/step_parts.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/ops/ops.h"

namespace hocket::testing {

Value StepParts::number(DType dtype, double value) {
  Type types[] = {{dtype, false, {}}};
  return graph_.result(graph_.add(
      graph_,
      {.op = &ops::full, .attributes = Attributes(ops::full, {{"value", value}}), .types = types}));
}

Value StepParts::fed(const Type& type) {
  return graph_.add_input(type, "x", {.names = {fmt::format("x.{}", graph_.inputs().size())}});
}

Value StepParts::state(const Type& type, const char* name, StateKind kind,
                       std::optional<ShardOf> of) {
  return graph_.add_input(type, name,
                          {.names = {fmt::format("{}.{}", name, graph_.inputs().size())},
                           .state = true,
                           .kind = kind,
                           .shard = std::move(of)});
}

// ---- arithmetic

Ints StepParts::all_dims(Value v) const {
  Ints dims;
  for (std::size_t i = 0; i < graph_.type(v).shape.size(); ++i) dims.push_back(std::ssize(dims));
  return dims;
}

Value StepParts::total(Value v) { return ops::sum(graph_, {v}, {{"dims", all_dims(v)}}); }

Value StepParts::squares(std::span<const Value> values) {
  Value sum;
  for (Value v : values) {
    Value part = total(ops::mul(graph_, v, v));
    sum = sum ? ops::add(graph_, sum, part) : part;
  }
  return sum;
}

Value StepParts::matmul(Value a, Value b, bool transpose_a, bool transpose_b) {
  return ops::matmul(graph_, {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

// ---- between ranks

std::vector<Value> StepParts::start(const Op& op, const std::vector<Value>& operands,
                                    std::vector<Named> given, std::optional<std::int64_t> channel) {
  given.push_back({"channel", channel ? *channel : fresh_channel()});
  return graph_.results(
      graph_.add(graph_, {.op = &op, .inputs = operands, .attributes = Attributes(op, given)}));
}

std::vector<Value> StepParts::wait(const std::vector<Value>& pending) {
  return graph_.results(graph_.add(graph_, {.op = &ops::wait, .inputs = pending}));
}

Value StepParts::all_reduced(Value v, const std::string& group, const std::string& reduce) {
  return wait(start(ops::all_reduce, {v}, {{"group", group}, {"reduce", reduce}}))[0];
}

// ---- optimizers

OptimizerSetting StepParts::setting() {
  OptimizerSetting s{.lr = number(DType::f32, chance(random_, 50) ? 0.5 : 0.25)};
  if (chance(random_, 25)) {  // written out in elementwise ops
    s.lists = below(random_, 2);
    return s;
  }
  if (chance(random_, 30)) s.scale = {number(DType::f32, 4)};
  if (chance(random_, 30)) s.skip = {number(DType::f32, chance(random_, 50) ? 1 : 0)};
  double decay = chance(random_, 50) ? 0.25 : 0.0;
  if (chance(random_, 40)) {
    s.op = &ops::sgd;
    s.lists = below(random_, 2);
    double momentum = s.lists != 0 ? 0.5 : 0.0;
    s.attributes = Attributes(ops::sgd, {{"momentum", momentum}, {"weight_decay", decay}});
  } else {
    s.op = chance(random_, 50) ? &ops::adam : &ops::adamw;
    s.lists = 2 + below(random_, 2);
    s.counts = true;
    s.attributes = Attributes(*s.op, {{"weight_decay", decay}});
  }
  return s;
}

Value StepParts::moment_of(Value parameter) {
  return state(graph_.type(parameter), "m", StateKind::optimizer, graph_.input(parameter).shard);
}

Value StepParts::update_by_hand(const OptimizerSetting& s, Value parameter, Value gradient) {
  DType dtype = graph_.type(parameter).dtype;
  Value old = parameter, step = gradient, half = number(dtype, 0.5);
  if (s.lists > 0) {
    Value m = moment_of(parameter);
    step = ops::add(graph_, ops::mul(graph_, m, half), step);
    graph_.set_next(m, step);
  }
  if (chance(random_, 50)) old = ops::mul(graph_, old, half);
  Value lr = dtype == DType::f32 ? s.lr : ops::cast(graph_, {s.lr}, {{"dtype", dtype}});
  Value next = ops::sub(graph_, old, ops::mul(graph_, step, lr));
  graph_.set_next(parameter, next);
  return next;
}

Value StepParts::update(const OptimizerSetting& s, std::span<const Value> parameters,
                        std::span<const Value> gradients) {
  auto n = static_cast<std::uint32_t>(parameters.size());
  if (s.op == nullptr) {
    Value first;
    for (std::uint32_t i = 0; i < n; ++i) {
      Value next = update_by_hand(s, parameters[i], gradients[i]);
      if (!first) first = next;
    }
    return first;
  }
  std::vector<Value> states(parameters.begin(), parameters.end()), operands = states;
  operands.insert(operands.end(), gradients.begin(), gradients.end());
  for (std::size_t l = 0; l < s.lists; ++l)
    for (Value p : parameters) states.push_back(moment_of(p));
  operands.insert(operands.end(), states.begin() + n, states.end());
  for (std::uint32_t i = 0; s.counts && i < n; ++i) operands.push_back(count());
  operands.push_back(s.lr);
  operands.insert(operands.end(), s.scale.begin(), s.scale.end());
  operands.insert(operands.end(), s.skip.begin(), s.skip.end());
  std::vector<std::uint32_t> sizes{n, n};
  for (std::size_t l = 0; l < (s.counts ? 3U : 1U); ++l) sizes.push_back(l < s.lists ? n : 0);
  if (s.counts) sizes.push_back(n);
  sizes.push_back(1);
  for (const auto& list : {s.scale, s.skip})
    sizes.push_back(static_cast<std::uint32_t>(list.size()));
  NodeId node = graph_.add(graph_, {.op = s.op,
                                    .inputs = operands,
                                    .attributes = s.attributes.with_list_sizes(std::move(sizes))});
  for (std::uint32_t i = 0; i < states.size(); ++i)
    graph_.set_next(states[i], graph_.result(node, i));
  return graph_.result(node);
}

void StepParts::update_in_parts(const OptimizerSetting& s, std::span<const Value> parameters,
                                std::span<const Value> gradients) {
  for (std::size_t from = 0; from < parameters.size();) {
    std::size_t size = std::min(1 + below(random_, 4), parameters.size() - from);
    update(s, parameters.subspan(from, size), gradients.subspan(from, size));
    from += size;
  }
}

/// A step counter, incremented once or twice; sometimes shared by several parameters.
Value StepParts::count() {
  if (counted_ && chance(random_, 25)) return counted_;
  Value old = state({DType::f32, false, {}}, "step", StateKind::optimizer);
  counted_ = ops::add(graph_, old, number(DType::f32, chance(random_, 80) ? 1 : 2));
  graph_.set_next(old, counted_);
  return counted_;
}

}  // namespace hocket::testing

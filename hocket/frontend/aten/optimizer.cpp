// Optimizers and loss scaling on lists of tensors. sgd, adam and adamw become one node for the
// whole list.

#include "hocket/base/error.h"
#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

using Values = std::vector<Value>;

/// A hyper-parameter that may be a tensor: a rank-0 value.
Value hyper(OperatorCall& c, std::string_view name) {
  Operand o = c.operand(name);
  return o.value ? c.reshape(o.value, {}) : c.scalar(DType::f64, o.number);
}

Values optional_scalar(OperatorCall& c, std::string_view name) {
  if (!c.has(name)) return {};
  return {c.reshape(c.value(name), {})};
}

SourceValue owned(OperatorCall& c, std::span<const Value> values) {
  SourceValue list;
  for (Value v : values) list.list.push_back(c.fresh(v));
  return list;
}

/// New values as lists, in the order of the source: parameters, gradients, then the other state.
SourceValue lists_of(OperatorCall& c, const Values& gradients, const Values& results,
                     std::size_t lists) {
  std::size_t n = gradients.size();
  SourceValue all;
  for (std::size_t l = 0; l < lists; ++l) {
    if (l == 1) {
      all.list.push_back(owned(c, gradients));
      continue;
    }
    std::size_t first = (l == 0 ? 0 : l - 1) * n;
    bool there = n > 0 && first + n <= results.size();
    all.list.push_back(
        owned(c, there ? std::span(results).subspan(first, n) : std::span<const Value>()));
  }
  return all;
}

/// The in-place form: the new values are written into the arguments.
SourceValue write_lists(OperatorCall& c, const SourceValue& all,
                        std::initializer_list<std::string_view> names) {
  std::size_t l = 0;
  for (std::string_view name : names) {
    std::vector<TensorId> to = c.tensors(name);
    const std::vector<SourceValue>& from = all.list[l++].list;
    for (std::size_t i = 0; i < to.size() && i < from.size(); ++i)
      c.write(to[i], c.read(*from[i].tensor));
  }
  return {};
}

/// With a scale, the source divides the gradients by it in place, unless the step is skipped.
Values scaled_gradients(OperatorCall& c) {
  Values grads = c.values("grads");
  if (!c.has("grad_scale")) return grads;
  Value scale = optional_scalar(c, "grad_scale")[0];
  for (Value& g : grads) {
    DType dtype = c.type(g).dtype, wide = row(dtype).compute;
    Value scaled = c.cast(c.build(ops::div, {c.cast(g, wide), c.cast(scale, wide)}), dtype);
    if (c.has("found_inf"))
      scaled = c.build(ops::select,
                       {c.pointwise(ops::ne, {optional_scalar(c, "found_inf")[0], 0}), g, scaled});
    g = scaled;
  }
  return grads;
}

SourceValue adam_lists(OperatorCall& c) {
  Values params = c.values("self"), grads = c.values("grads");
  Values v_max = c.flag("amsgrad") ? c.values("max_exp_avg_sqs") : Values{};
  Values results = c.build_lists(*c.row().op,
                                 {params,
                                  grads,
                                  c.values("exp_avgs"),
                                  c.values("exp_avg_sqs"),
                                  v_max,
                                  c.values("state_steps"),
                                  {hyper(c, "lr")},
                                  optional_scalar(c, "grad_scale"),
                                  optional_scalar(c, "found_inf")},
                                 {{"beta1", c.real("beta1")},
                                  {"beta2", c.real("beta2")},
                                  {"eps", c.real("eps")},
                                  {"weight_decay", c.real("weight_decay")},
                                  {"maximize", c.flag("maximize")}});
  return lists_of(c, scaled_gradients(c), results, 5);
}

Returned fused_adam(OperatorCall& c) { return adam_lists(c); }
Returned fused_adam_in_place(OperatorCall& c) {
  return write_lists(c, adam_lists(c),
                     {"self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"});
}

SourceValue sgd_lists(OperatorCall& c) {
  Values params = c.values("self"), grads = c.values("grads");
  bool has_momentum = c.real("momentum") != 0;
  Values momenta = has_momentum ? c.values("momentum_buffer_list") : Values{};
  Values results = c.build_lists(*c.row().op,
                                 {params,
                                  grads,
                                  momenta,
                                  {hyper(c, "lr")},
                                  optional_scalar(c, "grad_scale"),
                                  optional_scalar(c, "found_inf")},
                                 {{"momentum", c.real("momentum")},
                                  {"dampening", c.real("dampening")},
                                  {"weight_decay", c.real("weight_decay")},
                                  {"nesterov", c.flag("nesterov")},
                                  {"maximize", c.flag("maximize")},
                                  {"first", has_momentum && c.flag("is_first_step")}});
  return lists_of(c, scaled_gradients(c), results, 3);
}

Returned fused_sgd(OperatorCall& c) { return sgd_lists(c); }
Returned fused_sgd_in_place(OperatorCall& c) {
  return write_lists(c, sgd_lists(c), {"self", "grads", "momentum_buffer_list"});
}

/// The rate decays with the step. Becomes elementwise nodes for each tensor.
SourceValue adagrad_lists(OperatorCall& c) {
  Values params = c.values("self"), sums = c.values("state_sums"), steps = c.values("state_steps");
  Values grads = scaled_gradients(c), results;
  if (grads.size() != params.size() || sums.size() != params.size() ||
      steps.size() != params.size())
    c.refuse("the lists differ in length");
  Value skip =
      c.has("found_inf") ? c.pointwise(ops::ne, {optional_scalar(c, "found_inf")[0], 0}) : Value();
  auto unless_skipped = [&](Value now, Value was) {
    return skip ? c.build(ops::select, {skip, was, now}) : now;
  };
  for (std::size_t i = 0; i < params.size(); ++i) {
    Value p = params[i], g = grads[i];
    if (c.flag("maximize")) g = c.build(ops::neg, {g});
    if (c.real("weight_decay") != 0) g = with_alpha(c, ops::add, g, p, c.real("weight_decay"));
    Value sum = with_product(c, ops::mul, sums[i], g, g, 1);
    Value before = c.pointwise(ops::sub, {c.cast(c.reshape(steps[i], {}), DType::f64), 1.0});
    Value slower = c.pointwise(ops::mul, {before, c.real("lr_decay")});
    Value rate = c.build(
        ops::div, {c.cast(hyper(c, "lr"), DType::f64), c.pointwise(ops::add, {slower, 1.0})});
    Value root = c.pointwise(ops::add, {c.build(ops::sqrt, {sum}), c.real("eps")});
    Value change = c.build(ops::div, {c.pointwise(ops::mul, {g, rate}), root});
    params[i] = unless_skipped(c.build(ops::sub, {p, change}), p);
    sums[i] = unless_skipped(sum, sums[i]);
  }
  results = params;
  results.insert(results.end(), sums.begin(), sums.end());
  results.insert(results.end(), steps.begin(), steps.end());
  return lists_of(c, grads, results, 4);
}

Returned fused_adagrad(OperatorCall& c) { return adagrad_lists(c); }
Returned fused_adagrad_in_place(OperatorCall& c) {
  return write_lists(c, adagrad_lists(c), {"self", "grads", "state_sums"});
}

// ---- loss scaling

/// Gradients divided by the scale, and whether one of them was infinite or NaN.
std::pair<Values, Value> unscaled(OperatorCall& c) {
  Values grads = c.values("self");
  Value found = c.value("found_inf"), scale = c.reshape(c.value("inv_scale"), {});
  const Type type = c.type(found);
  for (Value& g : grads) {
    DType dtype = c.type(g).dtype, wide = row(dtype).compute;
    Value odd = c.build(ops::bit_not, {finite(c, g)});
    Ints all;
    for (std::int64_t d = 0; d < std::ssize(c.type(g).shape); ++d) all.push_back(d);
    odd = c.reduce(ops::any, odd, all, false);
    found = c.build(ops::select, {odd, c.filled(type, 1.0), found});
    g = c.cast(c.build(ops::mul, {c.cast(g, wide), c.cast(scale, wide)}), dtype);
  }
  return {grads, found};
}

Returned unscale(OperatorCall& c) {
  auto [grads, found] = unscaled(c);
  SourceValue all;
  all.list = {owned(c, grads), c.fresh(found)};
  return all;
}
Returned unscale_in_place(OperatorCall& c) {
  auto [grads, found] = unscaled(c);
  std::vector<TensorId> to = c.tensors("self");
  for (std::size_t i = 0; i < to.size(); ++i) c.write(to[i], grads[i]);
  c.write(c.tensor("found_inf"), found);
  return SourceValue{};
}

/// The new scale and the number of steps since it changed. It shrinks after an infinite gradient,
/// and grows after enough steps without one, as long as it stays finite.
std::pair<Value, Value> next_scale(OperatorCall& c) {
  Value scale = c.value("self"), steps = c.value("growth_tracker");
  const Type type = c.type(scale), count = c.type(steps);
  Value found = c.pointwise(ops::ne, {c.reshape(c.value("found_inf"), {}), 0});
  Value more = c.pointwise(ops::add, {steps, std::int64_t{1}});
  Value enough = c.pointwise(ops::eq, {more, c.integer("growth_interval")});
  Value larger = c.pointwise(ops::mul, {scale, c.real("scale_growth_factor")});
  Value grows = c.pointwise(ops::bit_and, {enough, finite(c, larger)});
  Value none = c.filled(count, std::int64_t{0});
  Value grown = c.build(ops::select, {c.reshape(grows, type.shape), larger, scale});
  Value smaller = c.pointwise(ops::mul, {scale, c.real("scale_backoff_factor")});
  Value now = c.build(ops::select, {enough, none, more});
  return {c.build(ops::select, {found, smaller, grown}), c.build(ops::select, {found, none, now})};
}

Returned update_scale(OperatorCall& c) {
  auto [scale, steps] = next_scale(c);
  return Values{scale, steps};
}
Returned update_scale_in_place(OperatorCall& c) {
  auto [scale, steps] = next_scale(c);
  c.write(c.tensor("self"), scale);
  c.write(c.tensor("growth_tracker"), steps);
  return c.alias(c.tensor("self"));
}

constexpr std::string_view adam_arguments =
    "self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps lr beta1 beta2 weight_decay eps "
    "amsgrad maximize grad_scale found_inf";
constexpr std::string_view sgd_arguments =
    "self grads momentum_buffer_list weight_decay momentum lr dampening nesterov maximize "
    "is_first_step grad_scale found_inf";
constexpr std::string_view adagrad_arguments =
    "self grads state_sums state_steps lr lr_decay weight_decay eps maximize grad_scale found_inf";
constexpr std::string_view scale_arguments =
    "self growth_tracker found_inf scale_growth_factor scale_backoff_factor growth_interval";

constexpr Row optimizer_table[] = {
    {"aten._fused_adam.default", adam_arguments, fused_adam, &ops::adam},
    {"aten._fused_adam.tensor_lr", adam_arguments, fused_adam, &ops::adam},
    {"aten._fused_adamw.default", adam_arguments, fused_adam, &ops::adamw},
    {"aten._fused_adamw.tensor_lr", adam_arguments, fused_adam, &ops::adamw},
    {"aten._fused_sgd.default", sgd_arguments, fused_sgd, &ops::sgd},
    {"aten._fused_sgd.tensor_lr", sgd_arguments, fused_sgd, &ops::sgd},
    {"aten._fused_adam_.default", adam_arguments, fused_adam_in_place, &ops::adam},
    {"aten._fused_adam_.tensor_lr", adam_arguments, fused_adam_in_place, &ops::adam},
    {"aten._fused_adamw_.default", adam_arguments, fused_adam_in_place, &ops::adamw},
    {"aten._fused_adamw_.tensor_lr", adam_arguments, fused_adam_in_place, &ops::adamw},
    {"aten._fused_sgd_.default", sgd_arguments, fused_sgd_in_place, &ops::sgd},
    {"aten._fused_sgd_.tensor_lr", sgd_arguments, fused_sgd_in_place, &ops::sgd},
    {"aten._fused_adagrad.default", adagrad_arguments, fused_adagrad},
    {"aten._fused_adagrad.tensor_lr", adagrad_arguments, fused_adagrad},
    {"aten._fused_adagrad_.default", adagrad_arguments, fused_adagrad_in_place},
    {"aten._fused_adagrad_.tensor_lr", adagrad_arguments, fused_adagrad_in_place},
    {"aten._amp_foreach_non_finite_check_and_unscale.default", "self found_inf inv_scale", unscale},
    {"aten._amp_foreach_non_finite_check_and_unscale_.default", "self found_inf inv_scale",
     unscale_in_place},
    {"aten._amp_update_scale.default", scale_arguments, update_scale},
    {"aten._amp_update_scale_.default", scale_arguments, update_scale_in_place},
};

}  // namespace

std::span<const Row> optimizer_rows() { return optimizer_table; }

}  // namespace hocket::frontend

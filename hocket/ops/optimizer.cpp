// Optimizers on any number of tensors at once: composites that do the same elementwise computation
// on every tensor.

#include "hocket/base/error.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/ops.h"

namespace hocket::ops {
namespace {

using namespace expansion;
using Values = std::vector<Value>;

/// The index of the first operand of each slot.
std::vector<std::size_t> slot_starts(const InferCall& c) {
  std::vector<std::size_t> starts{0};
  for (std::uint32_t size : c.attributes.list_sizes()) starts.push_back(starts.back() + size);
  return starts;
}

/// Slots 1 to `lists` hold one tensor per parameter, of its shape; those named optional may be
/// empty. A parameter and its state are computed in one dtype; gradients are cast to it.
void require_lists(const InferCall& c, std::size_t lists, std::size_t may_be_empty) {
  auto sizes = c.attributes.list_sizes();
  auto starts = slot_starts(c);
  for (std::size_t s = 1; s <= lists; ++s) {
    if (sizes[s] == 0 && s == may_be_empty) continue;
    if (sizes[s] != sizes[0])
      fail("{}: {} {} for {} parameters", c.op.name, sizes[s], c.op.operands[s].name, sizes[0]);
    for (std::size_t i = 0; i < sizes[0]; ++i) {
      const Type &p = *c.inputs[i], &t = *c.inputs[starts[s] + i];
      if (!is_float(p.dtype) || !is_float(t.dtype) || t.shape != p.shape)
        fail("{}: {} {} is {}, its parameter {}", c.op.name, c.op.operands[s].name, i, to_text(t),
             to_text(p));
      if (s > 1 && row(t.dtype).accumulate != row(p.dtype).accumulate)
        fail("{}: {} {} is {}, computed in {}, its parameter {} in {}; wanted one dtype for both",
             c.op.name, c.op.operands[s].name, i, to_text(t), name(row(t.dtype).accumulate),
             to_text(p), name(row(p.dtype).accumulate));
    }
  }
}

void require_scalar(const InferCall& c, std::size_t slot) {
  auto starts = slot_starts(c);
  for (std::size_t i = starts[slot]; i < starts[slot + 1]; ++i) {
    const Type& t = *c.inputs[i];
    bool fits =
        t.shape.empty() &&
        (is_float(t.dtype) || (c.op.operands[slot].name == "skip" && t.dtype == DType::boolean));
    if (!fits)
      fail("{}: {} is {}, wanted one number", c.op.name, c.op.operands[slot].name, to_text(t));
  }
}

std::vector<Type> results_like(const InferCall& c, std::initializer_list<std::size_t> slots) {
  auto starts = slot_starts(c);
  std::vector<Type> types;
  for (std::size_t s : slots)
    for (std::size_t i = starts[s]; i < starts[s + 1]; ++i) types.push_back(*c.inputs[i]);
  return types;
}

/// The preparation of a gradient for sgd and adam, in the parameter's compute dtype.
Value prepared(ExpandCall& c, std::size_t i, std::size_t scale_slot, Value p, bool decay) {
  DType wide = c.type(p).dtype;
  Value g = cast_to(c, c.slot(1)[i], wide);
  if (c.has(scale_slot)) g = div(c.at, g, cast_to(c, c.operand(scale_slot), wide));
  if (c.attr<bool>("maximize")) g = neg(c.at, g);
  if (decay && c.attr<double>("weight_decay") != 0)
    g = add(c.at, g, both(c, mul, p, c.attr<double>("weight_decay")));
  return g;
}

/// New values, or the old ones where the step is skipped, in their own dtype.
Value settled(ExpandCall& c, std::size_t skip_slot, Value old, Value now) {
  now = cast_to(c, now, c.type(old).dtype);
  if (!c.has(skip_slot)) return now;
  Value skip = c.operand(skip_slot);
  if (c.type(skip).dtype != DType::boolean) skip = both(c, ne, skip, 0.0);
  return select(c.at, skip, old, now);
}

// ---- sgd: parameters, gradients, momenta, lr, scale, skip

std::vector<Type> infer_sgd(const InferCall& c) {
  require_lists(c, 2, 2);
  for (std::size_t s : {3, 4, 5}) require_scalar(c, s);
  bool needs = c.attr<double>("momentum") != 0;
  if (needs != (c.attributes.list_sizes()[2] > 0) && c.attributes.list_sizes()[0] > 0)
    fail("sgd: momentum {} with {} momenta", c.attr<double>("momentum"),
         c.attributes.list_sizes()[2]);
  return results_like(c, {0, 2});
}

Values expand_sgd(ExpandCall& c) {
  double momentum = c.attr<double>("momentum");
  Values parameters, momenta;
  for (std::size_t i = 0; i < c.slot(0).size(); ++i) {
    Value old = c.slot(0)[i], p = widened(c, old);
    Value g = prepared(c, i, 4, p, true), step = g;
    if (momentum != 0) {
      Value buffer = widened(c, c.slot(2)[i]), moved = g;
      if (!c.attr<bool>("first"))
        moved = add(c.at, both(c, mul, buffer, momentum),
                    both(c, mul, g, 1 - c.attr<double>("dampening")));
      step = c.attr<bool>("nesterov") ? add(c.at, g, both(c, mul, moved, momentum)) : moved;
      momenta.push_back(settled(c, 5, c.slot(2)[i], moved));
    }
    Value lr = cast_to(c, c.operand(3), c.type(p).dtype);
    parameters.push_back(settled(c, 5, old, sub(c.at, p, both(c, mul, step, lr))));
  }
  parameters.insert(parameters.end(), momenta.begin(), momenta.end());
  return parameters;
}

// ---- adam: parameters, gradients, first and second moments, largest second moments, steps, lr,
// scale, skip

std::vector<Type> infer_adam(const InferCall& c) {
  require_lists(c, 4, 4);
  auto sizes = c.attributes.list_sizes();
  if (sizes[5] != sizes[0]) fail("{}: {} steps for {} parameters", c.op.name, sizes[5], sizes[0]);
  for (std::size_t s : {5, 6, 7, 8}) require_scalar(c, s);
  return results_like(c, {0, 2, 3, 4});
}

/// 1 - beta^step, in f64 because of cancellation where beta^step is near 1.
Value correction(ExpandCall& c, Value step, double beta) {
  Value power = pow(c.at, scalar(c, DType::f64, beta), cast_to(c, step, DType::f64));
  return sub(c.at, scalar(c, DType::f64, 1), power);
}

Values expand_adam_with(ExpandCall& c, bool decoupled) {
  double b1 = c.attr<double>("beta1"), b2 = c.attr<double>("beta2");
  Values parameters, firsts, seconds, largest;
  for (std::size_t i = 0; i < c.slot(0).size(); ++i) {
    Value old = c.slot(0)[i], p = widened(c, old);
    DType wide = c.type(p).dtype;
    Value lr = cast_to(c, c.operand(6), wide);
    Value g = prepared(c, i, 7, p, !decoupled);
    double decay = c.attr<double>("weight_decay");
    if (decoupled && decay != 0)
      p = both(c, mul, p, sub(c.at, scalar(c, wide, 1), mul(c.at, lr, scalar(c, wide, decay))));
    Value m = widened(c, c.slot(2)[i]), v = widened(c, c.slot(3)[i]);
    m = add(c.at, m, both(c, mul, sub(c.at, g, m), 1 - b1));
    v = add(c.at, both(c, mul, v, b2), both(c, mul, mul(c.at, g, g), 1 - b2));
    Value scale = v;
    if (!c.slot(4).empty()) {
      scale = maximum(c.at, widened(c, c.slot(4)[i]), v);
      largest.push_back(settled(c, 8, c.slot(4)[i], scale));
    }
    Value step = c.slot(5)[i];
    Value rate = cast_to(c, div(c.at, cast_to(c, lr, DType::f64), correction(c, step, b1)), wide);
    Value root = cast_to(c, sqrt(c.at, correction(c, step, b2)), wide);
    Value below = both(c, add, both(c, div, sqrt(c.at, scale), root), c.attr<double>("eps"));
    p = sub(c.at, p, both(c, mul, div(c.at, m, below), rate));
    parameters.push_back(settled(c, 8, old, p));
    firsts.push_back(settled(c, 8, c.slot(2)[i], m));
    seconds.push_back(settled(c, 8, c.slot(3)[i], v));
  }
  for (const Values& list : {firsts, seconds, largest})
    parameters.insert(parameters.end(), list.begin(), list.end());
  return parameters;
}

// ---- one division for many tensors

std::vector<Type> infer_div_each(const InferCall& c) {
  std::vector<Type> types = results_like(c, {0});
  const Type& d = *c.inputs.back();
  for (const Type& t : types)
    if (!is_float(t.dtype) || d != Type{t.dtype, false, {}})
      fail("div_each: {} divided by {}, wanted floats and one number of their dtype", to_text(t),
           to_text(d));
  return types;
}

Values expand_div_each(ExpandCall& c) {
  Values results;
  for (Value x : c.slot(0)) results.push_back(div(c.at, x, c.operand(1)));
  return results;
}

constexpr OperandSpec parameters{"parameters", Count::many}, gradients{"gradients", Count::many};
constexpr OperandSpec scale{"scale", Count::optional}, skip{"skip", Count::optional};
constexpr AttributeSpec weight_decay{"weight_decay", AttributeKind::real,
                                     "pull of the parameters towards zero", 0.0};
constexpr AttributeSpec maximize{"maximize", AttributeKind::flag, "go up instead of down", false};
constexpr RecordList<OperandSpec, 12> adam_operands{parameters,
                                                    gradients,
                                                    {"m", Count::many},
                                                    {"v", Count::many},
                                                    {"v_max", Count::many},
                                                    {"steps", Count::many},
                                                    {"lr"},
                                                    scale,
                                                    skip};
constexpr RecordList<AttributeSpec, 12> adam_attributes{
    {"beta1", AttributeKind::real, "share of the past in m", 0.9},
    {"beta2", AttributeKind::real, "share of the past in v", 0.999},
    {"eps", AttributeKind::real, "added to the root", 1e-8},
    weight_decay,
    maximize};

}  // namespace

constinit const Op sgd{
    .name = "sgd",
    .doc =
        "parameters less lr times gradients divided by scale, with momentum; new parameters and "
        "momenta; the old ones where skip is not zero",
    .operands = {parameters, gradients, {"momenta", Count::many}, {"lr"}, scale, skip},
    .attributes = {{"momentum", AttributeKind::real, "share of the past", 0.0},
                   {"dampening", AttributeKind::real, "less of the gradient in the momentum", 0.0},
                   weight_decay,
                   {"nesterov", AttributeKind::flag, "look ahead", false},
                   maximize,
                   {"first", AttributeKind::flag, "the momenta start as the gradients", false}},
    .infer = infer_sgd,
    .expand = expand_sgd,
    .is_optimizer = true};

constinit const Op adam{
    .name = "adam",
    .doc =
        "Adam with decay in the gradient; steps count this one; v_max empty or amsgrad's; new "
        "parameters, m, v and v_max; the old ones where skip is not zero",
    .operands = adam_operands,
    .attributes = adam_attributes,
    .infer = infer_adam,
    .expand = [](ExpandCall& c) { return expand_adam_with(c, false); },
    .is_optimizer = true};

constinit const Op adamw{.name = "adamw",
                         .doc = "Adam with decay of the parameters themselves; otherwise as adam",
                         .operands = adam_operands,
                         .attributes = adam_attributes,
                         .infer = infer_adam,
                         .expand = [](ExpandCall& c) { return expand_adam_with(c, true); },
                         .is_optimizer = true};

constinit const Op div_each{.name = "div_each",
                            .doc = "every x divided by d",
                            .operands = {{"xs", Count::many}, {"d"}},
                            .infer = infer_div_each,
                            .expand = expand_div_each};

}  // namespace hocket::ops

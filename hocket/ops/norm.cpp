// Softmax and the normalisations: composites, with their gradients. They compute in the accumulate
// dtype and round once at the end.

#include "hocket/base/error.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/ops.h"

namespace hocket::ops {
namespace {

using namespace expansion;
using Values = std::vector<Value>;

constexpr AttributeSpec eps{"eps", AttributeKind::real, "added before the root", 1e-5};

// ---- softmax

std::vector<Type> infer_softmax(const InferCall& c) {
  std::vector<Type> types = same_floating(c);
  require_dims(c, {c.attr<std::int64_t>("dim")}, types[0].shape.size());
  for (const Type* t : c.inputs)
    if (t->shape != types[0].shape)
      fail("{}: operands are {} and {}", c.op.name, to_text(*c.inputs[0]), to_text(*t));
  return types;
}

bool is_empty(ExpandCall& c) { return c.types[0].elements() == 0; }

/// x minus its maximum along the dimension.
Value shifted(ExpandCall& c, Value x, const Ints& dim) {
  return both(c, sub, x, reduced(c, max, x, dim, true));
}

Values expand_softmax(ExpandCall& c) {
  Ints dim{c.attr<std::int64_t>("dim")};
  if (is_empty(c)) return {c.inputs[0]};
  Value e = exp(c.at, shifted(c, widened(c, c.inputs[0]), dim));
  return {narrowed(c, both(c, div, e, reduced(c, sum, e, dim, true)), 0)};
}

Values expand_log_softmax(ExpandCall& c) {
  Ints dim{c.attr<std::int64_t>("dim")};
  if (is_empty(c)) return {c.inputs[0]};
  Value d = shifted(c, widened(c, c.inputs[0]), dim);
  Value total = log(c.at, reduced(c, sum, exp(c.at, d), dim, true));
  return {narrowed(c, both(c, sub, d, total), 0)};
}

Values expand_softmax_grad(ExpandCall& c) {
  Ints dim{c.attr<std::int64_t>("dim")};
  Value dy = widened(c, c.inputs[0]), y = widened(c, c.inputs[1]);
  Value dot = reduced(c, sum, mul(c.at, dy, y), dim, true);
  return {narrowed(c, mul(c.at, both(c, sub, dy, dot), y), 0)};
}

Values expand_log_softmax_grad(ExpandCall& c) {
  Ints dim{c.attr<std::int64_t>("dim")};
  Value dy = widened(c, c.inputs[0]), y = widened(c, c.inputs[1]);
  Value total = reduced(c, sum, dy, dim, true);
  return {narrowed(c, sub(c.at, dy, both(c, mul, exp(c.at, y), total)), 0)};
}

// ---- over the last dimensions

std::size_t trailing(const InferCall& c) {
  auto over = c.attr<std::int64_t>("over");
  if (over < 1 || over > static_cast<std::int64_t>(c.inputs[0]->shape.size()))
    fail("{}: over {} of the dimensions of {}", c.op.name, over, to_text(*c.inputs[0]));
  return static_cast<std::size_t>(over);
}

Shape last_dims(const Shape& x, std::size_t over) {
  return Shape(std::span<const std::int64_t>(x.end() - over, over));
}

Shape kept_stats(const Shape& x, std::size_t over) {
  Shape s = x;
  for (std::size_t i = 0; i < over; ++i) s[s.size() - 1 - i] = 1;
  return s;
}

/// Weight and bias are optional; checks the types of those given.
void require_weights(const InferCall& c, std::size_t first, std::size_t slots, const Type& wanted) {
  std::size_t at = 0;
  auto sizes = c.attributes.list_sizes();
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    for (std::uint32_t i = 0; i < sizes[s]; ++i, ++at)
      if (s >= first && s < first + slots && *c.inputs[at] != wanted)
        fail("{}: {} is {}, wanted {}", c.op.name, c.op.operands[s].name, to_text(*c.inputs[at]),
             to_text(wanted));
  }
}

void require_floats(const InferCall& c, const Type& x) {
  if (!is_float(x.dtype)) fail("{}: operand is {}, wanted floats", c.op.name, to_text(x));
}

DType stats_dtype(const Type& x) { return row(x.dtype).accumulate; }

std::vector<Type> infer_layer_norm(const InferCall& c) {
  const Type& x = *c.inputs[0];
  require_floats(c, x);
  std::size_t over = trailing(c);
  require_weights(c, 1, 2, {x.dtype, false, last_dims(x.shape, over)});
  Type stats{stats_dtype(x), false, kept_stats(x.shape, over)};
  return {x, stats, stats};
}

Ints last_axes(ExpandCall& c, const Shape& x) {
  Ints dims;
  auto over = c.attr<std::int64_t>("over");
  for (std::int64_t i = static_cast<std::int64_t>(x.size()) - over;
       i < static_cast<std::int64_t>(x.size()); ++i)
    dims.push_back(i);
  return dims;
}

Ints first_axes(ExpandCall& c, const Shape& x) {
  Ints dims;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()) - c.attr<std::int64_t>("over");
       ++i)
    dims.push_back(i);
  return dims;
}

Value inverse_root(ExpandCall& c, Value variance) {
  return rsqrt(c.at, both(c, add, variance, c.attr<double>("eps")));
}

Value scaled(ExpandCall& c, Value y, std::size_t weight) {
  return c.has(weight) ? both(c, mul, y, widened(c, c.operand(weight))) : y;
}

Values expand_layer_norm(ExpandCall& c) {
  Value x = widened(c, c.inputs[0]);
  Ints dims = last_axes(c, c.types[0].shape);
  Value center = reduced(c, mean, x, dims, true);
  Value d = both(c, sub, x, center);
  Value rstd = inverse_root(c, reduced(c, mean, mul(c.at, d, d), dims, true));
  Value y = scaled(c, both(c, mul, d, rstd), 1);
  if (c.has(2)) y = both(c, add, y, widened(c, c.operand(2)));
  return {narrowed(c, y, 0), center, rstd};
}

std::vector<Type> infer_layer_norm_grad(const InferCall& c) {
  const Type &dy = *c.inputs[0], &x = *c.inputs[1];
  if (dy != x) fail("{}: gradient is {}, x is {}", c.op.name, to_text(dy), to_text(x));
  require_floats(c, x);
  std::size_t over = trailing(c);
  Type weight{x.dtype, false, last_dims(x.shape, over)},
      stats{stats_dtype(x), false, kept_stats(x.shape, over)};
  if (dy != x || *c.inputs[2] != stats || *c.inputs[3] != stats)
    fail("layer_norm_grad: {}, {}, {} and {} do not fit", to_text(dy), to_text(x),
         to_text(*c.inputs[2]), to_text(*c.inputs[3]));
  require_weights(c, 4, 1, weight);
  return {x, weight, weight};
}

Values expand_layer_norm_grad(ExpandCall& c) {
  Value dy = widened(c, c.operand(0)), x = widened(c, c.operand(1)), rstd = c.operand(3);
  const Shape shape = c.types[0].shape;
  Ints dims = last_axes(c, shape), rows = first_axes(c, shape);
  Value hat = both(c, mul, both(c, sub, x, c.operand(2)), rstd);
  Value g = scaled(c, dy, 4);
  Value even = reduced(c, mean, g, dims, true),
        along = reduced(c, mean, mul(c.at, g, hat), dims, true);
  Value dx = both(c, mul, sub(c.at, both(c, sub, g, even), both(c, mul, hat, along)), rstd);
  Value dw = reduced(c, sum, mul(c.at, dy, hat), rows, false),
        db = reduced(c, sum, dy, rows, false);
  return {narrowed(c, dx, 0), narrowed(c, dw, 1), narrowed(c, db, 2)};
}

std::vector<Type> infer_rms_norm(const InferCall& c) {
  const Type& x = *c.inputs[0];
  require_floats(c, x);
  std::size_t over = trailing(c);
  require_weights(c, 1, 1, {x.dtype, false, last_dims(x.shape, over)});
  return {x, {stats_dtype(x), false, kept_stats(x.shape, over)}};
}

Values expand_rms_norm(ExpandCall& c) {
  Value x = widened(c, c.inputs[0]);
  Value rstd =
      inverse_root(c, reduced(c, mean, mul(c.at, x, x), last_axes(c, c.types[0].shape), true));
  return {narrowed(c, scaled(c, both(c, mul, x, rstd), 1), 0), rstd};
}

std::vector<Type> infer_rms_norm_grad(const InferCall& c) {
  const Type &dy = *c.inputs[0], &x = *c.inputs[1];
  if (dy != x) fail("{}: gradient is {}, x is {}", c.op.name, to_text(dy), to_text(x));
  require_floats(c, x);
  std::size_t over = trailing(c);
  Type weight{x.dtype, false, last_dims(x.shape, over)};
  if (dy != x || *c.inputs[2] != Type{stats_dtype(x), false, kept_stats(x.shape, over)})
    fail("rms_norm_grad: {}, {} and {} do not fit", to_text(dy), to_text(x), to_text(*c.inputs[2]));
  require_weights(c, 3, 1, weight);
  return {x, weight};
}

Values expand_rms_norm_grad(ExpandCall& c) {
  Value dy = widened(c, c.operand(0)), x = widened(c, c.operand(1)), rstd = c.operand(2);
  const Shape shape = c.types[0].shape;
  Value hat = both(c, mul, x, rstd), g = scaled(c, dy, 3);
  Value along = reduced(c, mean, mul(c.at, g, hat), last_axes(c, shape), true);
  Value dx = both(c, mul, sub(c.at, g, both(c, mul, hat, along)), rstd);
  Value dw = reduced(c, sum, mul(c.at, dy, hat), first_axes(c, shape), false);
  return {narrowed(c, dx, 0), narrowed(c, dw, 1)};
}

// ---- over everything but the channels, dimension 1

Shape per_channel(const InferCall& c, const Type& x) {
  require_floats(c, x);
  if (x.shape.size() < 2)
    fail("{}: operand is {}, wanted [batch, channels, ...]", c.op.name, to_text(x));
  return {x.shape[1]};
}

std::vector<Type> infer_batch_norm(const InferCall& c) {
  const Type& x = *c.inputs[0];
  Shape channels = per_channel(c, x);
  Type weight{x.dtype, false, channels}, stats{stats_dtype(x), false, channels};
  require_weights(c, 1, 2, weight);
  require_weights(c, 3, 2, stats);
  auto sizes = c.attributes.list_sizes();
  if (sizes[3] != sizes[4]) fail("batch_norm: one running statistic without the other");
  if (channels[0] > 0 && x.elements() / channels[0] < 2)
    fail("batch_norm: {} has one value per channel", to_text(x));
  std::vector<Type> types{x, stats, stats};
  if (sizes[3] == 1) types.insert(types.end(), {stats, stats});
  return types;
}

Ints other_axes(const Shape& x) {
  Ints dims{0};
  for (std::size_t i = 2; i < x.size(); ++i) dims.push_back(static_cast<std::int64_t>(i));
  return dims;
}

/// One value per channel, in the shape [1, channels, 1, ...].
Value by_channel(ExpandCall& c, Value v, const Shape& x) {
  Shape shape(x.size(), 1);
  shape[1] = x[1];
  return reshaped(c, widened(c, v), shape);
}

Value blended(ExpandCall& c, Value old, Value now) {
  double momentum = c.attr<double>("momentum");
  return add(c.at, both(c, mul, old, 1 - momentum), both(c, mul, now, momentum));
}

Values expand_batch_norm(ExpandCall& c) {
  const Shape shape = c.types[0].shape;
  Ints dims = other_axes(shape);
  Value x = widened(c, c.inputs[0]);
  Value center = reduced(c, mean, x, dims, false);
  Value d = both(c, sub, x, by_channel(c, center, shape));
  Value variance = reduced(c, mean, mul(c.at, d, d), dims, false);
  Value invstd = inverse_root(c, variance);
  Value y = both(c, mul, d, by_channel(c, invstd, shape));
  if (c.has(1)) y = both(c, mul, y, by_channel(c, c.operand(1), shape));
  if (c.has(2)) y = both(c, add, y, by_channel(c, c.operand(2), shape));
  Values results{narrowed(c, y, 0), center, invstd};
  if (c.has(3)) {
    // The running variance is the unbiased one.
    double n = static_cast<double>(c.types[0].elements()) /
               static_cast<double>(std::max<std::int64_t>(1, shape[1]));
    results.push_back(blended(c, c.operand(3), center));
    results.push_back(blended(c, c.operand(4), both(c, mul, variance, n / (n - 1))));
  }
  return results;
}

std::vector<Type> infer_batch_norm_eval(const InferCall& c) {
  const Type& x = *c.inputs[0];
  Shape channels = per_channel(c, x);
  require_weights(c, 1, 2, {stats_dtype(x), false, channels});
  require_weights(c, 3, 2, {x.dtype, false, channels});
  return {x};
}

Values expand_batch_norm_eval(ExpandCall& c) {
  const Shape shape = c.types[0].shape;
  Value d = both(c, sub, widened(c, c.operand(0)), by_channel(c, c.operand(1), shape));
  Value y = both(c, mul, d, by_channel(c, inverse_root(c, c.operand(2)), shape));
  if (c.has(3)) y = both(c, mul, y, by_channel(c, c.operand(3), shape));
  if (c.has(4)) y = both(c, add, y, by_channel(c, c.operand(4), shape));
  return {narrowed(c, y, 0)};
}

std::vector<Type> infer_batch_norm_grad(const InferCall& c) {
  const Type &dy = *c.inputs[0], &x = *c.inputs[1];
  Shape channels = per_channel(c, x);
  Type weight{x.dtype, false, channels}, stats{stats_dtype(x), false, channels};
  if (dy != x || *c.inputs[2] != stats || *c.inputs[3] != stats)
    fail("batch_norm_grad: {}, {}, {} and {} do not fit", to_text(dy), to_text(x),
         to_text(*c.inputs[2]), to_text(*c.inputs[3]));
  require_weights(c, 4, 1, weight);
  return {x, weight, weight};
}

Values expand_batch_norm_grad(ExpandCall& c) {
  const Shape shape = c.types[0].shape;
  Ints dims = other_axes(shape);
  Value dy = widened(c, c.operand(0)), x = widened(c, c.operand(1)),
        invstd = by_channel(c, c.operand(3), shape);
  Value hat = both(c, mul, both(c, sub, x, by_channel(c, c.operand(2), shape)), invstd);
  Value even = reduced(c, mean, dy, dims, true),
        along = reduced(c, mean, mul(c.at, dy, hat), dims, true);
  Value dx = both(c, mul, sub(c.at, both(c, sub, dy, even), both(c, mul, hat, along)), invstd);
  if (c.has(4)) dx = both(c, mul, dx, by_channel(c, c.operand(4), shape));
  Value dw = reduced(c, sum, mul(c.at, dy, hat), dims, false),
        db = reduced(c, sum, dy, dims, false);
  return {narrowed(c, dx, 0), narrowed(c, dw, 1), narrowed(c, db, 2)};
}

constexpr AttributeSpec softmax_dim{"dim", AttributeKind::integer,
                                    "the dimension that adds up to one"};
constexpr AttributeSpec over{"over", AttributeKind::integer, "how many of the last dimensions",
                             std::int64_t{1}};

}  // namespace

constinit const Op softmax{.name = "softmax",
                           .doc = "exp(x) / sum(exp(x)) along a dimension, without overflow",
                           .operands = {{"x"}},
                           .attributes = {softmax_dim},
                           .infer = infer_softmax,
                           .expand = expand_softmax};

constinit const Op softmax_grad{.name = "softmax_grad",
                                .doc = "gradient of softmax from its result y",
                                .operands = {{"dy"}, {"y"}},
                                .attributes = {softmax_dim},
                                .infer = infer_softmax,
                                .expand = expand_softmax_grad};

constinit const Op log_softmax{.name = "log_softmax",
                               .doc = "the logarithm of softmax",
                               .operands = {{"x"}},
                               .attributes = {softmax_dim},
                               .infer = infer_softmax,
                               .expand = expand_log_softmax};

constinit const Op log_softmax_grad{.name = "log_softmax_grad",
                                    .doc = "gradient of log_softmax from its result y",
                                    .operands = {{"dy"}, {"y"}},
                                    .attributes = {softmax_dim},
                                    .infer = infer_softmax,
                                    .expand = expand_log_softmax_grad};

constinit const Op layer_norm{
    .name = "layer_norm",
    .doc =
        "(x - mean) / sqrt(variance + eps) over the last dimensions, times weight, plus bias; also "
        "mean and 1 / root",
    .operands = {{"x"}, {"weight", Count::optional}, {"bias", Count::optional}},
    .attributes = {over, eps},
    .infer = infer_layer_norm,
    .expand = expand_layer_norm};

constinit const Op layer_norm_grad{
    .name = "layer_norm_grad",
    .doc = "gradients of layer_norm by x, weight and bias",
    .operands = {{"dy"}, {"x"}, {"mean"}, {"rstd"}, {"weight", Count::optional}},
    .attributes = {over},
    .infer = infer_layer_norm_grad,
    .expand = expand_layer_norm_grad};

constinit const Op rms_norm{
    .name = "rms_norm",
    .doc = "x / sqrt(mean(x x) + eps) over the last dimensions, times weight; also 1 / root",
    .operands = {{"x"}, {"weight", Count::optional}},
    .attributes = {over, eps},
    .infer = infer_rms_norm,
    .expand = expand_rms_norm};

constinit const Op rms_norm_grad{.name = "rms_norm_grad",
                                 .doc = "gradients of rms_norm by x and weight",
                                 .operands = {{"dy"}, {"x"}, {"rstd"}, {"weight", Count::optional}},
                                 .attributes = {over},
                                 .infer = infer_rms_norm_grad,
                                 .expand = expand_rms_norm_grad};

constinit const Op batch_norm{
    .name = "batch_norm",
    .doc =
        "(x - mean) / sqrt(variance + eps) over all dimensions but the second, times weight, plus "
        "bias; also mean, 1 / root, and the running statistics moved on",
    .operands = {{"x"},
                 {"weight", Count::optional},
                 {"bias", Count::optional},
                 {"running_mean", Count::optional},
                 {"running_var", Count::optional}},
    .attributes = {{"momentum", AttributeKind::real,
                    "share of this batch in the running statistics", 0.1},
                   eps},
    .infer = infer_batch_norm,
    .expand = expand_batch_norm};

constinit const Op batch_norm_eval{
    .name = "batch_norm_eval",
    .doc = "batch_norm with given statistics",
    .operands = {{"x"}, {"mean"}, {"var"}, {"weight", Count::optional}, {"bias", Count::optional}},
    .attributes = {eps},
    .infer = infer_batch_norm_eval,
    .expand = expand_batch_norm_eval};

constinit const Op batch_norm_grad{
    .name = "batch_norm_grad",
    .doc = "gradients of batch_norm by x, weight and bias",
    .operands = {{"dy"}, {"x"}, {"mean"}, {"invstd"}, {"weight", Count::optional}},
    .infer = infer_batch_norm_grad,
    .expand = expand_batch_norm_grad};

}  // namespace hocket::ops

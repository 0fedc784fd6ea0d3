// Norms over the last dimensions and over groups of channels.

#include <limits>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

std::int64_t over(const OperatorCall& c) {
  return static_cast<std::int64_t>(c.ints("normalized_shape").size());
}

std::vector<Value> cast_slot(OperatorCall& c, Value v, DType dtype) {
  return v ? slot(c.cast(v, dtype)) : slot(v);
}

/// The dtype of the gradient of an optional weight.
DType weight_dtype(const OperatorCall& c, Value weight, Value x) {
  return c.type(weight ? weight : x).dtype;
}

// ---- layer norm

std::vector<Value> layer_normed(OperatorCall& c) {
  Value x = c.value("input"), w = optional_value(c, "weight"), b = optional_value(c, "bias");
  DType out = c.type(x).dtype, dtype = common_dtype(c, {x, w, b});
  std::vector<Value> y = c.build_lists(
      ops::layer_norm, {{c.cast(x, dtype)}, cast_slot(c, w, dtype), cast_slot(c, b, dtype)},
      {{"over", over(c)}, {"eps", c.real("eps", 1e-5)}});
  y[0] = c.cast(y[0], out);
  return y;
}

Returned layer_norm(OperatorCall& c) { return layer_normed(c)[0]; }

/// Statistics have the dtype given in the file: on CPUs they are 16-bit floats if all operands are.
Returned native_layer_norm(OperatorCall& c) {
  std::vector<Value> y = layer_normed(c);
  for (std::size_t i : {1, 2}) y[i] = as_result(c, y[i], i, c.type(y[i]).dtype);
  return y;
}

Returned native_layer_norm_backward(OperatorCall& c) {
  Value dy = c.value("grad_out"), x = c.value("input"), w = optional_value(c, "weight");
  DType dtype = common_dtype(c, {x, dy, w}), stats = row(dtype).accumulate;
  Value mean = c.cast(c.value("mean"), stats), rstd = c.cast(c.value("rstd"), stats);
  std::vector<Value> d = c.build_lists(
      ops::layer_norm_grad,
      {{c.cast(dy, dtype)}, {c.cast(x, dtype)}, {mean}, {rstd}, cast_slot(c, w, dtype)},
      {{"over", over(c)}});
  d[0] = c.cast(d[0], c.type(x).dtype);
  for (std::size_t i : {1, 2}) d[i] = as_result(c, d[i], i, weight_dtype(c, w, x));
  return masked(c, std::move(d), "output_mask");
}

// ---- root mean square

/// The default is the machine epsilon of the wide dtype.
double rms_eps(const OperatorCall& c, DType dtype) {
  bool twice = wide_dtype(dtype) == DType::f64;
  return c.real("eps", twice ? std::numeric_limits<double>::epsilon()
                             : double{std::numeric_limits<float>::epsilon()});
}

std::vector<Value> rms_normed(OperatorCall& c) {
  Value x = c.value("input"), w = optional_value(c, "weight");
  DType out = c.type(x).dtype, dtype = common_dtype(c, {x, w});
  std::vector<Value> y = c.build_lists(ops::rms_norm, {{c.cast(x, dtype)}, cast_slot(c, w, dtype)},
                                       {{"over", over(c)}, {"eps", rms_eps(c, out)}});
  y[0] = as_result(c, y[0], 0, out);
  return y;
}

Returned rms_norm(OperatorCall& c) { return rms_normed(c)[0]; }

Returned fused_rms_norm(OperatorCall& c) {
  std::vector<Value> y = rms_normed(c);
  y[1] = as_result(c, y[1], 1, c.type(y[1]).dtype);
  return y;
}

Returned fused_rms_norm_backward(OperatorCall& c) {
  Value dy = c.value("grad_out"), x = c.value("input"), w = optional_value(c, "weight");
  DType dtype = common_dtype(c, {x, dy, w});
  Value rstd = c.cast(c.value("rstd"), row(dtype).accumulate);
  std::vector<Value> d = c.build_lists(
      ops::rms_norm_grad, {{c.cast(dy, dtype)}, {c.cast(x, dtype)}, {rstd}, cast_slot(c, w, dtype)},
      {{"over", over(c)}});
  d[0] = c.cast(d[0], c.type(x).dtype);
  d[1] = as_result(c, d[1], 1, weight_dtype(c, w, x));
  return masked(c, std::move(d), "output_mask");
}

// ---- groups of channels: a layer norm of each group without weights, then weights by channel

Shape grouped(const Shape& x, std::int64_t groups) {
  std::int64_t size = x[1] / groups;
  for (std::size_t i = 2; i < x.size(); ++i) size *= x[i];
  return {x[0], groups, size};
}

void require_groups(const OperatorCall& c, const Shape& x, std::int64_t groups) {
  if (x.size() < 2 || groups < 1 || x[1] % groups != 0)
    c.refuse("the channels do not fall into equal groups");
}

std::vector<Value> group_normed(OperatorCall& c, std::string_view groups_name) {
  Value x = c.value("input"), w = optional_value(c, "weight"), b = optional_value(c, "bias");
  const Type type = c.type(x);
  std::int64_t groups = c.integer(groups_name);
  require_groups(c, type.shape, groups);
  Value flat = c.reshape(wide(c, x).value, grouped(type.shape, groups));
  std::vector<Value> y =
      c.build_lists(ops::layer_norm, {{flat}, {}, {}}, {{"eps", c.real("eps", 1e-5)}});
  Expr scaled{&c, c.reshape(y[0], type.shape)};
  std::size_t rank = type.shape.size();
  if (w) scaled = scaled * wide(c, by_channel(c, w, rank));
  if (b) scaled = scaled + wide(c, by_channel(c, b, rank));
  y[0] = c.cast(scaled.value, type.dtype);
  return y;
}

Returned group_norm(OperatorCall& c) { return group_normed(c, "num_groups")[0]; }

Returned native_group_norm(OperatorCall& c) {
  std::vector<Value> y = group_normed(c, "group");
  const Shape stats = {c.type(y[1]).shape[0], c.type(y[1]).shape[1]};
  for (std::size_t i : {1, 2}) y[i] = as_result(c, c.reshape(y[i], stats), i, c.type(y[i]).dtype);
  return y;
}

Returned native_group_norm_backward(OperatorCall& c) {
  Value x_value = c.value("input"), w = optional_value(c, "weight");
  const Type type = c.type(x_value);
  std::int64_t groups = c.integer("group");
  require_groups(c, type.shape, groups);
  std::size_t rank = type.shape.size();
  const Shape flat = grouped(type.shape, groups), stats = {flat[0], flat[1], 1};
  Expr dy = wide(c, "grad_out"), x = wide(c, x_value);
  Expr g = w ? dy * wide(c, by_channel(c, w, rank)) : dy;
  Value mean = c.reshape(wide(c, "mean").value, stats),
        rstd = c.reshape(wide(c, "rstd").value, stats);
  Value flat_x = c.reshape(x.value, flat);
  std::vector<Value> d = c.build_lists(ops::layer_norm_grad,
                                       {{c.reshape(g.value, flat)}, {flat_x}, {mean}, {rstd}, {}});
  Expr hat = (Expr{&c, flat_x} - Expr{&c, mean}) * Expr{&c, rstd};
  Expr along = dy * Expr{&c, c.reshape(hat.value, type.shape)};
  Ints dims = dims_but(rank, 1);
  DType out = weight_dtype(c, w, x_value);
  std::vector<Value> results{c.cast(c.reshape(d[0], type.shape), type.dtype),
                             as_result(c, reduce(ops::sum, along, dims, false).value, 1, out),
                             as_result(c, reduce(ops::sum, dy, dims, false).value, 2, out)};
  return masked(c, std::move(results), "output_mask");
}

constexpr Row norm_table[] = {
    {"aten.layer_norm.default", "input normalized_shape weight bias eps cudnn_enable", layer_norm},
    {"aten.native_layer_norm.default", "input normalized_shape weight bias eps", native_layer_norm},
    {"aten.native_layer_norm_backward.default",
     "grad_out input normalized_shape mean rstd weight bias output_mask",
     native_layer_norm_backward},
    {"aten.rms_norm.default", "input normalized_shape weight eps", rms_norm},
    {"aten._fused_rms_norm.default", "input normalized_shape weight eps", fused_rms_norm},
    {"aten._fused_rms_norm_backward.default",
     "grad_out input normalized_shape rstd weight output_mask", fused_rms_norm_backward},
    {"aten.group_norm.default", "input num_groups weight bias eps cudnn_enabled", group_norm},
    {"aten.native_group_norm.default", "input weight bias N C HxW group eps", native_group_norm},
    {"aten.native_group_norm_backward.default",
     "grad_out input mean rstd weight N C HxW group output_mask", native_group_norm_backward},
};

}  // namespace

std::span<const Row> norm_rows() { return norm_table; }

}  // namespace hocket::frontend::nn

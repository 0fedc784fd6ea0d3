// The variants of batch norm. In training it writes its running statistics, even if the source has
// no node for it.

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

struct BatchNorm {
  Value y, mean, invstd;
  Value running_mean, running_var;  // updated; none where there are none
};

/// The operands of all variants: weights in the dtype of x or everything wide, statistics wide.
struct Operands {
  Value x, weight, bias;
  DType out, stats;
};

Operands operands(OperatorCall& c) {
  Value x = c.value("input"), w = optional_value(c, "weight"), b = optional_value(c, "bias");
  DType out = c.type(x).dtype, dtype = common_dtype(c, {x, w, b});
  if (w) w = c.cast(w, dtype);
  if (b) b = c.cast(b, dtype);
  return {c.cast(x, dtype), w, b, out, row(dtype).accumulate};
}

double epsilon(const OperatorCall& c) { return c.real(c.has("epsilon") ? "epsilon" : "eps", 1e-5); }

double momentum(const OperatorCall& c) {
  return c.real(c.has("momentum") ? "momentum" : "exponential_average_factor", 0.1);
}

BatchNorm of_batch(OperatorCall& c, const Operands& o, Value running_mean, Value running_var) {
  bool moves = running_mean && running_var;
  Value mean = moves ? c.cast(running_mean, o.stats) : Value{},
        var = moves ? c.cast(running_var, o.stats) : Value{};
  std::vector<Value> all =
      c.build_lists(ops::batch_norm, {{o.x}, slot(o.weight), slot(o.bias), slot(mean), slot(var)},
                    {{"momentum", momentum(c)}, {"eps", epsilon(c)}});
  BatchNorm result{c.cast(all[0], o.out), all[1], all[2], {}, {}};
  if (moves) {
    result.running_mean = c.cast(all[3], c.type(running_mean).dtype);
    result.running_var = c.cast(all[4], c.type(running_var).dtype);
  }
  return result;
}

BatchNorm of_batch(OperatorCall& c) {
  return of_batch(c, operands(c), optional_value(c, "running_mean"),
                  optional_value(c, "running_var"));
}

/// Uses the given statistics; the source returns empty ones.
BatchNorm of_statistics(OperatorCall& c) {
  if (!c.has("running_mean") || !c.has("running_var"))
    c.refuse("without training it needs running_mean and running_var");
  Operands o = operands(c);
  Value mean = c.cast(c.value("running_mean"), o.stats),
        var = c.cast(c.value("running_var"), o.stats);
  Value y =
      c.build_lists(ops::batch_norm_eval, {{o.x}, {mean}, {var}, slot(o.weight), slot(o.bias)},
                    {{"eps", epsilon(c)}})[0];
  Value none = c.filled({o.stats, false, {0}}, 0.0);
  return {c.cast(y, o.out), none, none, c.value("running_mean"), c.value("running_var")};
}

BatchNorm normed(OperatorCall& c, bool training) {
  return training ? of_batch(c) : of_statistics(c);
}

std::vector<Value> with_saved(OperatorCall& c, const BatchNorm& n) {
  return {n.y, as_result(c, n.mean, 1, c.type(n.mean).dtype),
          as_result(c, n.invstd, 2, c.type(n.invstd).dtype)};
}

/// A buffer for the gradient that only the source's own kernels read.
Value reserve(OperatorCall& c) {
  const Type* type = result_type(c, 3);
  return c.filled(type != nullptr ? *type : Type{DType::u8, false, {0}}, std::int64_t{0});
}

void write_statistics(OperatorCall& c, const BatchNorm& n) {
  if (!n.running_mean) return;
  c.write(c.tensor("running_mean"), n.running_mean);
  c.write(c.tensor("running_var"), n.running_var);
}

std::vector<Value> writing(OperatorCall& c, bool training) {
  BatchNorm n = normed(c, training);
  if (training) write_statistics(c, n);
  return with_saved(c, n);
}

Returned batch_norm(OperatorCall& c) { return writing(c, c.flag("training"))[0]; }
Returned native_batch_norm(OperatorCall& c) { return writing(c, c.flag("training")); }
Returned no_training(OperatorCall& c) { return with_saved(c, of_statistics(c)); }

Returned functional(OperatorCall& c) {
  BatchNorm n = normed(c, c.flag("training", true));
  std::vector<Value> all = with_saved(c, n);
  if (!c.has("training")) all.push_back(reserve(c));
  all.insert(all.end(), {n.running_mean, n.running_var});
  return all;
}

std::vector<Value> with_reserve(OperatorCall& c, bool training) {
  std::vector<Value> all = writing(c, training);
  all.push_back(reserve(c));
  return all;
}

Returned with_update(OperatorCall& c) { return with_reserve(c, true); }
Returned no_update(OperatorCall& c) { return with_reserve(c, false); }
Returned cudnn_batch_norm(OperatorCall& c) { return with_reserve(c, c.flag("training")); }

/// Normalises every image by itself: a batch norm over the channels of all images. The running
/// statistics become the mean of the updates by each image.
Returned instance_norm(OperatorCall& c) {
  if (!c.flag("use_input_stats")) return of_statistics(c).y;
  Operands o = operands(c);
  const Shape shape = c.type(o.x).shape;
  Shape one = shape;
  if (shape.size() < 2) c.refuse("wanted a batch of channels");
  one[0] = 1;
  one[1] = shape[0] * shape[1];
  auto for_each_image = [&](Value v) {
    return v ? c.reshape(c.broadcast(v, {shape[0], shape[1]}), {one[1]}) : v;
  };
  o.x = c.reshape(o.x, one);
  o.weight = for_each_image(o.weight);
  o.bias = for_each_image(o.bias);
  BatchNorm n = of_batch(c, o, for_each_image(optional_value(c, "running_mean")),
                         for_each_image(optional_value(c, "running_var")));
  for (Value* v : {&n.running_mean, &n.running_var})
    if (*v) *v = c.reduce(ops::mean, c.reshape(*v, {shape[0], shape[1]}), {0}, false);
  write_statistics(c, n);
  return c.reshape(n.y, shape);
}

// ---- gradients

struct Gradient {
  Value dy, x, weight;
  DType dtype;
};

std::vector<Value> trained_gradient(OperatorCall& c, const Gradient& g, std::string_view invstd) {
  DType stats = row(g.dtype).accumulate;
  return c.build_lists(ops::batch_norm_grad, {{c.cast(g.dy, g.dtype)},
                                              {c.cast(g.x, g.dtype)},
                                              {c.cast(c.value("save_mean"), stats)},
                                              {c.cast(c.value(invstd), stats)},
                                              slot(g.weight)});
}

/// With fixed statistics the norm is an affine function per channel.
std::vector<Value> fixed_gradient(OperatorCall& c, const Gradient& g) {
  std::size_t rank = c.type(g.x).shape.size();
  Expr dy = wide(c, g.dy), x = wide(c, g.x);
  auto channel = [&](Value v) { return wide(c, by_channel(c, v, rank)); };
  Expr invstd = apply(ops::rsqrt, channel(c.value("running_var")) + epsilon(c));
  Expr hat = (x - channel(c.value("running_mean"))) * invstd;
  Expr dx = g.weight ? dy * (invstd * channel(g.weight)) : dy * invstd;
  Ints dims = dims_but(rank, 1);
  return {dx.value, reduce(ops::sum, dy * hat, dims, false).value,
          reduce(ops::sum, dy, dims, false).value};
}

std::vector<Value> batch_norm_gradient(OperatorCall& c, std::string_view dy_name, bool trained,
                                       std::string_view invstd) {
  Gradient g{c.value(dy_name), c.value("input"), optional_value(c, "weight"), {}};
  DType out = c.type(g.x).dtype, weight_out = g.weight ? c.type(g.weight).dtype : out;
  g.dtype = common_dtype(c, {g.x, g.dy, g.weight});
  if (g.weight) g.weight = c.cast(g.weight, g.dtype);
  std::vector<Value> d = trained ? trained_gradient(c, g, invstd) : fixed_gradient(c, g);
  d[0] = c.cast(d[0], out);
  for (std::size_t i : {1, 2}) d[i] = as_result(c, d[i], i, weight_out);
  return d;
}

Returned native_batch_norm_backward(OperatorCall& c) {
  return masked(c, batch_norm_gradient(c, "grad_out", c.flag("train"), "save_invstd"),
                "output_mask");
}

Returned batch_norm_backward(OperatorCall& c) {
  return masked(c, batch_norm_gradient(c, "grad_out", c.flag("update"), "save_var"), "output_mask");
}

Returned cudnn_batch_norm_backward(OperatorCall& c) {
  return batch_norm_gradient(c, "grad_output", true, "save_var");
}

constexpr std::string_view full =
    "input weight bias running_mean running_var training momentum eps";
constexpr std::string_view fixed = "input weight bias running_mean running_var momentum eps";

constexpr Row batch_norm_table[] = {
    {"aten.batch_norm.default",
     "input weight bias running_mean running_var training momentum eps cudnn_enabled", batch_norm},
    {"aten.instance_norm.default",
     "input weight bias running_mean running_var use_input_stats momentum eps cudnn_enabled",
     instance_norm},
    {"aten.native_batch_norm.default", full, native_batch_norm},
    {"aten._native_batch_norm_legit.default", full, native_batch_norm},
    {"aten._native_batch_norm_legit.no_stats", "input weight bias training momentum eps",
     native_batch_norm},
    {"aten._native_batch_norm_legit_functional.default", full, functional},
    {"aten._native_batch_norm_legit_no_training.default", fixed, no_training},
    {"aten._batch_norm_with_update.default", fixed, with_update},
    {"aten._batch_norm_with_update_functional.default", fixed, functional},
    {"aten._batch_norm_no_update.default", fixed, no_update},
    {"aten.cudnn_batch_norm.default",
     "input weight bias running_mean running_var training exponential_average_factor epsilon",
     cudnn_batch_norm},
    {"aten.native_batch_norm_backward.default",
     "grad_out input weight running_mean running_var save_mean save_invstd train eps output_mask",
     native_batch_norm_backward},
    {"aten.batch_norm_backward.default",
     "grad_out input weight running_mean running_var save_mean save_var update eps output_mask "
     "reserve",
     batch_norm_backward},
    {"aten.cudnn_batch_norm_backward.default",
     "input grad_output weight running_mean running_var save_mean save_var epsilon reserveSpace",
     cudnn_batch_norm_backward},
};

}  // namespace

std::span<const Row> batch_norm_rows() { return batch_norm_table; }

}  // namespace hocket::frontend::nn

// Convolutions, plain and transposed, and their gradients.

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

struct Window {
  Ints stride, padding, dilation, output_padding;
  std::int64_t groups = 1;
};

Window window(const OperatorCall& c, std::size_t spatial) {
  Window w{per_dim(c, "stride", spatial, 1),
           {},
           per_dim(c, "dilation", spatial, 1),
           per_dim(c, "output_padding", spatial, 0),
           c.integer("groups", 1)};
  const Argument* padding = c.find("padding");
  bool named = padding != nullptr && padding->as<std::string>() != nullptr;
  w.padding = named ? Ints(spatial, 0) : per_dim(c, "padding", spatial, 0);
  return w;
}

/// `padding="same"`: the zeros that keep the size; if their number is odd, the end gets one more.
Value pad_to_keep_size(OperatorCall& c, Value x, Value w, Window& window) {
  const Argument* padding = c.find("padding");
  const std::string* how = padding != nullptr ? padding->as<std::string>() : nullptr;
  if (how == nullptr || *how == "valid") return x;
  if (*how != "same") c.refuse("padding is '" + *how + "', wanted same or valid");
  const Shape kernel = c.type(w).shape;
  Ints none(kernel.size(), 0), more = none;
  for (std::size_t i = 0; i < window.padding.size(); ++i) {
    std::int64_t total = window.dilation[i] * (kernel[i + 2] - 1);
    window.padding[i] = total / 2;
    more[i + 2] = total % 2;
  }
  return padded(c, x, none, more, 0);
}

Value convolved(OperatorCall& c, Value x, Value w, const Window& at, bool transposed) {
  return c.build(ops::conv, {x, w},
                 {{"stride", at.stride},
                  {"padding", at.padding},
                  {"dilation", at.dilation},
                  {"groups", at.groups},
                  {"transposed", transposed},
                  {"output_padding", transposed ? at.output_padding : Ints{}}});
}

Value convolution(OperatorCall& c, bool transposed) {
  Value x = c.value("input"), w = c.value("weight"), bias = optional_value(c, "bias");
  DType dtype = c.type(x).dtype, compute = bias ? wide_dtype(dtype) : dtype;
  std::size_t rank = c.type(w).shape.size();
  if (rank < 3) c.refuse("weight has less than three dimensions");
  bool one_image = c.type(x).shape.size() + 1 == rank;
  if (one_image) {
    Shape shape = c.type(x).shape;
    shape.insert(shape.begin(), 1);
    x = c.reshape(x, shape);
  }
  Window at = window(c, rank - 2);
  x = pad_to_keep_size(c, x, w, at);
  Value y = convolved(c, c.cast(x, compute), c.cast(w, compute), at, transposed);
  if (bias) y = (Expr{&c, y} + wide(c, by_channel(c, bias, rank))).value;
  if (one_image) {
    Shape shape = c.type(y).shape;
    shape.erase(shape.begin());
    y = c.reshape(y, shape);
  }
  return c.cast(y, dtype);
}

Returned plain(OperatorCall& c) { return convolution(c, false); }
Returned transposed(OperatorCall& c) { return convolution(c, true); }
Returned either(OperatorCall& c) { return convolution(c, c.flag("transposed")); }

Value conv_gradient(OperatorCall& c, const Op& op, Value dy, Value other, const Window& at,
                    const Shape& shape) {
  return c.build(op, {dy, other},
                 {{"stride", at.stride},
                  {"padding", at.padding},
                  {"dilation", at.dilation},
                  {"groups", at.groups},
                  {"shape", Ints(shape.begin(), shape.end())}});
}

/// A transposed convolution is the gradient of a plain one from y to x. If output_padding reaches
/// the stride, the window has more positions in y than x has elements; x is padded with zeros
/// there.
Value extended(OperatorCall& c, Value x, const Window& at) {
  Ints none(at.stride.size() + 2, 0), more = none;
  for (std::size_t i = 0; i < at.stride.size(); ++i)
    more[i + 2] = at.output_padding[i] / at.stride[i];
  return padded(c, x, none, more, 0);
}

Value cut_to(OperatorCall& c, Value v, const Shape& shape) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (c.type(v).shape[i] != shape[i]) v = c.slice(v, static_cast<std::int64_t>(i), 0, shape[i]);
  return v;
}

Returned convolution_backward(OperatorCall& c) {
  Value dy = c.value("grad_output"), x = c.value("input"), w = c.value("weight");
  const Shape x_shape = c.type(x).shape, w_shape = c.type(w).shape;
  if (w_shape.size() < 3 || c.type(dy).shape.size() != w_shape.size())
    c.refuse("the gradient and the weight do not fit each other");
  Window at = window(c, w_shape.size() - 2);
  bool turned = c.flag("transposed");
  std::vector<bool> wanted = c.flags("output_mask");
  if (wanted.size() != 3) c.refuse("output_mask must have three items");
  std::vector<Value> results(3);
  if (wanted[0])
    results[0] = turned ? cut_to(c, convolved(c, dy, w, at, false), x_shape)
                        : conv_gradient(c, ops::conv_grad_input, dy, w, at, x_shape);
  if (wanted[1])
    results[1] = turned
                     ? conv_gradient(c, ops::conv_grad_weight, extended(c, x, at), dy, at, w_shape)
                     : conv_gradient(c, ops::conv_grad_weight, dy, x, at, w_shape);
  if (wanted[2]) results[2] = c.reduce(ops::sum, dy, dims_but(c.type(dy).shape.size(), 1), false);
  return results;
}

constexpr std::string_view conv_arguments = "input weight bias stride padding dilation groups";
constexpr std::string_view upward =
    "input weight bias stride padding output_padding groups dilation";
constexpr std::string_view general =
    "input weight bias stride padding dilation transposed output_padding groups";

constexpr Row conv_table[] = {
    {"aten.convolution.default", general, either},
    {"aten.convolution_overrideable.default", general, either},
    {"aten._convolution.default",
     "input weight bias stride padding dilation transposed output_padding groups benchmark "
     "deterministic cudnn_enabled allow_tf32",
     either},
    {"aten._convolution.deprecated",
     "input weight bias stride padding dilation transposed output_padding groups benchmark "
     "deterministic cudnn_enabled",
     either},
    {"aten.conv1d.default", conv_arguments, plain},
    {"aten.conv1d.padding", conv_arguments, plain},
    {"aten.conv2d.default", conv_arguments, plain},
    {"aten.conv2d.padding", conv_arguments, plain},
    {"aten.conv3d.default", conv_arguments, plain},
    {"aten.conv3d.padding", conv_arguments, plain},
    {"aten.conv_transpose1d.default", upward, transposed},
    {"aten.conv_transpose2d.input", upward, transposed},
    {"aten.conv_transpose3d.input", upward, transposed},
    {"aten.convolution_backward.default",
     "grad_output input weight bias_sizes stride padding dilation transposed output_padding groups "
     "output_mask",
     convolution_backward},
};

}  // namespace

std::span<const Row> conv_rows() { return conv_table; }

}  // namespace hocket::frontend::nn

// Activations and their gradients; relu itself is with the plain elementwise operators.

#include <array>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

Expr exp(const Expr& x) { return apply(ops::exp, x); }
Expr tanh(const Expr& x) { return apply(ops::tanh, x); }
Expr sigmoid(const Expr& x) { return apply(ops::sigmoid, x); }
Expr softplus_of(const Expr& x) { return apply(ops::log1p, exp(x)); }

// ---- one op each

Returned one_op(OperatorCall& c) { return c.float_pointwise(*c.row().op, {c.value("self")}); }

Returned one_gradient(OperatorCall& c) {
  return c.float_pointwise(*c.row().op,
                           {c.value("grad_output"), c.value(c.has("output") ? "output" : "self")});
}

bool by_tanh(const OperatorCall& c) {
  std::string how = c.text("approximate", "none");
  if (how != "none" && how != "tanh") c.refuse("approximate is '" + how + "', wanted none or tanh");
  return how == "tanh";
}

Returned gelu(OperatorCall& c) {
  return c.float_pointwise(by_tanh(c) ? ops::gelu_tanh : ops::gelu, {c.value("self")});
}

Returned gelu_backward(OperatorCall& c) {
  return c.float_pointwise(by_tanh(c) ? ops::gelu_tanh_grad : ops::gelu_grad,
                           {c.value("grad_output"), c.value("self")});
}

// ---- composed of exponentials

struct Elu {
  double negative, positive, inner;
};

Value elu_of(OperatorCall& c, const Elu& e) {
  return activation(c, [&](const Expr& x) {
    return select(x <= 0.0, apply(ops::expm1, x * e.inner) * e.negative, x * e.positive);
  });
}

Elu elu_numbers(const OperatorCall& c) {
  double scale = c.real("scale", 1);
  return {c.real("alpha", 1) * scale, scale, c.real("input_scale", 1)};
}

Returned elu(OperatorCall& c) { return elu_of(c, elu_numbers(c)); }

Returned selu(OperatorCall& c) {
  constexpr double alpha = 1.6732632423543772848170429916717;
  constexpr double scale = 1.0507009873554804934193349852946;
  return elu_of(c, {alpha * scale, scale, 1});
}

Returned celu(OperatorCall& c) {
  double alpha = c.real("alpha", 1);
  return elu_of(c, {alpha, 1, 1 / alpha});
}

Returned elu_backward(OperatorCall& c) {
  Elu e = elu_numbers(c);
  bool is_result = c.flag("is_result");
  return gradient(c, "grad_output", "self_or_result", [&](const Expr& g, const Expr& x) {
    Expr slope = is_result ? (x + e.negative) * e.inner : exp(x * e.inner) * (e.inner * e.negative);
    return select(x <= 0.0, g * slope, g * e.positive);
  });
}

Returned softplus(OperatorCall& c) {
  double beta = c.real("beta", 1), threshold = c.real("threshold", 20);
  return activation(c, [&](const Expr& x) {
    Expr z = x * beta;
    return select(z > threshold, x, softplus_of(z) / beta);
  });
}

Returned softplus_backward(OperatorCall& c) {
  double beta = c.real("beta", 1), threshold = c.real("threshold", 20);
  return gradient(c, [&](const Expr& g, const Expr& x) {
    Expr z = x * beta, e = exp(z);
    return select(z > threshold, g, g * e / (e + 1.0));
  });
}

Returned mish(OperatorCall& c) {
  return activation(c, [](const Expr& x) { return x * tanh(softplus_of(x)); });
}

Returned mish_backward(OperatorCall& c) {
  return gradient(c, [](const Expr& g, const Expr& x) {
    Expr t = tanh(softplus_of(x));
    return g * (t + x * sigmoid(x) * (1.0 - t * t));
  });
}

Expr decay(const Expr& x) { return exp(-apply(ops::abs, x)); }

Value log_sigmoid_of(OperatorCall& c) {
  return activation(
      c, [](const Expr& x) { return apply(ops::minimum, x, 0.0) - apply(ops::log1p, decay(x)); });
}

Returned log_sigmoid(OperatorCall& c) { return log_sigmoid_of(c); }

/// The second result is a buffer for the source's own gradient; some kernels leave it empty.
Returned log_sigmoid_forward(OperatorCall& c) {
  const Type* buffer = result_type(c, 1);
  bool empty = buffer != nullptr && buffer->shape != c.type("self").shape;
  return std::vector<Value>{log_sigmoid_of(c),
                            empty ? c.filled(*buffer, 0.0) : activation(c, decay)};
}

Returned log_sigmoid_backward(OperatorCall& c) {
  return gradient(c, [](const Expr& g, const Expr& x) {
    Expr z = decay(x);
    Expr share = z / (z + 1.0);
    return g * select(x < 0.0, 1.0 - share, share);
  });
}

// ---- glu: the first half, gated by the second

struct Halves {
  Expr value, gate;
  std::int64_t dim;
};

Halves halves(OperatorCall& c) {
  Value x = wide(c, "self").value;
  const Shape shape = c.type(x).shape;
  std::int64_t dim = c.dim("dim", shape.size(), -1);
  std::int64_t size = shape.empty() ? 0 : shape[static_cast<std::size_t>(dim)];
  if (shape.empty() || size % 2 != 0) c.refuse("the dimension does not fall into two halves");
  return {{&c, c.slice(x, dim, 0, size / 2)}, {&c, c.slice(x, dim, size / 2, size)}, dim};
}

Returned glu(OperatorCall& c) {
  Halves h = halves(c);
  return c.cast((h.value * sigmoid(h.gate)).value, c.type("self").dtype);
}

Returned glu_backward(OperatorCall& c) {
  Halves h = halves(c);
  Expr g = wide(c, "grad_output"), s = sigmoid(h.gate);
  std::array parts{(g * s).value, (g * h.value * s * (1.0 - s)).value};
  return c.cast(c.build_all(ops::concat, parts, {{"dim", h.dim}})[0], c.type("self").dtype);
}

constexpr std::string_view gradient_arguments = "grad_output self";

constexpr Row activation_table[] = {
    {"aten.gelu.default", "self approximate", gelu},
    {"aten.gelu_backward.default", "grad_output self approximate", gelu_backward},
    {"aten.silu.default", "self", one_op, &ops::silu},
    {"aten.silu_backward.default", gradient_arguments, one_gradient, &ops::silu_grad},
    {"aten.tanh_backward.default", "grad_output output", one_gradient, &ops::tanh_grad},
    {"aten.sigmoid_backward.default", "grad_output output", one_gradient, &ops::sigmoid_grad},
    {"aten.hardswish.default", "self", one_op, &ops::hardswish},
    {"aten.elu.default", "self alpha scale input_scale", elu},
    {"aten.elu_backward.default", "grad_output alpha scale input_scale is_result self_or_result",
     elu_backward},
    {"aten.selu.default", "self", selu},
    {"aten.celu.default", "self alpha", celu},
    {"aten.softplus.default", "self beta threshold", softplus},
    {"aten.softplus_backward.default", "grad_output self beta threshold", softplus_backward},
    {"aten.mish.default", "self", mish},
    {"aten.mish_backward.default", gradient_arguments, mish_backward},
    {"aten.log_sigmoid.default", "self", log_sigmoid},
    {"aten.log_sigmoid_forward.default", "self", log_sigmoid_forward},
    {"aten.log_sigmoid_backward.default", "grad_output self buffer", log_sigmoid_backward},
    {"aten.glu.default", "self dim", glu},
    {"aten.glu_backward.default", "grad_output self dim", glu_backward},
};

}  // namespace

std::span<const Row> activation_rows() { return activation_table; }

}  // namespace hocket::frontend::nn

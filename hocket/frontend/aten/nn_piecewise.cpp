// Piecewise linear activations, and gradients with a condition.

#include <limits>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

Returned hardswish_backward(OperatorCall& c) {
  return gradient(c, [](const Expr& g, const Expr& x) {
    return select(x <= -3.0, 0.0, select(x < 3.0, g * (x / 3.0 + 0.5), g));
  });
}

Returned hardsigmoid(OperatorCall& c) {
  return activation(c, [](const Expr& x) { return apply(ops::clamp, x + 3.0, 0.0, 6.0) / 6.0; });
}

Returned hardsigmoid_backward(OperatorCall& c) {
  return gradient(c, [](const Expr& g, const Expr& x) {
    return select((x > -3.0) & (x < 3.0), g * double{1.0F / 6.0F}, 0.0);
  });
}

Value clamped(OperatorCall& c, const Number& low, const Number& high) {
  return activation(c, [&](const Expr& x) { return apply(ops::clamp, x, low, high); });
}

Returned hardtanh(OperatorCall& c) {
  return clamped(c, c.number("min_val", std::int64_t{-1}), c.number("max_val", std::int64_t{1}));
}

Returned relu6(OperatorCall& c) { return clamped(c, std::int64_t{0}, std::int64_t{6}); }

Returned hardtanh_backward(OperatorCall& c) {
  return gradient(c, [&](const Expr& g, const Expr& x) {
    return select((x <= c.number("min_val")) | (x >= c.number("max_val")), 0.0, g);
  });
}

Value leaky(OperatorCall& c, double slope) {
  return activation(c, [&](const Expr& x) { return select(x > 0.0, x, x * slope); });
}

Returned leaky_relu(OperatorCall& c) { return leaky(c, c.real("negative_slope", 0.01)); }

/// Without training the slope is the middle of its range.
Returned rrelu(OperatorCall& c) {
  if (c.flag("training", false)) refuse_random(c);
  return leaky(c, (c.real("lower", 1.0 / 8) + c.real("upper", 1.0 / 3)) / 2);
}

Returned leaky_relu_backward(OperatorCall& c) {
  return gradient(c, [&](const Expr& g, const Expr& x) {
    return select(x > 0.0, g, g * c.number("negative_slope"));
  });
}

Returned threshold(OperatorCall& c) {
  return activation(
      c, [&](const Expr& x) { return select(x <= c.number("threshold"), c.number("value"), x); });
}

Returned threshold_backward(OperatorCall& c) {
  return gradient(
      c, [&](const Expr& g, const Expr& x) { return select(x <= c.number("threshold"), 0.0, g); });
}

Expr within(const Expr& x, double edge) { return (x >= -edge) & (x <= edge); }

Returned hardshrink(OperatorCall& c) {
  return activation(c,
                    [&](const Expr& x) { return select(within(x, c.real("lambd", 0.5)), 0.0, x); });
}

/// Inside the range x is multiplied by zero, which keeps NaN and the sign of zero.
Returned softshrink(OperatorCall& c) {
  double edge = c.real("lambd", 0.5);
  return activation(c, [&](const Expr& x) {
    return select(x > edge, x - edge, select(x < -edge, x + edge, x * 0.0));
  });
}

Returned shrink_backward(OperatorCall& c) {
  return gradient(c, c.has("grad_out") ? "grad_out" : "grad_output", "self",
                  [&](const Expr& g, const Expr& x) {
                    return select(within(x, c.real("lambd", 0.5)), 0.0, g);
                  });
}

// ---- prelu

/// One weight for all, or one for each channel.
Expr prelu_weight(OperatorCall& c) {
  Value w = c.value("weight");
  std::size_t rank = c.type("self").shape.size();
  if (c.type(w).elements() == 1) return wide(c, c.reshape(w, {}));
  return wide(c, c.type(w).shape.size() == 1 && rank > 1 ? by_channel(c, w, rank) : w);
}

Returned prelu(OperatorCall& c) {
  return activation(c, [&](const Expr& x) { return select(x > 0.0, x, x * prelu_weight(c)); });
}

Returned prelu_backward(OperatorCall& c) {
  Value dx = gradient(
      c, [&](const Expr& g, const Expr& x) { return select(x > 0.0, g, g * prelu_weight(c)); });
  Value dw = gradient(c, [](const Expr& g, const Expr& x) { return select(x > 0.0, 0.0, g * x); });
  return std::vector<Value>{dx, dw};
}

/// Outside of the range the gradient is zero with `eps`, and NaN without it.
Returned logit_backward(OperatorCall& c) {
  double eps = c.real("eps", -1);
  bool cut = eps >= 0;
  return gradient(c, [&](const Expr& g, const Expr& x) {
    Expr outside = cut ? (x < eps) | (x > 1 - eps) : (x < 0.0) | (x > 1.0);
    double there = cut ? 0.0 : std::numeric_limits<double>::quiet_NaN();
    return select(outside, there, g / (x * (1.0 - x)));
  });
}

constexpr Row piecewise_table[] = {
    {"aten.hardswish_backward.default", "grad_output self", hardswish_backward},
    {"aten.hardsigmoid.default", "self", hardsigmoid},
    {"aten.hardsigmoid_backward.default", "grad_output self", hardsigmoid_backward},
    {"aten.hardtanh.default", "self min_val max_val", hardtanh},
    {"aten.hardtanh_backward.default", "grad_output self min_val max_val", hardtanh_backward},
    {"aten.relu6.default", "self", relu6},
    {"aten.leaky_relu.default", "self negative_slope", leaky_relu},
    {"aten.leaky_relu_backward.default", "grad_output self negative_slope self_is_result",
     leaky_relu_backward},
    {"aten.rrelu.default", "self lower upper training generator", rrelu},
    {"aten.rrelu_with_noise.default", "self noise lower upper training generator", rrelu},
    {"aten.threshold.default", "self threshold value", threshold},
    {"aten.threshold_backward.default", "grad_output self threshold", threshold_backward},
    {"aten.hardshrink.default", "self lambd", hardshrink},
    {"aten.hardshrink_backward.default", "grad_out self lambd", shrink_backward},
    {"aten.softshrink.default", "self lambd", softshrink},
    {"aten.softshrink_backward.default", "grad_output self lambd", shrink_backward},
    {"aten.prelu.default", "self weight", prelu},
    {"aten._prelu_kernel.default", "self weight", prelu},
    {"aten._prelu_kernel_backward.default", "grad_output self weight", prelu_backward},
    {"aten.logit_backward.default", "grad_output self eps", logit_backward},
};

}  // namespace

std::span<const Row> piecewise_rows() { return piecewise_table; }

}  // namespace hocket::frontend::nn

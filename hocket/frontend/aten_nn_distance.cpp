// Losses that compare element by element, and their gradients.

#include <array>

#include "hocket/frontend/aten_nn.h"

namespace hocket::frontend::nn {
namespace {

bool is_mean(const Call& c) { return c.integer("reduction", 1) == 1; }

/// Mean, sum or nothing, in the dtype that the operands promote to.
Value reduced(Call& c, const Expr& each) {
  std::int64_t how = c.integer("reduction", 1);
  if (how < 0 || how > 2) c.refuse("an unknown reduction");
  DType out = c.promoted(std::array<Operand, 2>{c.value("self"), c.value("target")});
  if (how == 0) return c.cast(each.value, out);
  const Op& op = how == 1 ? ops::mean : ops::sum;
  return c.cast(reduce(op, each, all_dims(c.type(each.value).shape.size()), false).value, out);
}

/// f(x, target), reduced.
template <class F>
Value compared(Call& c, F f) {
  return reduced(c, f(wide(c, "self"), wide(c, "target")));
}

/// f(x, target) times the incoming gradient, and its share where the loss is a mean.
template <class F>
Value gradient(Call& c, F slope) {
  Expr g = wide(c, "grad_output");
  Expr d = slope(wide(c, "self"), wide(c, "target")) * g;
  if (is_mean(c)) d = d / static_cast<double>(c.type("self").elements());
  return c.cast(d.value, c.promoted(std::array<Operand, 2>{c.value("self"), c.value("target")}));
}

Returned mse_loss(Call& c) {
  return compared(c, [](const Expr& x, const Expr& t) {
    Expr d = x - t;
    return d * d;
  });
}

Returned mse_loss_backward(Call& c) {
  return gradient(c, [](const Expr& x, const Expr& t) { return (x - t) * 2.0; });
}

Returned l1_loss(Call& c) {
  return compared(c, [](const Expr& x, const Expr& t) { return apply(ops::abs, x - t); });
}

/// Square near zero, straight beyond `beta`.
Returned smooth_l1_loss(Call& c) {
  double beta = c.real("beta", 1);
  if (beta == 0) return l1_loss(c);
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr d = apply(ops::abs, x - t);
    return select(d < beta, d * d * 0.5 / beta, d - 0.5 * beta);
  });
}

Returned smooth_l1_loss_backward(Call& c) {
  double beta = c.real("beta", 1);
  return gradient(c, [&](const Expr& x, const Expr& t) {
    Expr d = x - t;
    Expr inside = beta == 0 ? d : d / beta;
    return select(d <= -beta, -1.0, select(d >= beta, 1.0, inside));
  });
}

Returned huber_loss(Call& c) {
  double delta = c.real("delta", 1);
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr d = apply(ops::abs, x - t);
    return select(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta);
  });
}

Returned huber_loss_backward(Call& c) {
  double delta = c.real("delta", 1);
  return gradient(c, [&](const Expr& x, const Expr& t) {
    Expr d = x - t;
    return select(d <= -delta, -delta, select(d >= delta, delta, d));
  });
}

// ---- binary cross entropy

Expr weighted(Call& c, const Expr& v) { return c.has("weight") ? v * wide(c, "weight") : v; }

/// Logarithms are cut off at -100, so that a certain mistake costs a number.
Returned binary_cross_entropy(Call& c) {
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr no = apply(ops::maximum, apply(ops::log1p, -x), -100.0);
    Expr yes = apply(ops::maximum, apply(ops::log, x), -100.0);
    return weighted(c, (t - 1.0) * no - t * yes);
  });
}

Returned binary_cross_entropy_backward(Call& c) {
  return gradient(c, [&](const Expr& x, const Expr& t) {
    return weighted(c, (x - t) / apply(ops::maximum, (1.0 - x) * x, 1e-12));
  });
}

Returned binary_cross_entropy_with_logits(Call& c) {
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr log_yes =
        apply(ops::minimum, x, 0.0) - apply(ops::log1p, apply(ops::exp, -apply(ops::abs, x)));
    if (c.has("pos_weight")) log_yes = ((wide(c, "pos_weight") - 1.0) * t + 1.0) * log_yes;
    return weighted(c, (1.0 - t) * x - log_yes);
  });
}

Returned kl_div(Call& c) {
  bool logarithms = c.flag("log_target", false);
  return compared(c, [&](const Expr& x, const Expr& t) {
    if (logarithms) return apply(ops::exp, t) * (t - x);
    // The limit of t log t is zero.
    Expr entropy = select(apply(ops::eq, t, 0.0), 0.0, t * apply(ops::log, t));
    return entropy - t * x;
  });
}

constexpr Row table[] = {
    {"aten.mse_loss.default", "self target reduction", mse_loss},
    {"aten.mse_loss_backward.default", "grad_output self target reduction", mse_loss_backward},
    {"aten.l1_loss.default", "self target reduction", l1_loss},
    {"aten.smooth_l1_loss.default", "self target reduction beta", smooth_l1_loss},
    {"aten.smooth_l1_loss_backward.default", "grad_output self target reduction beta",
     smooth_l1_loss_backward},
    {"aten.huber_loss.default", "self target reduction delta", huber_loss},
    {"aten.huber_loss_backward.default", "grad_output self target reduction delta",
     huber_loss_backward},
    {"aten.binary_cross_entropy.default", "self target weight reduction", binary_cross_entropy},
    {"aten.binary_cross_entropy_backward.default", "grad_output self target weight reduction",
     binary_cross_entropy_backward},
    {"aten.binary_cross_entropy_with_logits.default", "self target weight pos_weight reduction",
     binary_cross_entropy_with_logits},
    {"aten.kl_div.default", "self target reduction log_target", kl_div},
};

}  // namespace

std::span<const Row> distance_rows() { return table; }

}  // namespace hocket::frontend::nn

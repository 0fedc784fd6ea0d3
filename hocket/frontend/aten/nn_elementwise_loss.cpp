// Elementwise losses and their gradients.

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

using enum Reduction;

/// The mean or the sum of the elements, or the elements themselves.
Value reduced(OperatorCall& c, const Expr& each, DType out) {
  if (reduction(c) == none) return c.cast(each.value, out);
  const Op& op = reduction(c) == mean ? ops::mean : ops::sum;
  return c.cast(reduce(op, each, all_dims(c.type(each.value).shape.size()), false).value, out);
}

/// The dtype that x and its target promote to.
DType common(OperatorCall& c) { return c.promoted({c.value("self"), c.value("target")}); }

/// f(x, target), reduced.
template <class F>
Value compared(OperatorCall& c, F f) {
  return reduced(c, f(wide(c, "self"), wide(c, "target")), common(c));
}

/// f(x, target) times the incoming gradient, divided by the number of elements for a mean.
template <class F>
Value slope_times_gradient(OperatorCall& c, F slope) {
  Expr g = wide(c, "grad_output");
  Expr d = slope(wide(c, "self"), wide(c, "target")) * g;
  if (reduction(c) == mean) d = d / static_cast<double>(c.type("self").elements());
  return c.cast(d.value, common(c));
}

Returned mse_loss(OperatorCall& c) {
  return compared(c, [](const Expr& x, const Expr& t) {
    Expr d = x - t;
    return d * d;
  });
}

Returned mse_loss_backward(OperatorCall& c) {
  return slope_times_gradient(c, [](const Expr& x, const Expr& t) { return (x - t) * 2.0; });
}

Returned l1_loss(OperatorCall& c) {
  return compared(c, [](const Expr& x, const Expr& t) { return apply(ops::abs, x - t); });
}

/// Quadratic near zero, linear beyond `beta`.
Returned smooth_l1_loss(OperatorCall& c) {
  double beta = c.real("beta", 1);
  if (beta == 0) return l1_loss(c);
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr d = apply(ops::abs, x - t);
    return select(d < beta, d * d * 0.5 / beta, d - 0.5 * beta);
  });
}

Returned smooth_l1_loss_backward(OperatorCall& c) {
  double beta = c.real("beta", 1);
  return slope_times_gradient(c, [&](const Expr& x, const Expr& t) {
    Expr d = x - t;
    Expr inside = beta == 0 ? d : d / beta;
    return select(d <= -beta, -1.0, select(d >= beta, 1.0, inside));
  });
}

Returned huber_loss(OperatorCall& c) {
  double delta = c.real("delta", 1);
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr d = apply(ops::abs, x - t);
    return select(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta);
  });
}

Returned huber_loss_backward(OperatorCall& c) {
  double delta = c.real("delta", 1);
  return slope_times_gradient(c, [&](const Expr& x, const Expr& t) {
    Expr d = x - t;
    return select(d <= -delta, -delta, select(d >= delta, delta, d));
  });
}

// ---- binary cross entropy

Expr weighted(OperatorCall& c, const Expr& v) {
  return c.has("weight") ? v * wide(c, "weight") : v;
}

/// Logarithms are clamped at -100, so that the loss stays finite.
Returned binary_cross_entropy(OperatorCall& c) {
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr no = apply(ops::maximum, apply(ops::log1p, -x), -100.0);
    Expr yes = apply(ops::maximum, apply(ops::log, x), -100.0);
    return weighted(c, (t - 1.0) * no - t * yes);
  });
}

Returned binary_cross_entropy_backward(OperatorCall& c) {
  return slope_times_gradient(c, [&](const Expr& x, const Expr& t) {
    return weighted(c, (x - t) / apply(ops::maximum, (1.0 - x) * x, 1e-12));
  });
}

Returned binary_cross_entropy_with_logits(OperatorCall& c) {
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr log_yes =
        apply(ops::minimum, x, 0.0) - apply(ops::log1p, apply(ops::exp, -apply(ops::abs, x)));
    if (c.has("pos_weight")) log_yes = ((wide(c, "pos_weight") - 1.0) * t + 1.0) * log_yes;
    return weighted(c, (1.0 - t) * x - log_yes);
  });
}

Returned kl_div(OperatorCall& c) {
  bool logarithms = c.flag("log_target", false);
  return compared(c, [&](const Expr& x, const Expr& t) {
    if (logarithms) return apply(ops::exp, t) * (t - x);
    // The limit of t log t is zero.
    Expr entropy = select(apply(ops::eq, t, 0.0), 0.0, t * apply(ops::log, t));
    return entropy - t * x;
  });
}

// ---- margins

Returned soft_margin_loss(OperatorCall& c) {
  return compared(
      c, [](const Expr& x, const Expr& t) { return apply(ops::log1p, apply(ops::exp, -(t * x))); });
}

Returned soft_margin_loss_backward(OperatorCall& c) {
  return slope_times_gradient(c, [](const Expr& x, const Expr& t) {
    Expr z = apply(ops::exp, -(t * x));
    return -(t * z) / (z + 1.0);
  });
}

Returned hinge_embedding_loss(OperatorCall& c) {
  double margin = c.real("margin", 1);
  return compared(c, [&](const Expr& x, const Expr& t) {
    Expr apart = apply(ops::maximum, margin - x, 0.0);
    return select(apply(ops::ne, t, 1.0), apart, 0.0) + select(apply(ops::ne, t, -1.0), x, 0.0);
  });
}

Returned margin_ranking_loss(OperatorCall& c) {
  Value a = c.value("input1"), b = c.value("input2"), target = c.value("target");
  Expr lead = wide(c, target) * (wide(c, a) - wide(c, b));
  Expr each = apply(ops::maximum, c.real("margin", 0) - lead, 0.0);
  return reduced(c, each, c.promoted({a, b, target}));
}

Returned cosine_similarity(OperatorCall& c) {
  Value a = c.value("x1"), b = c.value("x2");
  DType out = c.promoted({a, b});
  Shape shape = c.common_shape({a, b});
  Ints dim{c.dim("dim", shape.size(), 1)};
  auto unit = [&](Value v) {
    Expr x = wide(c, c.broadcast(c.cast(v, out), shape));
    Expr length = apply(ops::sqrt, reduce(ops::sum, x * x, dim, true));
    return x / apply(ops::maximum, length, c.real("eps", 1e-8));
  };
  return c.cast(reduce(ops::sum, unit(a) * unit(b), dim, false).value, out);
}

constexpr Row elementwise_loss_table[] = {
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
    {"aten.soft_margin_loss.default", "self target reduction", soft_margin_loss},
    {"aten.soft_margin_loss_backward.default", "grad_output self target reduction",
     soft_margin_loss_backward},
    {"aten.hinge_embedding_loss.default", "self target margin reduction", hinge_embedding_loss},
    {"aten.margin_ranking_loss.default", "input1 input2 target margin reduction",
     margin_ranking_loss},
    {"aten.cosine_similarity.default", "x1 x2 dim eps", cosine_similarity},
    {"aten.kl_div.default", "self target reduction log_target", kl_div},
};

}  // namespace

std::span<const Row> elementwise_loss_rows() { return elementwise_loss_table; }

}  // namespace hocket::frontend::nn

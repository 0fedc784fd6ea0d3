// Functions composed of several ops, computed in the compute dtype and rounded once.

#include <cmath>
#include <numbers>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

// ---- of one tensor

using Function = Value (*)(OperatorCall&, Value);

/// Runs f on the operand as a float in the compute dtype, and rounds the result.
template <class F>
Value composed(OperatorCall& c, Value x, F&& f) {
  DType dtype = is_float(c.type(x).dtype) ? c.type(x).dtype : DType::f32;
  return c.cast(f(c.cast(x, row(dtype).compute)), dtype);
}

template <Function f>
Returned of_self(OperatorCall& c) {
  return composed(c, c.value("self"), [&](Value x) { return f(c, x); });
}

template <Function f>
Returned of_each(OperatorCall& c) {
  std::vector<Value> results;
  for (Value v : c.values("self"))
    results.push_back(composed(c, v, [&](Value x) { return f(c, x); }));
  return results;
}

Value reciprocal(OperatorCall& c, Value x) { return c.pointwise(ops::div, {1.0, x}); }
Value log2(OperatorCall& c, Value x) {
  return c.pointwise(ops::mul, {c.build(ops::log, {x}), std::numbers::log2e});
}
Value log10(OperatorCall& c, Value x) {
  return c.pointwise(ops::mul, {c.build(ops::log, {x}), std::numbers::log10e});
}
Value exp2(OperatorCall& c, Value x) { return c.pointwise(ops::pow, {2.0, x}); }

Value sinh(OperatorCall& c, Value x) {
  // Through expm1, which is accurate near zero: (e + e / (e + 1)) / 2.
  Value e = c.build(ops::expm1, {c.build(ops::abs, {x})});
  Value y = c.build(ops::add, {e, c.build(ops::div, {e, c.pointwise(ops::add, {e, 1.0})})});
  // Where exp overflows the quotient is NaN, but the result is infinite.
  y = c.build(ops::select, {c.pointwise(ops::eq, {e, infinity}), e, y});
  return c.build(ops::mul, {c.pointwise(ops::mul, {y, 0.5}), c.build(ops::sign, {x})});
}
Value cosh(OperatorCall& c, Value x) {
  Value e =
      c.build(ops::add, {c.build(ops::exp, {x}), c.build(ops::exp, {c.build(ops::neg, {x})})});
  return c.pointwise(ops::mul, {e, 0.5});
}
Value asin(OperatorCall& c, Value x) {
  // 1 - x x without cancellation near one.
  Value rest =
      c.build(ops::mul, {c.pointwise(ops::sub, {1.0, x}), c.pointwise(ops::add, {x, 1.0})});
  return c.build(ops::atan, {c.build(ops::div, {x, c.build(ops::sqrt, {rest})})});
}
Value acos(OperatorCall& c, Value x) {
  Value ratio =
      c.build(ops::div, {c.pointwise(ops::sub, {1.0, x}), c.pointwise(ops::add, {x, 1.0})});
  return c.pointwise(ops::mul, {c.build(ops::atan, {c.build(ops::sqrt, {ratio})}), 2.0});
}
/// The value of inverse hyperbolic functions where the square of x overflows.
Value log_of_twice(OperatorCall& c, Value x) {
  return c.pointwise(ops::add, {c.build(ops::log, {x}), std::numbers::ln2});
}
Value asinh(OperatorCall& c, Value x) {
  Value a = c.build(ops::abs, {x}), square = c.build(ops::mul, {x, x});
  Value root = c.build(ops::sqrt, {c.pointwise(ops::add, {square, 1.0})});
  Value more = c.build(ops::div, {square, c.pointwise(ops::add, {root, 1.0})});
  Value y = c.build(ops::log1p, {c.build(ops::add, {a, more})});
  y = c.build(ops::select, {c.pointwise(ops::gt, {a, 1e15}), log_of_twice(c, a), y});
  return c.build(ops::mul, {y, c.build(ops::sign, {x})});
}
Value acosh(OperatorCall& c, Value x) {
  Value less = c.pointwise(ops::sub, {x, 1.0});
  Value more = c.build(ops::sqrt, {c.pointwise(ops::add, {x, 1.0})});
  Value root = c.build(ops::mul, {c.build(ops::sqrt, {less}), more});
  Value y = c.build(ops::log1p, {c.build(ops::add, {less, root})});
  return c.build(ops::select, {c.pointwise(ops::gt, {x, 1e15}), log_of_twice(c, x), y});
}
Value atanh(OperatorCall& c, Value x) {
  Value ratio =
      c.build(ops::div, {c.pointwise(ops::mul, {x, 2.0}), c.pointwise(ops::sub, {1.0, x})});
  return c.pointwise(ops::mul, {c.build(ops::log1p, {ratio}), 0.5});
}
Value erfc(OperatorCall& c, Value x) {
  return c.pointwise(ops::sub, {1.0, c.build(ops::erf, {x})});
}
Value frac(OperatorCall& c, Value x) { return c.build(ops::sub, {x, c.build(ops::trunc, {x})}); }

Returned logit(OperatorCall& c) {
  return composed(c, c.value("self"), [&](Value x) {
    if (c.has("eps")) x = bounded(c, x, Operand(c.real("eps")), Operand(1 - c.real("eps")));
    return c.build(ops::log, {c.build(ops::div, {x, c.pointwise(ops::sub, {1.0, x})})});
  });
}
/// Rounds to the given number of decimals, by scaling.
Returned round_decimals(OperatorCall& c) {
  Value x = c.value("self");
  if (!is_float(c.type(x).dtype)) return x;
  return composed(c, x, [&](Value v) {
    auto decimals = static_cast<double>(c.integer("decimals"));
    double scale = std::pow(10.0, std::abs(decimals));
    Value scaled = c.pointwise(decimals >= 0 ? ops::mul : ops::div, {v, scale});
    return c.pointwise(decimals >= 0 ? ops::div : ops::mul, {c.build(ops::round, {scaled}), scale});
  });
}

// ---- of two

/// Runs f on two operands as floats of one dtype and shape, and casts the result to that dtype.
template <class F>
Value composed(OperatorCall& c, F&& f) {
  Operand a = c.operand("self"), b = c.operand("other");
  DType dtype = c.promoted({a, b});
  if (!is_float(dtype)) dtype = DType::f32;
  DType compute = row(dtype).compute;
  Value x = c.plain(a, compute), y = c.plain(b, compute);
  Shape shape = c.common_shape({x, y});
  return c.cast(f(c.broadcast(x, shape), c.broadcast(y, shape)), dtype);
}

Returned hypot(OperatorCall& c) {
  return composed(c, [&](Value a, Value b) {
    Value x = c.build(ops::abs, {a}), y = c.build(ops::abs, {b});
    Value large = c.build(ops::maximum, {x, y}), small = c.build(ops::minimum, {x, y});
    Value ratio = c.build(ops::div, {small, large});
    Value square = c.build(ops::mul, {ratio, ratio});
    Value root = c.build(ops::sqrt, {c.pointwise(ops::add, {square, 1.0})});
    Value odd = c.build(
        ops::bit_or, {c.pointwise(ops::eq, {large, 0.0}), c.pointwise(ops::eq, {large, infinity})});
    return c.build(ops::select, {odd, large, c.build(ops::mul, {large, root})});
  });
}
/// log(exp(a) + exp(b)), without overflow.
Returned logaddexp(OperatorCall& c) {
  return composed(c, [&](Value x, Value y) {
    Value top = c.build(ops::maximum, {x, y}), low = c.build(ops::minimum, {x, y});
    Value more = c.build(ops::log1p, {c.build(ops::exp, {c.build(ops::sub, {low, top})})});
    Value infinite = c.pointwise(ops::eq, {c.build(ops::abs, {top}), infinity});
    return c.build(ops::select, {infinite, top, c.build(ops::add, {top, more})});
  });
}
/// The magnitude of one, the sign of the other.
Returned copysign(OperatorCall& c) {
  return composed(c, [&](Value x, Value y) {
    Value size = c.build(ops::abs, {x});
    return c.build(ops::select, {minus_sign(c, y), c.build(ops::neg, {size}), size});
  });
}
/// The angle in the first quadrant, then mirrored by the signs of both; zeros have signs, too.
Returned atan2(OperatorCall& c) {
  return composed(c, [&](Value y, Value x) {
    Value up = c.build(ops::abs, {y}), right = c.build(ops::abs, {x});
    // Equal operands, also infinite ones, have the ratio 1; for zeros the angle is zero.
    Value ratio =
        c.build(ops::select, {c.build(ops::eq, {up, right}), c.scalar(c.type(x).dtype, 1.0),
                              c.build(ops::div, {up, right})});
    Value nothing = c.pointwise(ops::eq, {c.build(ops::maximum, {up, right}), 0.0});
    ratio = c.build(ops::select, {nothing, up, ratio});
    Value angle = c.build(ops::atan, {ratio});
    Value beyond = c.pointwise(ops::sub, {std::numbers::pi, angle});
    angle = c.build(ops::select, {minus_sign(c, x), beyond, angle});
    return c.build(ops::select, {minus_sign(c, y), c.build(ops::neg, {angle}), angle});
  });
}

constexpr Row special_function_table[] = {
    {"aten.reciprocal.default", "self", of_self<reciprocal>},
    {"aten.log2.default", "self", of_self<log2>},
    {"aten.log10.default", "self", of_self<log10>},
    {"aten.exp2.default", "self", of_self<exp2>},
    {"aten.sinh.default", "self", of_self<sinh>},
    {"aten.cosh.default", "self", of_self<cosh>},
    {"aten.asin.default", "self", of_self<asin>},
    {"aten.acos.default", "self", of_self<acos>},
    {"aten.asinh.default", "self", of_self<asinh>},
    {"aten.acosh.default", "self", of_self<acosh>},
    {"aten.atanh.default", "self", of_self<atanh>},
    {"aten.erfc.default", "self", of_self<erfc>},
    {"aten.frac.default", "self", of_self<frac>},
    {"aten._foreach_reciprocal.default", "self", of_each<reciprocal>},
    {"aten._foreach_log2.default", "self", of_each<log2>},
    {"aten._foreach_log10.default", "self", of_each<log10>},
    {"aten._foreach_sinh.default", "self", of_each<sinh>},
    {"aten._foreach_cosh.default", "self", of_each<cosh>},
    {"aten._foreach_asin.default", "self", of_each<asin>},
    {"aten._foreach_acos.default", "self", of_each<acos>},
    {"aten._foreach_erfc.default", "self", of_each<erfc>},
    {"aten._foreach_frac.default", "self", of_each<frac>},
    {"aten.logit.default", "self eps", logit},
    {"aten.round.decimals", "self decimals", round_decimals},
    {"aten.atan2.default", "self other", atan2},
    {"aten.hypot.default", "self other", hypot},
    {"aten.logaddexp.default", "self other", logaddexp},
    {"aten.copysign.Tensor", "self other", copysign},
    {"aten.copysign.Scalar", "self other", copysign},
};

}  // namespace

std::span<const Row> special_function_rows() { return special_function_table; }

}  // namespace hocket::frontend

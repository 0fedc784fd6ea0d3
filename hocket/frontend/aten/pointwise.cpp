// Elementwise arithmetic, bounds and selections.

#include <cmath>
#include <limits>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

// ---- one op each

Returned unary_float(OperatorCall& c) { return c.float_pointwise(*c.row().op, {c.value("self")}); }

/// The sign of a bool is the bool itself.
Returned sign(OperatorCall& c) {
  Value x = c.value("self");
  return c.type(x).dtype == DType::boolean ? x : c.pointwise(ops::sign, {x});
}

/// fmax and fmin: if one operand is NaN, the result is the other.
Returned extreme_but_nan(OperatorCall& c) {
  Operand a = c.operand("self"), b = c.operand("other");
  DType dtype = c.promoted({a, b});
  Value x = c.plain(a, dtype), y = c.plain(b, dtype), best = c.pointwise(*c.row().op, {x, y});
  if (!is_float(dtype)) return best;
  const Shape shape = c.type(best).shape;
  auto is_nan = [&](Value v) { return c.spread(c.pointwise(ops::ne, {v, v}), shape); };
  best = c.build(ops::select, {is_nan(x), c.spread(y, shape), best});
  return c.broadcast(c.build(ops::select, {is_nan(y), c.spread(x, shape), best}), shape);
}

/// Rounding leaves integers unchanged.
Returned rounding(OperatorCall& c) {
  Value x = c.value("self");
  return is_float(c.type(x).dtype) ? c.pointwise(*c.row().op, {x}) : x;
}

/// For integers the maximum with 0, since the `relu` op takes only floats.
Returned relu(OperatorCall& c) {
  Value x = c.value("self");
  if (!is_float(c.type(x).dtype)) return c.pointwise(ops::maximum, {x, 0});
  return c.pointwise(ops::relu, {x});
}

// ---- with a factor

Number alpha(OperatorCall& c) { return c.number("alpha", Number(std::int64_t{1})); }

Returned add(OperatorCall& c) {
  Operand a = c.operand("self"), b = c.operand("other");
  // The sum of bools is a logical or.
  if (c.promoted({a, b}) == DType::boolean) return c.pointwise(ops::bit_or, {a, b});
  return with_alpha(c, ops::add, a, b, alpha(c));
}
Returned sub(OperatorCall& c) {
  return with_alpha(c, ops::sub, c.operand("self"), c.operand("other"), alpha(c));
}
Returned rsub(OperatorCall& c) {
  return with_alpha(c, ops::sub, c.operand("other"), c.operand("self"), alpha(c));
}

Returned mul(OperatorCall& c) {
  Operand a = c.operand("self"), b = c.operand("other");
  if (c.promoted({a, b}) == DType::boolean) return c.pointwise(ops::bit_and, {a, b});
  return c.pointwise(ops::mul, {a, b});
}

Value floor_divided(OperatorCall& c, Operand a, Operand b) {
  return c.pointwise(ops::floor_div, {a, b});
}

/// Division rounded towards zero.
Value trunc_divided(OperatorCall& c, Operand a, Operand b) {
  DType dtype = c.promoted({a, b});
  if (is_float(dtype)) return c.pointwise(ops::trunc, {c.pointwise(ops::div, {a, b})});
  // The quotient of the absolute values, with the sign of both.
  Value quotient = c.pointwise(ops::floor_div, {c.pointwise(ops::abs, {c.plain(a, dtype)}),
                                                c.pointwise(ops::abs, {c.plain(b, dtype)})});
  Value negative =
      c.pointwise(ops::bit_xor, {c.pointwise(ops::lt, {a, 0}), c.pointwise(ops::lt, {b, 0})});
  const Shape shape = c.type(quotient).shape;
  return c.build(ops::select,
                 {c.broadcast(negative, shape), c.build(ops::neg, {quotient}), quotient});
}

Returned div(OperatorCall& c) {
  Operand a = c.operand("self"), b = c.operand("other");
  if (!c.has("rounding_mode")) return c.float_pointwise(ops::div, {a, b});
  std::string mode = c.text("rounding_mode");
  if (mode == "floor") return floor_divided(c, a, b);
  if (mode == "trunc") return trunc_divided(c, a, b);
  c.refuse(fmt::format("rounding_mode is '{}'", mode));
}

Returned floor_divide(OperatorCall& c) {
  return floor_divided(c, c.operand("self"), c.operand("other"));
}

/// The remainder of division towards zero, which has the sign of the dividend.
Returned fmod(OperatorCall& c) {
  Operand a = c.operand("self"), b = c.operand("other");
  DType dtype = c.promoted({a, b});
  Value left = c.pointwise(ops::remainder, {c.pointwise(ops::abs, {c.plain(a, dtype)}),
                                            c.pointwise(ops::abs, {c.plain(b, dtype)})});
  const Shape shape = c.type(left).shape;
  Value negative = c.broadcast(c.pointwise(ops::lt, {c.plain(a, dtype), 0}), shape);
  return c.build(ops::select, {negative, c.build(ops::neg, {left}), left});
}

// ---- powers

Returned pow_scalar(OperatorCall& c) { return power(c, c.value("self"), c.number("exponent")); }

/// Repeated squaring over the bits of the exponent. A negative power is 0, except for the bases 1
/// and -1.
Value integer_power(OperatorCall& c, Value base, Value exponent) {
  Shape shape = c.common_shape({base, exponent});
  base = c.broadcast(base, shape);
  exponent = c.broadcast(exponent, shape);
  DType dtype = c.type(base).dtype;
  Value one = c.scalar(dtype, std::int64_t{1}), result = c.filled(c.type(base), std::int64_t{1});
  Value square = base;
  auto odd = [&](Value e) {
    return c.pointwise(ops::ne, {c.build(ops::bit_and, {e, c.scalar(dtype, std::int64_t{1})}), 0});
  };
  for (int bit = 0; bit < 6; ++bit) {
    Value e = c.build(ops::shift_right, {exponent, c.scalar(dtype, std::int64_t{bit})});
    result = c.build(ops::select, {odd(e), c.build(ops::mul, {result, square}), result});
    square = c.build(ops::mul, {square, square});
  }
  Value sign = c.build(ops::select, {odd(exponent), base, one});
  Value unit = c.pointwise(ops::eq, {c.build(ops::abs, {base}), 1});
  Value inverse = c.build(ops::select, {unit, sign, c.scalar(dtype, std::int64_t{0})});
  return c.build(ops::select, {c.pointwise(ops::lt, {exponent, 0}), inverse, result});
}

Returned pow_tensor(OperatorCall& c) {
  Operand base = c.operand("self"), exponent = c.operand("exponent");
  DType dtype = c.promoted({base, exponent});
  if (is_float(dtype)) return c.pointwise(ops::pow, {base, exponent});
  return integer_power(c, c.plain(base, dtype), c.plain(exponent, dtype));
}

// ---- bounds and selections

Returned clamp(OperatorCall& c) {
  std::optional<Operand> low, high;
  if (c.has("min")) low = c.operand("min");
  if (c.has("max")) high = c.operand("max");
  return bounded(c, c.value("self"), low, high);
}

Returned where(OperatorCall& c) {
  Value condition = c.value("condition");
  Operand a = c.operand("self"), b = c.operand("other");
  DType dtype = c.promoted({a, b});
  if (c.type(condition).dtype != DType::boolean) condition = c.cast(condition, DType::boolean);
  Value x = c.plain(a, dtype), y = c.plain(b, dtype);
  // All three get one shape, except for rank 0, which the `select` op also takes.
  Shape shape = c.common_shape({condition, x, y});
  return c.build(ops::select, {c.spread(condition, shape), c.spread(x, shape), c.spread(y, shape)});
}

Returned masked_fill(OperatorCall& c) {
  Value x = c.value("self"), mask = c.value("mask");
  DType dtype = c.type(x).dtype;
  Value fill = c.plain(c.operand("value"), dtype);
  Shape shape = c.common_shape({x, mask});
  return c.build(ops::select, {c.spread(mask, shape), fill, c.spread(x, shape)});
}

// ---- of three

Returned lerp(OperatorCall& c) {
  Value a = c.value("self"), b = c.value("end");
  return interpolated(c, a, b, c.operand("weight"));
}

Returned addcmul(OperatorCall& c) {
  return with_product(c, ops::mul, c.value("self"), c.value("tensor1"), c.value("tensor2"),
                      c.number("value", Number(std::int64_t{1})));
}
Returned addcdiv(OperatorCall& c) {
  return with_product(c, ops::div, c.value("self"), c.value("tensor1"), c.value("tensor2"),
                      c.number("value", Number(std::int64_t{1})));
}

Returned xlogy(OperatorCall& c) {
  Operand a = c.operand("self"), b = c.operand("other");
  Value y =
      c.float_pointwise(ops::mul, {a, b.value ? Operand(c.float_pointwise(ops::log, {b.value}))
                                              : Operand(std::log(as_double(b.number)))});
  const Shape shape = c.type(y).shape;
  Value zero = a.value ? c.spread(c.pointwise(ops::eq, {a, 0}), shape)
                       : c.scalar(DType::boolean, as_double(a.number) == 0);
  return c.build(ops::select, {c.spread(zero, shape), c.scalar(c.type(y).dtype, 0.0), y});
}

Returned nan_to_num(OperatorCall& c) {
  Value x = c.value("self");
  DType dtype = c.type(x).dtype;
  if (!is_float(dtype)) return x;
  double largest = dtype == DType::f64    ? std::numeric_limits<double>::max()
                   : dtype == DType::f16  ? 65504.0
                   : dtype == DType::bf16 ? 3.38953138925153547590470800371487867e38
                                          : std::numeric_limits<float>::max();
  auto put = [&](Value where, double n) {
    x = c.build(ops::select, {where, c.scalar(dtype, n), x});
  };
  Value nan = c.pointwise(ops::ne, {x, x}), up = c.pointwise(ops::eq, {x, infinity}),
        down = c.pointwise(ops::eq, {x, -infinity});
  put(nan, c.real("nan", 0.0));
  put(up, c.real("posinf", largest));
  put(down, c.real("neginf", -largest));
  return x;
}

constexpr Row pointwise_table[] = {
    // one op each
    {"aten.neg.default", "self", unary, &ops::neg},
    {"aten.abs.default", "self", unary, &ops::abs},
    {"aten.sign.default", "self", sign},
    {"aten.sgn.default", "self", sign},
    {"aten.positive.default", "self",
     [](OperatorCall& c) -> Returned { return c.alias(c.tensor("self")); }},
    {"aten.square.default", "self",
     [](OperatorCall& c) -> Returned { return power(c, c.value("self"), std::int64_t{2}); }},
    {"aten.sqrt.default", "self", unary_float, &ops::sqrt},
    {"aten.rsqrt.default", "self", unary_float, &ops::rsqrt},
    {"aten.exp.default", "self", unary_float, &ops::exp},
    {"aten.expm1.default", "self", unary_float, &ops::expm1},
    {"aten.log.default", "self", unary_float, &ops::log},
    {"aten.log1p.default", "self", unary_float, &ops::log1p},
    {"aten.sin.default", "self", unary_float, &ops::sin},
    {"aten.cos.default", "self", unary_float, &ops::cos},
    {"aten.tan.default", "self", unary_float, &ops::tan},
    {"aten.atan.default", "self", unary_float, &ops::atan},
    {"aten.tanh.default", "self", unary_float, &ops::tanh},
    {"aten.erf.default", "self", unary_float, &ops::erf},
    {"aten.special_erf.default", "self", unary_float, &ops::erf},
    {"aten.special_expm1.default", "self", unary_float, &ops::expm1},
    {"aten.sigmoid.default", "self", unary_float, &ops::sigmoid},
    {"aten.special_expit.default", "self", unary_float, &ops::sigmoid},
    {"aten.relu.default", "self", relu},
    {"aten.floor.default", "self", rounding, &ops::floor},
    {"aten.ceil.default", "self", rounding, &ops::ceil},
    {"aten.trunc.default", "self", rounding, &ops::trunc},
    {"aten.fix.default", "self", rounding, &ops::trunc},
    {"aten.round.default", "self", rounding, &ops::round},
    // arithmetic
    {"aten.add.Tensor", "self other alpha", add},
    {"aten.add.Scalar", "self other alpha", add},
    {"aten.sub.Tensor", "self other alpha", sub},
    {"aten.sub.Scalar", "self other alpha", sub},
    {"aten.subtract.Tensor", "self other alpha", sub},
    {"aten.rsub.Tensor", "self other alpha", rsub},
    {"aten.rsub.Scalar", "self other alpha", rsub},
    {"aten.mul.Tensor", "self other", mul},
    {"aten.mul.Scalar", "self other", mul},
    {"aten.multiply.Tensor", "self other", mul},
    {"aten.div.Tensor", "self other", div},
    {"aten.div.Scalar", "self other", div},
    {"aten.div.Tensor_mode", "self other rounding_mode", div},
    {"aten.div.Scalar_mode", "self other rounding_mode", div},
    {"aten.true_divide.Tensor", "self other", div},
    {"aten.true_divide.Scalar", "self other", div},
    {"aten.divide.Tensor", "self other", div},
    {"aten.floor_divide.default", "self other", floor_divide},
    {"aten.floor_divide.Scalar", "self other", floor_divide},
    {"aten.remainder.Tensor", "self other", binary, &ops::remainder},
    {"aten.remainder.Scalar", "self other", binary, &ops::remainder},
    {"aten.remainder.Scalar_Tensor", "self other", binary, &ops::remainder},
    {"aten.fmod.Tensor", "self other", fmod},
    {"aten.fmod.Scalar", "self other", fmod},
    {"aten.maximum.default", "self other", binary, &ops::maximum},
    {"aten.minimum.default", "self other", binary, &ops::minimum},
    {"aten.max.other", "self other", binary, &ops::maximum},
    {"aten.min.other", "self other", binary, &ops::minimum},
    {"aten.fmax.default", "self other", extreme_but_nan, &ops::maximum},
    {"aten.fmin.default", "self other", extreme_but_nan, &ops::minimum},
    {"aten.pow.Tensor_Scalar", "self exponent", pow_scalar},
    {"aten.pow.Tensor_Tensor", "self exponent", pow_tensor},
    {"aten.pow.Scalar", "self exponent", pow_tensor},
    {"aten.xlogy.Tensor", "self other", xlogy},
    {"aten.xlogy.Scalar_Other", "self other", xlogy},
    {"aten.xlogy.Scalar_Self", "self other", xlogy},
    // bounds and selections
    {"aten.clamp.default", "self min max", clamp},
    {"aten.clamp.Tensor", "self min max", clamp},
    {"aten.clip.default", "self min max", clamp},
    {"aten.clip.Tensor", "self min max", clamp},
    {"aten.clamp_min.default", "self min", clamp},
    {"aten.clamp_min.Tensor", "self min", clamp},
    {"aten.clamp_max.default", "self max", clamp},
    {"aten.clamp_max.Tensor", "self max", clamp},
    {"aten.where.self", "condition self other", where},
    {"aten.where.ScalarSelf", "condition self other", where},
    {"aten.where.ScalarOther", "condition self other", where},
    {"aten.where.Scalar", "condition self other", where},
    {"aten.masked_fill.Scalar", "self mask value", masked_fill},
    {"aten.masked_fill.Tensor", "self mask value", masked_fill},
    {"aten.nan_to_num.default", "self nan posinf neginf", nan_to_num},
    // of three
    {"aten.lerp.Scalar", "self end weight", lerp},
    {"aten.lerp.Tensor", "self end weight", lerp},
    {"aten.addcmul.default", "self tensor1 tensor2 value", addcmul},
    {"aten.addcdiv.default", "self tensor1 tensor2 value", addcdiv},
};

}  // namespace

std::span<const Row> pointwise_rows() { return pointwise_table; }

}  // namespace hocket::frontend

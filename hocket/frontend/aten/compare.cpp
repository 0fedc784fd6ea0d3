// Comparisons, logic and bits.

#include "hocket/base/error.h"
#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

Returned is_close(OperatorCall& c) {
  Value a = c.value("self"), b = c.value("other");
  Value equal = c.pointwise(ops::eq, {a, b});
  if (c.flag("equal_nan", false))
    equal = c.pointwise(ops::bit_or,
                        {equal, c.pointwise(ops::bit_and, {c.pointwise(ops::ne, {a, a}),
                                                           c.pointwise(ops::ne, {b, b})})});
  Value distance = c.pointwise(ops::abs, {c.pointwise(ops::sub, {a, b})});
  Value allowed = c.pointwise(
      ops::add, {c.pointwise(ops::mul, {c.pointwise(ops::abs, {b}), c.real("rtol", 1e-5)}),
                 c.real("atol", 1e-8)});
  Value finite = c.pointwise(ops::lt, {distance, infinity});
  Value near = c.pointwise(ops::bit_and, {finite, c.pointwise(ops::le, {distance, allowed})});
  return c.pointwise(ops::bit_or, {equal, near});
}

Value truth(OperatorCall& c, Operand o) {
  Value v = o.value ? o.value : c.scalar(DType::boolean, o.number);
  return c.type(v).dtype == DType::boolean ? v : c.pointwise(ops::ne, {v, 0});
}

Returned logical(OperatorCall& c) {
  return c.pointwise(*c.row().op, {truth(c, c.operand("self")), truth(c, c.operand("other"))});
}
Returned logical_not(OperatorCall& c) {
  return c.pointwise(ops::bit_not, {truth(c, c.operand("self"))});
}

Returned is_nan(OperatorCall& c) {
  Value x = c.value("self");
  return c.pointwise(ops::ne, {x, x});
}
Returned is_inf(OperatorCall& c) {
  Value x = c.value("self");
  if (!is_float(c.type(x).dtype)) return c.filled({DType::boolean, false, c.type(x).shape}, false);
  return c.pointwise(ops::eq, {c.pointwise(ops::abs, {x}), infinity});
}
Returned is_finite(OperatorCall& c) { return finite(c, c.value("self")); }
Returned sign_bit(OperatorCall& c) { return minus_sign(c, c.value("self")); }

constexpr Row compare_table[] = {
    {"aten.isclose.default", "self other rtol atol equal_nan", is_close},
    {"aten.eq.Tensor", "self other", binary, &ops::eq},
    {"aten.eq.Scalar", "self other", binary, &ops::eq},
    {"aten.ne.Tensor", "self other", binary, &ops::ne},
    {"aten.ne.Scalar", "self other", binary, &ops::ne},
    {"aten.lt.Tensor", "self other", binary, &ops::lt},
    {"aten.lt.Scalar", "self other", binary, &ops::lt},
    {"aten.le.Tensor", "self other", binary, &ops::le},
    {"aten.le.Scalar", "self other", binary, &ops::le},
    {"aten.gt.Tensor", "self other", binary, &ops::gt},
    {"aten.gt.Scalar", "self other", binary, &ops::gt},
    {"aten.ge.Tensor", "self other", binary, &ops::ge},
    {"aten.ge.Scalar", "self other", binary, &ops::ge},
    {"aten.logical_and.default", "self other", logical, &ops::bit_and},
    {"aten.logical_or.default", "self other", logical, &ops::bit_or},
    {"aten.logical_xor.default", "self other", logical, &ops::bit_xor},
    {"aten.logical_not.default", "self", logical_not},
    {"aten.bitwise_and.Tensor", "self other", binary, &ops::bit_and},
    {"aten.bitwise_and.Scalar", "self other", binary, &ops::bit_and},
    {"aten.bitwise_or.Tensor", "self other", binary, &ops::bit_or},
    {"aten.bitwise_or.Scalar", "self other", binary, &ops::bit_or},
    {"aten.bitwise_xor.Tensor", "self other", binary, &ops::bit_xor},
    {"aten.bitwise_xor.Scalar", "self other", binary, &ops::bit_xor},
    {"aten.__and__.Tensor", "self other", binary, &ops::bit_and},
    {"aten.__and__.Scalar", "self other", binary, &ops::bit_and},
    {"aten.__or__.Tensor", "self other", binary, &ops::bit_or},
    {"aten.__or__.Scalar", "self other", binary, &ops::bit_or},
    {"aten.__xor__.Tensor", "self other", binary, &ops::bit_xor},
    {"aten.__xor__.Scalar", "self other", binary, &ops::bit_xor},
    {"aten.bitwise_not.default", "self", unary, &ops::bit_not},
    {"aten.bitwise_left_shift.Tensor", "self other", binary, &ops::shift_left},
    {"aten.bitwise_left_shift.Tensor_Scalar", "self other", binary, &ops::shift_left},
    {"aten.bitwise_right_shift.Tensor", "self other", binary, &ops::shift_right},
    {"aten.bitwise_right_shift.Tensor_Scalar", "self other", binary, &ops::shift_right},
    {"aten.isnan.default", "self", is_nan},
    {"aten.isinf.default", "self", is_inf},
    {"aten.isfinite.default", "self", is_finite},
    {"aten.signbit.default", "self", sign_bit},
};

}  // namespace

std::span<const Row> compare_rows() { return compare_table; }

}  // namespace hocket::frontend

#pragma once
// PyTorch's arithmetic, for operators on single tensors and optimizers on lists.

#include "hocket/frontend/aten/operator_call.h"

namespace hocket::frontend {

/// Applies the op of the row to `self` (`binary`: to `self` and `other`).
Returned unary(OperatorCall& c);
Returned binary(OperatorCall& c);
/// a op alpha b, rounded once.
Value with_alpha(OperatorCall& c, const Op& op, Operand a, Operand b, const Number& alpha);
/// x to a power; small exponents become products, as in the source.
Value power(OperatorCall& c, Value x, const Number& exponent);
/// a + w (b - a); computed from b when w is at least a half, as in the source.
Value interpolated(OperatorCall& c, Value a, Value b, Operand weight);
/// a + value (b op d), op being a product or a quotient.
Value with_product(OperatorCall& c, const Op& op, Value a, Value b, Value d, Operand value);
Value divided(OperatorCall& c, Operand a, Operand b);
/// x clamped to bounds, either of which may be missing.
Value bounded(OperatorCall& c, Value x, std::optional<Operand> low, std::optional<Operand> high);
/// True where x is neither infinite nor NaN.
Value finite(OperatorCall& c, Value x);
/// True where the sign bit is set, also for -0; undefined for NaN.
Value minus_sign(OperatorCall& c, Value x);
/// A norm of the given order over dimensions (order 2: the root of the sum of squares).
Value norm(OperatorCall& c, Value x, double order, const Ints& dims, bool keep, DType dtype);

}  // namespace hocket::frontend

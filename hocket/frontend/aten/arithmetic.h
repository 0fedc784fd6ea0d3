#pragma once
// Arithmetic of the source that single operators and optimizers on lists share.

#include "hocket/frontend/aten/operator_call.h"

namespace hocket::frontend {

/// The row's op of `self`, and of `self` and `other`.
Returned unary(OperatorCall& c);
Returned binary(OperatorCall& c);
/// a op alpha b, rounded once.
Value with_alpha(OperatorCall& c, const Op& op, Operand a, Operand b, const Number& alpha);
/// x to a power; small exponents are products, as in the source.
Value power(OperatorCall& c, Value x, const Number& exponent);
/// From a to b: a + w (b - a), from the other end when w is at least a half.
Value interpolated(OperatorCall& c, Value a, Value b, Operand weight);
/// a + value (b op d), op being a product or a quotient.
Value with_product(OperatorCall& c, const Op& op, Value a, Value b, Value d, Operand value);
Value divided(OperatorCall& c, Operand a, Operand b);
/// Held between bounds of which either may be missing.
Value bounded(OperatorCall& c, Value x, std::optional<Operand> low, std::optional<Operand> high);
/// Whether it is neither infinite nor NaN.
Value finite(OperatorCall& c, Value x);
/// Whether it has a minus, as -0 does; that of a NaN nobody promises.
Value minus_sign(OperatorCall& c, Value x);
/// Root of the sum of squares, or another norm, over dimensions.
Value norm(OperatorCall& c, Value x, double order, const Ints& dims, bool keep, DType dtype);

}  // namespace hocket::frontend

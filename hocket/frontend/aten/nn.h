#pragma once
// Helpers for the translations of the source's neural-network operators.

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/frontend/aten/operator_call.h"

namespace hocket::frontend {

namespace nn {

[[noreturn]] void refuse_random(const OperatorCall& c);

// ---- arguments
enum class Reduction : std::uint8_t { none, mean, sum };
Reduction reduction(const OperatorCall& c);
Value optional_value(OperatorCall& c, std::string_view name);
/// The operands of an optional slot: v, or nothing if v is none.
std::vector<Value> slot(Value v);
/// One number for each of `count` dimensions; a single number is used for all, `missing` for none.
Ints per_dim(const OperatorCall& c, std::string_view name, std::size_t count, std::int64_t missing);

// ---- types
/// The dtype in which formulas on this dtype are computed; results are rounded once at the end.
DType wide_dtype(DType dtype);
/// The dtype that all given values have, otherwise the wide dtype of the first. Ignores values that
/// are none.
DType common_dtype(const OperatorCall& c, std::initializer_list<Value> values);
/// The type that the source gives for a result; null if it gives none.
const Type* result_type(const OperatorCall& c, std::size_t result);
/// Cast to the dtype that the source gives for this result, otherwise to `missing`.
Value as_result(OperatorCall& c, Value v, std::size_t result, DType missing);
/// The values, each none if the output mask of the call is false for it.
std::vector<Value> masked(const OperatorCall& c, std::vector<Value> values, std::string_view mask);

// ---- shapes
Ints all_dims(std::size_t rank);
Ints last_dims(std::size_t rank, std::size_t count);
Ints dims_but(std::size_t rank, std::size_t dim);
/// A vector as dimension 1 of a tensor of that rank; the other dimensions are 1.
Value by_channel(OperatorCall& c, Value v, std::size_t rank);
/// x padded by `low` and `high` elements of this value in each dimension.
Value padded(OperatorCall& c, Value x, const Ints& low, const Ints& high, double value);

// ---- formulas
/// A value with arithmetic operators, for formulas: shapes are broadcast, and numbers are not
/// rounded first.
struct Expr {
  OperatorCall* call = nullptr;
  Value value;
};

/// A part of a formula: an expression or a number.
struct Term {
  OperatorCall* call = nullptr;
  Operand operand;
  Term(const Expr& e) : call(e.call), operand(e.value) {}  // NOLINT(google-explicit-constructor)
  Term(const Number& n) : operand(n) {}                    // NOLINT(google-explicit-constructor)
  Term(double n) : operand(n) {}                           // NOLINT(google-explicit-constructor)
  Term(int n) : operand(n) {}                              // NOLINT(google-explicit-constructor)
};

/// Cast to the dtype that formulas are computed in.
Expr wide(OperatorCall& c, Value v);
Expr wide(OperatorCall& c, std::string_view name);

Expr apply(const Op& op, const Term& a);
Expr apply(const Op& op, const Term& a, const Term& b);
Expr apply(const Op& op, const Term& a, const Term& b, const Term& d);
Expr select(const Expr& condition, const Term& a, const Term& b);
/// Reduces x over these dimensions.
Expr reduce(const Op& op, const Expr& x, const Ints& dims, bool keep);

Expr operator+(const Term& a, const Term& b);
Expr operator-(const Term& a, const Term& b);
Expr operator*(const Term& a, const Term& b);
Expr operator/(const Term& a, const Term& b);
Expr operator-(const Expr& a);
Expr operator<(const Term& a, const Term& b);
Expr operator<=(const Term& a, const Term& b);
Expr operator>(const Term& a, const Term& b);
Expr operator>=(const Term& a, const Term& b);
Expr operator&(const Expr& a, const Expr& b);
Expr operator|(const Expr& a, const Expr& b);

// ---- shared by several files
/// The source's product of tensors of any rank: a vector is a row on the left and a column on the
/// right, and its added dimension is removed from the result.
Value product(OperatorCall& c, Value a, Value b, bool transpose_b = false);
/// `self` padded by `pad` with its own elements: reflect, replicate or circular.
Value padded_from_itself(OperatorCall& c, std::string_view mode);
/// One spatial dimension of images that are resized.
struct Resize {
  std::int64_t dim, in, out;
  double factor;  ///< as given by the caller, otherwise 0
};
/// For images of shape `in`; the operator's name gives the number of dimensions.
std::vector<Resize> resizes(const OperatorCall& c, const Ints& in);
/// f(x), computed in the wide dtype and rounded once.
template <class F>
Value activation(OperatorCall& c, F f) {
  Value x = c.value("self");
  return c.cast(f(wide(c, x)).value, c.type(x).dtype);
}

/// f(gradient, x), computed in the wide dtype and rounded once.
template <class F>
Value gradient(OperatorCall& c, std::string_view dy_name, std::string_view x_name, F f) {
  Value dy = c.value(dy_name), x = c.value(x_name);
  return c.cast(f(wide(c, dy), wide(c, x)).value, c.promoted({dy, x}));
}

template <class F>
Value gradient(OperatorCall& c, F f) {
  return gradient(c, "grad_output", "self", f);
}

}  // namespace nn
}  // namespace hocket::frontend

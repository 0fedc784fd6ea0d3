#pragma once
// Translations of the source's neural-network operators, and the words they share.

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
/// For a slot that may be empty.
std::vector<Value> slot(Value v);
/// One number for each of `count` dimensions; a single one stands for all, `missing` for none.
Ints per_dim(const OperatorCall& c, std::string_view name, std::size_t count, std::int64_t missing);

// ---- types
/// The dtype that formulas on this one are computed in; rounded once at the end.
DType wide_dtype(DType dtype);
/// The dtype that all of these have (empty ones do not count), otherwise the wide one of the first.
DType common_dtype(const OperatorCall& c, std::initializer_list<Value> values);
/// What the source says about a result, when it says anything.
const Type* result_type(const OperatorCall& c, std::size_t result);
/// In the dtype that the source gives this result, otherwise in `missing`.
Value as_result(OperatorCall& c, Value v, std::size_t result, DType missing);
/// None where the mask says that the source wants nothing.
std::vector<Value> masked(const OperatorCall& c, std::vector<Value> values, std::string_view mask);

// ---- shapes
Ints all_dims(std::size_t rank);
Ints last_dims(std::size_t rank, std::size_t count);
Ints dims_but(std::size_t rank, std::size_t dim);
/// A vector in the place of dimension 1 of a tensor of that rank.
Value by_channel(OperatorCall& c, Value v, std::size_t rank);
/// x with `low` and `high` more along each dimension, all of this number.
Value padded(OperatorCall& c, Value x, const Ints& low, const Ints& high, double value);

// ---- formulas
/// A value with the arithmetic of formulas: shapes spread and numbers keep their digits.
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

/// In the dtype that formulas are computed in.
Expr wide(OperatorCall& c, Value v);
Expr wide(OperatorCall& c, std::string_view name);

Expr apply(const Op& op, const Term& a);
Expr apply(const Op& op, const Term& a, const Term& b);
Expr apply(const Op& op, const Term& a, const Term& b, const Term& d);
Expr select(const Expr& condition, const Term& a, const Term& b);
/// Over these dimensions.
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
/// As the source multiplies tensors of any rank: a vector is a row on the left, a column on the
/// right, and its dimension goes again.
Value product(OperatorCall& c, Value a, Value b, bool transpose_b = false);
/// `self` with `pad` more elements, taken from itself: reflect, replicate or circular.
Value padded_from_itself(OperatorCall& c, std::string_view mode);
/// One spatial dimension of images that are made larger or smaller.
struct Resize {
  std::int64_t dim, in, out;
  double factor;  ///< as the caller gave it, otherwise 0
};
/// From images of shape `in`; the operator's name says how many dimensions.
std::vector<Resize> resizes(const OperatorCall& c, const Ints& in);
/// f(x), computed wide and rounded once.
template <class F>
Value activation(OperatorCall& c, F f) {
  Value x = c.value("self");
  return c.cast(f(wide(c, x)).value, c.type(x).dtype);
}

/// f(gradient, x), computed wide and rounded once.
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

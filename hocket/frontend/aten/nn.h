#pragma once
// Translations of the source's neural-network operators, and the words they share.

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/frontend/aten/call.h"

namespace hocket::frontend {

/// Products, convolutions, norms, attention, pools, losses and activations.
std::span<const Row> nn_rows();

namespace nn {

// ---- the parts of nn_rows, one per file
std::span<const Row> product_rows();
std::span<const Row> contraction_rows();
std::span<const Row> conv_rows();
std::span<const Row> norm_rows();
std::span<const Row> batch_norm_rows();
std::span<const Row> softmax_rows();
std::span<const Row> attention_rows();
std::span<const Row> pool_rows();
std::span<const Row> resize_rows();
std::span<const Row> class_loss_rows();
std::span<const Row> distance_rows();
std::span<const Row> activation_rows();
std::span<const Row> piecewise_rows();

[[noreturn]] void refuse_random(const Call& c);

// ---- arguments
enum class Reduction : std::uint8_t { none, mean, sum };
Reduction reduction(const Call& c);
Value optional_value(Call& c, std::string_view name);
/// For a slot that may be empty.
std::vector<Value> slot(Value v);
/// One number for each of `count` dimensions; a single one stands for all, `missing` for none.
Ints per_dim(const Call& c, std::string_view name, std::size_t count, std::int64_t missing);

// ---- types
/// The dtype that formulas on this one are computed in; rounded once at the end.
DType wide_dtype(DType dtype);
/// The dtype that all of these have (empty ones do not count), otherwise the wide one of the first.
DType common_dtype(const Call& c, std::initializer_list<Value> values);
/// What the source says about a result, when it says anything.
const Type* result_type(const Call& c, std::size_t result);
/// In the dtype that the source gives this result, otherwise in `missing`.
Value as_result(Call& c, Value v, std::size_t result, DType missing);
/// None where the mask says that the source wants nothing.
std::vector<Value> masked(const Call& c, std::vector<Value> values, std::string_view mask);

// ---- shapes
Ints all_dims(std::size_t rank);
Ints last_dims(std::size_t rank, std::size_t count);
Ints dims_but(std::size_t rank, std::size_t dim);
/// A vector in the place of dimension 1 of a tensor of that rank.
Value by_channel(Call& c, Value v, std::size_t rank);
/// x with `low` and `high` more along each dimension, all of this number.
Value padded(Call& c, Value x, const Ints& low, const Ints& high, double value);

// ---- formulas
/// A value with the arithmetic of formulas: shapes spread and numbers keep their digits.
struct Expr {
  Call* call = nullptr;
  Value value;
};

/// A part of a formula: an expression or a number.
struct Term {
  Call* call = nullptr;
  Operand operand;
  Term(const Expr& e) : call(e.call), operand(e.value) {}  // NOLINT(google-explicit-constructor)
  Term(const Number& n) : operand(n) {}                    // NOLINT(google-explicit-constructor)
  Term(double n) : operand(n) {}                           // NOLINT(google-explicit-constructor)
  Term(int n) : operand(n) {}                              // NOLINT(google-explicit-constructor)
};

/// In the dtype that formulas are computed in.
Expr wide(Call& c, Value v);
Expr wide(Call& c, std::string_view name);

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
Value product(Call& c, Value a, Value b, bool transpose_b = false);
/// One spatial dimension of images that are made larger or smaller.
struct Resize {
  std::int64_t dim, in, out;
  double factor;  ///< as the caller gave it, otherwise 0
};
/// From images of shape `in`; the operator's name says how many dimensions.
std::vector<Resize> resizes(const Call& c, const Ints& in);
/// f(x), computed wide and rounded once.
template <class F>
Value activation(Call& c, F f) {
  Value x = c.value("self");
  return c.cast(f(wide(c, x)).value, c.type(x).dtype);
}

/// f(gradient, x), computed wide and rounded once.
template <class F>
Value gradient(Call& c, std::string_view dy_name, std::string_view x_name, F f) {
  Value dy = c.value(dy_name), x = c.value(x_name);
  return c.cast(f(wide(c, dy), wide(c, x)).value, c.promoted({dy, x}));
}

template <class F>
Value gradient(Call& c, F f) {
  return gradient(c, "grad_output", "self", f);
}

}  // namespace nn
}  // namespace hocket::frontend

#include "hocket/frontend/aten/arithmetic.h"

#include <cmath>

#include "hocket/base/error.h"

namespace hocket::frontend {

Returned unary(OperatorCall& c) { return c.pointwise(*c.row().op, {c.value("self")}); }
Returned binary(OperatorCall& c) {
  return c.pointwise(*c.row().op, {c.operand("self"), c.operand("other")});
}

Value with_alpha(OperatorCall& c, const Op& op, Operand a, Operand b, const Number& alpha) {
  if (as_double(alpha) == 1) return c.pointwise(op, {a, b});
  DType dtype = c.promoted({a, b}), compute = row(dtype).compute;
  if (!is_float(dtype) && std::holds_alternative<double>(alpha))
    c.refuse("alpha is a float, the tensors are integers");
  Value product = c.pointwise(ops::mul, {c.plain(b, compute), alpha});
  return c.cast(c.pointwise(op, {c.plain(a, compute), product}), dtype);
}

Value power(OperatorCall& c, Value x, const Number& exponent) {
  double e = as_double(exponent);
  DType dtype = c.promoted({x, exponent});
  x = c.cast(x, dtype);
  if (!is_float(dtype)) {
    if (e < 0) c.refuse("an integer to a power that is negative");
    Value result = c.filled(c.type(x), std::int64_t{1}), square = x;
    for (auto n = static_cast<std::int64_t>(e); n > 0; n >>= 1) {
      if ((n & 1) != 0) result = c.build(ops::mul, {result, square});
      if (n > 1) square = c.build(ops::mul, {square, square});
    }
    return result;
  }
  Value wide = c.cast(x, row(dtype).compute), y;
  auto squared = [&] { return c.build(ops::mul, {wide, wide}); };
  if (e == 0)
    y = c.filled(c.type(wide), 1.0);
  else if (e == 1)
    y = wide;
  else if (e == 2)
    y = squared();
  else if (e == 3)
    y = c.build(ops::mul, {squared(), wide});
  else if (e == 0.5)
    y = c.build(ops::sqrt, {wide});
  else if (e == -0.5)
    y = c.build(ops::rsqrt, {wide});
  else if (e == -1)
    y = c.pointwise(ops::div, {1.0, wide});
  else if (e == -2)
    y = c.pointwise(ops::div, {1.0, squared()});
  else
    y = c.pointwise(ops::pow, {wide, e});
  return c.cast(y, dtype);
}

Value interpolated(OperatorCall& c, Value a, Value b, Operand weight) {
  DType dtype = c.promoted({a, b}), compute = row(dtype).compute;
  a = c.cast(a, compute);
  b = c.cast(b, compute);
  Value distance = c.pointwise(ops::sub, {b, a});
  auto from_a = [&](Operand w) {
    return c.pointwise(ops::add, {a, c.pointwise(ops::mul, {distance, w})});
  };
  auto from_b = [&](Operand rest) {
    return c.pointwise(ops::sub, {b, c.pointwise(ops::mul, {distance, rest})});
  };
  if (!weight.value) {
    double w = as_double(weight.number);
    return c.cast(std::abs(w) < 0.5 ? from_a(w) : from_b(1 - w), dtype);
  }
  Value w = c.cast(weight.value, compute);
  Value near = c.pointwise(ops::lt, {c.build(ops::abs, {w}), 0.5});
  Value first = from_a(w), second = from_b(c.pointwise(ops::sub, {1.0, w}));
  const Shape shape = c.type(first).shape;
  return c.cast(c.build(ops::select, {c.spread(near, shape), first, second}), dtype);
}

Value with_product(OperatorCall& c, const Op& op, Value a, Value b, Value d, Operand value) {
  DType dtype = c.promoted({a, b, d}), compute = row(dtype).compute;
  if (&op == &ops::div && !is_float(dtype)) c.refuse("divides integers");
  Value left = c.cast(b, compute), right = c.cast(d, compute);
  bool plain = !value.value && as_double(value.number) == 1;
  if (!plain) left = c.pointwise(ops::mul, {left, value});
  Value product = c.pointwise(op, {left, right});
  return c.cast(c.pointwise(ops::add, {c.cast(a, compute), product}), dtype);
}

Value divided(OperatorCall& c, Operand a, Operand b) { return c.float_pointwise(ops::div, {a, b}); }

Value bounded(OperatorCall& c, Value x, std::optional<Operand> low, std::optional<Operand> high) {
  // The dtype is promoted from all three; NaN stays NaN.
  std::vector<Operand> all{x};
  if (low) all.push_back(*low);
  if (high) all.push_back(*high);
  DType dtype = c.promoted(all);
  x = c.cast(x, dtype);
  if (low) x = c.pointwise(ops::maximum, {x, c.plain(*low, dtype)});
  if (high) x = c.pointwise(ops::minimum, {x, c.plain(*high, dtype)});
  return x;
}

Value finite(OperatorCall& c, Value x) {
  if (!is_float(c.type(x).dtype)) return c.filled({DType::boolean, false, c.type(x).shape}, true);
  return c.pointwise(ops::lt, {c.build(ops::abs, {x}), infinity});
}

Value minus_sign(OperatorCall& c, Value x) {
  Value below = c.pointwise(ops::lt, {x, 0});
  if (!is_float(c.type(x).dtype)) return below;
  // 1 / -0 is -inf.
  Value minus_zero = c.build(
      ops::bit_and,
      {c.pointwise(ops::eq, {x, 0}), c.pointwise(ops::lt, {c.pointwise(ops::div, {1.0, x}), 0})});
  return c.build(ops::bit_or, {below, minus_zero});
}

Value norm(OperatorCall& c, Value x, double order, const Ints& dims, bool keep, DType dtype) {
  DType wide = row(dtype).accumulate;
  Value y = c.build(ops::abs, {c.cast(x, wide)});
  if (order == infinity)
    y = c.reduce(ops::max, y, dims, keep);
  else if (order == -infinity)
    y = c.reduce(ops::min, y, dims, keep);
  else if (order == 0)
    y = c.reduce(ops::sum, c.cast(c.pointwise(ops::ne, {y, 0}), wide), dims, keep);
  else if (order == 1)
    y = c.reduce(ops::sum, y, dims, keep);
  else
    y = power(c, c.reduce(ops::sum, power(c, y, order), dims, keep), 1 / order);
  return c.cast(y, dtype);
}

}  // namespace hocket::frontend

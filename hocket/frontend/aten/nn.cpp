#include "hocket/frontend/aten/nn.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket::frontend {

namespace nn {

void refuse_random(const OperatorCall& c) {
  c.refuse("needs random numbers, and the state of the generator is not in the file");
}

Reduction reduction(const OperatorCall& c) {
  std::int64_t r = c.integer("reduction", 1);
  if (r < 0 || r > 2) c.refuse("an unknown reduction");
  return static_cast<Reduction>(r);
}

Value optional_value(OperatorCall& c, std::string_view name) {
  return c.has(name) ? c.value(name) : Value{};
}

std::vector<Value> slot(Value v) { return v ? std::vector<Value>{v} : std::vector<Value>{}; }

Ints per_dim(const OperatorCall& c, std::string_view name, std::size_t count,
             std::int64_t missing) {
  Ints list = c.ints(name);
  if (list.size() <= 1) list.assign(count, list.empty() ? missing : list[0]);
  if (list.size() != count)
    c.refuse(fmt::format("{} is {}, wanted {} numbers", name, dims_text(list), count));
  return list;
}

DType wide_dtype(DType dtype) { return row(dtype).compute; }

DType common_dtype(const OperatorCall& c, std::initializer_list<Value> values) {
  DType first = c.type(*values.begin()).dtype;
  for (Value v : values)
    if (v && c.type(v).dtype != first) return wide_dtype(first);
  return first;
}

const Type* result_type(const OperatorCall& c, std::size_t result) {
  const Meta& meta = c.node().meta;
  const Meta* m = meta.list.empty() && result == 0 ? &meta
                  : result < meta.list.size()      ? &meta.list[result]
                                                   : nullptr;
  return m != nullptr && m->type ? &*m->type : nullptr;
}

Value as_result(OperatorCall& c, Value v, std::size_t result, DType missing) {
  const Type* type = result_type(c, result);
  return c.cast(v, type != nullptr ? type->dtype : missing);
}

std::vector<Value> masked(const OperatorCall& c, std::vector<Value> values, std::string_view mask) {
  std::vector<bool> wanted = c.flags(mask);
  for (std::size_t i = 0; i < values.size() && i < wanted.size(); ++i)
    if (!wanted[i]) values[i] = Value{};
  return values;
}

Ints all_dims(std::size_t rank) { return last_dims(rank, rank); }

Ints last_dims(std::size_t rank, std::size_t count) {
  Ints dims;
  for (std::size_t i = rank - count; i < rank; ++i) dims.push_back(static_cast<std::int64_t>(i));
  return dims;
}

Ints dims_but(std::size_t rank, std::size_t dim) {
  Ints dims = all_dims(rank);
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(dim));
  return dims;
}

Value by_channel(OperatorCall& c, Value v, std::size_t rank) {
  Shape shape(static_cast<std::uint32_t>(rank), 1);
  shape[1] = c.type(v).elements();
  return c.reshape(v, shape);
}

Value padded(OperatorCall& c, Value x, const Ints& low, const Ints& high, double value) {
  auto nothing = [](std::int64_t width) { return width == 0; };
  if (std::ranges::all_of(low, nothing) && std::ranges::all_of(high, nothing)) return x;
  return c.build(ops::pad, {x, c.scalar(c.type(x).dtype, value)}, {{"low", low}, {"high", high}});
}

// ---- formulas

Expr wide(OperatorCall& c, Value v) { return {&c, c.cast(v, wide_dtype(c.type(v).dtype))}; }
Expr wide(OperatorCall& c, std::string_view name) { return wide(c, c.value(name)); }

Expr apply(const Op& op, const Term& a) { return {a.call, a.call->pointwise(op, {a.operand})}; }

Expr apply(const Op& op, const Term& a, const Term& b) {
  OperatorCall* call = a.call != nullptr ? a.call : b.call;
  return {call, call->pointwise(op, {a.operand, b.operand})};
}

Expr apply(const Op& op, const Term& a, const Term& b, const Term& d) {
  OperatorCall* call = a.call != nullptr ? a.call : b.call != nullptr ? b.call : d.call;
  return {call, call->pointwise(op, {a.operand, b.operand, d.operand})};
}

Expr select(const Expr& condition, const Term& a, const Term& b) {
  OperatorCall& c = *condition.call;
  DType dtype = c.promoted({a.operand, b.operand});
  Value x = c.plain(a.operand, dtype), y = c.plain(b.operand, dtype);
  Shape shape = c.common_shape({condition.value, x, y});
  return {&c, c.build(ops::select, {c.broadcast(condition.value, shape), c.spread(x, shape),
                                    c.spread(y, shape)})};
}

Expr reduce(const Op& op, const Expr& x, const Ints& dims, bool keep) {
  return {x.call, x.call->reduce(op, x.value, dims, keep)};
}

Expr operator+(const Term& a, const Term& b) { return apply(ops::add, a, b); }
Expr operator-(const Term& a, const Term& b) { return apply(ops::sub, a, b); }
Expr operator*(const Term& a, const Term& b) { return apply(ops::mul, a, b); }
Expr operator/(const Term& a, const Term& b) { return apply(ops::div, a, b); }
Expr operator-(const Expr& a) { return apply(ops::neg, a); }
Expr operator<(const Term& a, const Term& b) { return apply(ops::lt, a, b); }
Expr operator<=(const Term& a, const Term& b) { return apply(ops::le, a, b); }
Expr operator>(const Term& a, const Term& b) { return apply(ops::gt, a, b); }
Expr operator>=(const Term& a, const Term& b) { return apply(ops::ge, a, b); }
Expr operator&(const Expr& a, const Expr& b) { return apply(ops::bit_and, a, b); }
Expr operator|(const Expr& a, const Expr& b) { return apply(ops::bit_or, a, b); }

}  // namespace nn
}  // namespace hocket::frontend

#include "hocket/frontend/aten_nn.h"

#include <algorithm>
#include <array>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket::frontend {

std::span<const Row> nn_rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> rows;
    for (std::span<const Row> part :
         {nn::product_rows(), nn::conv_rows(), nn::norm_rows(), nn::batch_norm_rows(),
          nn::softmax_rows(), nn::attention_rows(), nn::pool_rows(), nn::resize_rows(),
          nn::class_loss_rows(), nn::distance_rows(), nn::activation_rows()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

namespace nn {

Value optional_value(Call& c, std::string_view name) {
  return c.has(name) ? c.value(name) : Value{};
}

std::vector<Value> slot(Value v) { return v ? std::vector<Value>{v} : std::vector<Value>{}; }

Ints per_dim(const Call& c, std::string_view name, std::size_t count, std::int64_t missing) {
  Ints list = c.ints(name);
  if (list.size() <= 1) list.assign(count, list.empty() ? missing : list[0]);
  if (list.size() != count)
    c.refuse(fmt::format("{} is {}, wanted {} numbers", name, dims_text(list), count));
  return list;
}

DType wide_dtype(DType dtype) { return row(dtype).compute; }

DType common_dtype(const Call& c, std::initializer_list<Value> values) {
  DType first = c.type(*values.begin()).dtype;
  for (Value v : values)
    if (v && c.type(v).dtype != first) return wide_dtype(first);
  return first;
}

Shape joined(const Call& c, const Shape& a, const Shape& b) {
  Shape all = a.size() >= b.size() ? a : b;
  const Shape& less = a.size() >= b.size() ? b : a;
  for (std::size_t i = 0; i < less.size(); ++i) {
    std::int64_t& size = all[all.size() - less.size() + i];
    if (size != less[i] && size != 1 && less[i] != 1)
      c.refuse(fmt::format("shapes {} and {} do not fit together", dims_text({a.data(), a.size()}),
                           dims_text({b.data(), b.size()})));
    if (size == 1) size = less[i];
  }
  return all;
}

const Type* result_type(const Call& c, std::size_t result) {
  const Meta& meta = c.node().meta;
  const Meta* m = meta.list.empty() && result == 0 ? &meta
                  : result < meta.list.size()      ? &meta.list[result]
                                                   : nullptr;
  return m != nullptr && m->type ? &*m->type : nullptr;
}

Value as_result(Call& c, Value v, std::size_t result, DType missing) {
  const Type* type = result_type(c, result);
  return c.cast(v, type != nullptr ? type->dtype : missing);
}

std::vector<Value> masked(const Call& c, std::vector<Value> values, std::string_view mask) {
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

Value by_channel(Call& c, Value v, std::size_t rank) {
  Shape shape(static_cast<std::uint32_t>(rank), 1);
  shape[1] = c.type(v).elements();
  return c.reshape(v, shape);
}

Value padded(Call& c, Value x, const Ints& low, const Ints& high, double value) {
  auto nothing = [](std::int64_t width) { return width == 0; };
  if (std::ranges::all_of(low, nothing) && std::ranges::all_of(high, nothing)) return x;
  return c.build(ops::pad, {x, c.scalar(c.type(x).dtype, value)}, {{"low", low}, {"high", high}});
}

// ---- formulas

Expr wide(Call& c, Value v) { return {&c, c.cast(v, wide_dtype(c.type(v).dtype))}; }
Expr wide(Call& c, std::string_view name) { return wide(c, c.value(name)); }

Expr apply(const Op& op, const Term& a) { return {a.call, a.call->pointwise(op, {a.operand})}; }

Expr apply(const Op& op, const Term& a, const Term& b) {
  Call* call = a.call != nullptr ? a.call : b.call;
  return {call, call->pointwise(op, {a.operand, b.operand})};
}

Expr apply(const Op& op, const Term& a, const Term& b, const Term& d) {
  Call* call = a.call != nullptr ? a.call : b.call != nullptr ? b.call : d.call;
  return {call, call->pointwise(op, {a.operand, b.operand, d.operand})};
}

Expr select(const Expr& condition, const Term& a, const Term& b) {
  Call& c = *condition.call;
  DType dtype = c.promoted(std::array{a.operand, b.operand});
  Shape shape = c.type(condition.value).shape;
  for (const Term* t : {&a, &b})
    if (t->operand.value) shape = joined(c, shape, c.type(t->operand.value).shape);
  auto spread = [&](const Term& t) {
    if (!t.operand.value) return c.scalar(dtype, t.operand.number);
    Value v = c.cast(t.operand.value, dtype);
    return c.type(v).shape.empty() ? v : c.broadcast(v, shape);
  };
  return {&c, c.build(ops::select, {c.broadcast(condition.value, shape), spread(a), spread(b)})};
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

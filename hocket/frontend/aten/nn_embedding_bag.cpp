// embedding_bag: rows of a table, reduced bag by bag. Each bag begins at its offset, so the bag of
// a row depends on values, but no shape does.

#include <limits>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

enum Mode : std::uint8_t { sum, mean, maximum };

Mode mode(const OperatorCall& c) {
  std::int64_t m = c.integer("mode", 0);
  if (m < 0 || m > 2) c.refuse("an unknown mode");
  return static_cast<Mode>(m);
}

Value bag_indices(OperatorCall& c) {
  Value v = c.cast(c.value("indices"), DType::i64);
  if (c.type(v).shape.size() != 1 || c.type(v).elements() == 0)
    c.refuse("indices are no vector with elements");
  return v;
}

Value added_by(OperatorCall& c, Value index, Value rows, std::int64_t count) {
  Type type = c.type(rows);
  type.shape[0] = count;
  return c.build_lists(ops::index_put, {{c.filled(type, std::int64_t{0})}, {rows}, {index}},
                       {{"dims", Ints{0}}, {"accumulate", true}})[0];
}

Expr at(OperatorCall& c, const Expr& x, Value index) {
  return {&c, c.build_lists(ops::index, {{x.value}, {index}}, {{"dims", Ints{0}}})[0]};
}

/// As a column, to be broadcast over rows.
Expr column(OperatorCall& c, const Expr& v) {
  return {&c, c.reshape(v.value, {c.type(v.value).elements(), 1})};
}

/// The bag of each of n rows: the number of bags that have begun, minus one.
Value bag_of_each(OperatorCall& c, Value offsets, std::int64_t n) {
  Value begun = added_by(c, offsets, c.filled(c.type(offsets), std::int64_t{1}), n + 1);
  begun = c.slice(c.build(ops::cumsum, {begun}, {{"dim", 0}}), 0, 0, n);
  return (Expr{&c, begun} - 1).value;
}

/// The maximum of each bag and the first id that has it; zeros for empty bags.
std::vector<Expr> largest(OperatorCall& c, const Expr& rows, Value bag, const Expr& counts,
                          Value id) {
  const Type type = c.type(rows.value);
  std::int64_t n = type.shape[0];
  Value index = c.broadcast(column(c, {&c, bag}).value, type.shape);
  auto extreme = [&](DType dtype, const Number& start, const Expr& x, const char* reduce) {
    Value from = c.filled({dtype, false, {c.type(counts.value).elements(), type.shape[1]}}, start);
    return Expr{&c,
                c.build(ops::scatter, {from, index, x.value}, {{"dim", 0}, {"reduce", reduce}})};
  };
  Expr top = extreme(type.dtype, -std::numeric_limits<double>::infinity(), rows, "max");
  Expr place{&c, c.iota({DType::i64, false, type.shape}, 0)};
  place = select(apply(ops::eq, rows, at(c, top, bag)), place, Number(n - 1));
  Expr first = extreme(DType::i64, n - 1, place, "min");
  Expr some = column(c, counts) > 0;
  return {select(some, top, 0.0), select(some, at(c, {&c, id}, first.value), 0)};
}

Returned embedding_bag(OperatorCall& c) {
  Value table = c.value("weight"), id = bag_indices(c),
        offsets = c.cast(c.value("offsets"), DType::i64);
  std::int64_t n = c.type(id).elements(), padding = c.integer("padding_idx", -1);
  if (c.type(offsets).shape.size() != 1) c.refuse("offsets are no vector");
  std::int64_t bags = c.type(offsets).elements();
  if (c.flag("include_last_offset", false)) offsets = c.slice(offsets, 0, 0, --bags);
  if (bags < 1) c.refuse("has no bag");
  Value bag = bag_of_each(c, offsets, n);
  Expr rows = wide(c, c.build(ops::embedding, {table, id})),
       counted = apply(ops::ne, Expr{&c, id}, Number(padding));
  if (c.has("per_sample_weights")) rows = rows * column(c, wide(c, "per_sample_weights"));
  if (padding >= 0)
    rows = select(column(c, counted), rows,
                  mode(c) == maximum ? -std::numeric_limits<double>::infinity() : 0.0);
  Expr counts{&c, added_by(c, bag, c.cast(counted.value, DType::i64), bags)}, y{&c, {}};
  const Type* last = result_type(c, 3);
  Expr best{&c, c.filled(last != nullptr ? *last : c.type(offsets), std::int64_t{0})};
  if (mode(c) == maximum) {
    std::vector<Expr> both = largest(c, rows, bag, counts, id);
    y = both[0], best = both[1];
  } else {
    y.value = added_by(c, bag, rows.value, bags);
    Expr divisor{&c, c.cast(apply(ops::maximum, counts, 1).value, c.type(y.value).dtype)};
    if (mode(c) == mean) y = y / column(c, divisor);
  }
  // On some machines the source's second result is not the bag of each row: it is zeros here.
  const Type* second = result_type(c, 1);
  bool told = second == nullptr || second->elements() == n;
  return std::vector{c.cast(y.value, c.type(table).dtype),
                     told ? as_result(c, bag, 1, DType::i64) : c.filled(*second, std::int64_t{0}),
                     as_result(c, counts.value, 2, DType::i64),
                     as_result(c, best.value, 3, DType::i64)};
}

Returned embedding_bag_backward(OperatorCall& c) {
  Value dy = c.value("grad"), id = bag_indices(c);
  const Type type = c.type(dy);
  Expr d = wide(c, dy), counts{&c, c.cast(c.value("bag_size"), c.type(d.value).dtype)};
  std::int64_t rows = c.integer("num_weights");
  if (c.flag("scale_grad_by_freq", false)) c.refuse("scale_grad_by_freq");
  if (type.shape.size() != 2) c.refuse("the gradient is no matrix");
  if (mode(c) == maximum) {
    Expr none{&c, c.filled({c.type(d.value).dtype, false, {rows, type.shape[1]}}, 0.0)};
    d = select(column(c, counts) > 0.0, d, 0.0);
    Value where = c.cast(c.value("maximum_indices"), DType::i64);
    d.value = c.build(ops::scatter, {none.value, where, d.value}, {{"dim", 0}, {"reduce", "sum"}});
    return c.cast(d.value, type.dtype);
  }
  if (mode(c) == mean) d = d / column(c, apply(ops::maximum, counts, 1.0));
  d = at(c, d, c.cast(c.value("offset2bag"), DType::i64));
  if (c.has("per_sample_weights")) d = d * column(c, wide(c, "per_sample_weights"));
  d.value = c.build(ops::embedding_grad, {d.value, id},
                    {{"rows", rows}, {"padding", c.integer("padding_idx", -1)}});
  return c.cast(d.value, type.dtype);
}

constexpr std::string_view forward =
    "weight indices offsets scale_grad_by_freq mode sparse per_sample_weights include_last_offset "
    "padding_idx";

constexpr Row embedding_bag_table[] = {
    {"aten._embedding_bag.default", forward, embedding_bag},
    {"aten._embedding_bag_forward_only.default", forward, embedding_bag},
    {"aten._embedding_bag_dense_backward.default",
     "grad indices offset2bag bag_size maximum_indices num_weights scale_grad_by_freq mode "
     "per_sample_weights padding_idx",
     embedding_bag_backward},
};

}  // namespace

std::span<const Row> embedding_bag_rows() { return embedding_bag_table; }

}  // namespace hocket::frontend::nn

// Distances of all pairs, a scatter by mask, and weights that are a direction and a length.

#include "hocket/frontend/arithmetic.h"
#include "hocket/frontend/aten_nn.h"
#include "hocket/frontend/aten_rare.h"

namespace hocket::frontend::rare {
namespace {

using nn::Expr;
using nn::wide;

// ---- distances

/// Norms of the differences along the last dimension.
Value distances(Call& c, Value a, Value b) {
  Value d = c.pointwise(ops::sub, {a, b});
  Ints last{std::ssize(c.type(d).shape) - 1};
  return norm(c, d, c.real("p", 2), last, false, c.type(d).dtype);
}

/// Every row of x1 with every row of x2.
Returned cdist(Call& c) {
  Value a = c.value("x1"), b = c.value("x2");
  Shape left = c.type(a).shape, right = c.type(b).shape;
  if (left.size() < 2 || right.size() < 2) c.refuse("wanted matrices");
  left.insert(left.end() - 1, 1);
  right.insert(right.end() - 2, 1);
  return distances(c, c.reshape(a, left), c.reshape(b, right));
}

/// Every row with every later one: pair k starts row i at k = i (2n - 1 - i) / 2, solved for i.
Returned pdist(Call& c) {
  Value x = c.value("self");
  const Shape& shape = c.type(x).shape;
  if (shape.size() != 2) c.refuse("wanted a matrix");
  std::int64_t n = shape[0], pairs = n * (n - 1) / 2;
  auto m = static_cast<double>(2 * n - 1);
  Expr k{&c, c.iota({DType::f64, false, {pairs}}, 0)};
  Expr i = apply(ops::floor, (m - apply(ops::sqrt, m * m - k * 8.0)) * 0.5);
  Expr j = k - i * (m - i) * 0.5 + i + 1.0;
  auto rows = [&](const Expr& at) {
    return c.build_lists(ops::index, {{x}, {c.cast(at.value, DType::i64)}}, {{"dims", Ints{0}}})[0];
  };
  return distances(c, rows(i), rows(j));
}

// ---- masks

/// Where the mask holds, the next element of the source.
Returned masked_scatter(Call& c) {
  Value x = c.value("self"), mask = c.value("mask"), source = c.value("source");
  Shape shape = c.common_shape({x, mask});
  x = c.broadcast(x, shape);
  mask = c.broadcast(mask, shape);
  std::int64_t count = c.type(source).elements(), all = c.type(x).elements();
  if (count == 0 || all == 0) return x;
  Value ones = c.cast(c.reshape(mask, {all}), DType::i64);
  Expr at = Expr{&c, c.build(ops::cumsum, {ones}, {{"dim", 0}})} - 1;
  at = apply(ops::clamp, at, 0, Number(count - 1));  // where the mask does not hold, any will do
  Value next =
      c.build_lists(ops::index, {{c.reshape(source, {count})}, {at.value}}, {{"dims", Ints{0}}})[0];
  return c.build(ops::select, {mask, c.cast(c.reshape(next, shape), c.type(x).dtype), x});
}

// ---- weight norm

Ints all_but(Call& c, const Expr& v) {
  std::size_t rank = c.type(v.value).shape.size();
  if (rank == 0) c.refuse("a weight without dimensions");
  return nn::dims_but(rank, static_cast<std::size_t>(c.dim("dim", rank, 0)));
}

Returned weight_norm(Call& c) {
  Expr v = wide(c, "v"), g = wide(c, "g");
  Expr norms = apply(ops::sqrt, reduce(ops::sum, v * v, all_but(c, v), true));
  return std::vector{nn::as_result(c, (v * (g / norms)).value, 0, c.type("v").dtype),
                     nn::as_result(c, norms.value, 1, c.type("g").dtype)};
}

/// The gradient by the direction has no part along the direction.
Returned weight_norm_backward(Call& c) {
  Expr dw = wide(c, "grad_w"), v = wide(c, "saved_v"), g = wide(c, "saved_g");
  Expr norms = wide(c, "saved_norms"),
       along = reduce(ops::sum, dw * v, all_but(c, v), true) / norms;
  Expr dv = (g / norms) * (dw - v * (along / norms));
  return std::vector{nn::as_result(c, dv.value, 0, c.type("saved_v").dtype),
                     nn::as_result(c, along.value, 1, c.type("saved_g").dtype)};
}

constexpr Row other_table[] = {
    {"aten._cdist_forward.default", "x1 x2 p compute_mode", cdist},
    {"aten._pdist_forward.default", "self p", pdist},
    {"aten.masked_scatter.default", "self mask source", masked_scatter},
    {"aten._weight_norm_interface.default", "v g dim", weight_norm},
    {"aten._weight_norm_interface_backward.default", "grad_w saved_v saved_g saved_norms dim",
     weight_norm_backward},
};

}  // namespace

std::span<const Row> other_rows() { return other_table; }

}  // namespace hocket::frontend::rare

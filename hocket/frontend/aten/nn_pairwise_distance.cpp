// Distances of all pairs of rows.

#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

/// Norms of the differences along the last dimension.
Value distances(OperatorCall& c, Value a, Value b) {
  Value d = c.pointwise(ops::sub, {a, b});
  Ints last{std::ssize(c.type(d).shape) - 1};
  return norm(c, d, c.real("p", 2), last, false, c.type(d).dtype);
}

/// Every row of x1 with every row of x2.
Returned cdist(OperatorCall& c) {
  Value a = c.value("x1"), b = c.value("x2");
  Shape left = c.type(a).shape, right = c.type(b).shape;
  if (left.size() < 2 || right.size() < 2) c.refuse("wanted matrices");
  left.insert(left.end() - 1, 1);
  right.insert(right.end() - 2, 1);
  return distances(c, c.reshape(a, left), c.reshape(b, right));
}

/// Every row with every later one. Pairs of row i begin at k = i (2n - 1 - i) / 2, solved for i.
Returned pdist(OperatorCall& c) {
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

constexpr Row pairwise_distance_table[] = {
    {"aten._cdist_forward.default", "x1 x2 p compute_mode", cdist},
    {"aten._pdist_forward.default", "self p", pdist},
};

}  // namespace

std::span<const Row> pairwise_distance_rows() { return pairwise_distance_table; }

}  // namespace hocket::frontend::nn

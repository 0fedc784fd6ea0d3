// Cumulative maxima, minima and log-sum-exp, by doubling: after step k every element covers the 2^k
// elements up to it.

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

using nn::Expr;

/// `combine(earlier, later)` combines the values of two adjacent ranges elementwise, for several
/// tensors at once.
template <class F>
std::vector<Value> scan(OperatorCall& c, std::vector<Value> xs, std::int64_t dim, F combine) {
  std::int64_t size = c.type(xs[0]).shape[static_cast<std::size_t>(dim)];
  for (std::int64_t step = 1; step < size; step *= 2) {
    std::vector<Expr> earlier, later;
    for (Value x : xs) {
      earlier.push_back({&c, c.slice(x, dim, 0, size - step)});
      later.push_back({&c, c.slice(x, dim, step, size)});
    }
    std::vector<Expr> both = combine(earlier, later);
    for (std::size_t i = 0; i < xs.size(); ++i)
      xs[i] = c.build(ops::concat, {c.slice(xs[i], dim, 0, step), both[i].value}, {{"dim", dim}});
  }
  return xs;
}

/// A tensor without dimensions is scanned as if it had one.
struct Scanned {
  Value x;
  std::int64_t dim;
  Shape shape;  // as the source sees it
};

Scanned scanned(OperatorCall& c) {
  Value x = c.value("self");
  Shape shape = c.type(x).shape;
  return {shape.empty() ? c.reshape(x, {1}) : x, c.dim_or_first("dim", shape.size()), shape};
}

/// Of equal elements the index of the last one is given; NaN counts as the extreme.
Returned running_extreme(OperatorCall& c) {
  Scanned s = scanned(c);
  const Op& no_worse = *c.row().op;
  Value places = c.iota({DType::i64, false, c.type(s.x).shape}, s.dim);
  auto better = [&](const std::vector<Expr>& a, const std::vector<Expr>& b) {
    Expr second = apply(no_worse, b[0], a[0]) | apply(ops::ne, b[0], b[0]);
    return std::vector{select(second, b[0], a[0]), select(second, b[1], a[1])};
  };
  std::vector<Value> both = scan(c, {s.x, places}, s.dim, better);
  return std::vector{c.reshape(both[0], s.shape), c.reshape(both[1], s.shape)};
}

Returned logcumsumexp(OperatorCall& c) {
  Scanned s = scanned(c);
  auto add = [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
    // The difference of equal infinities would be NaN; it is taken as 0.
    Expr apart = select(apply(ops::eq, a[0], b[0]), 0.0, apply(ops::abs, a[0] - b[0]));
    return std::vector{apply(ops::maximum, a[0], b[0]) +
                       apply(ops::log1p, apply(ops::exp, -apart))};
  };
  Value y = scan(c, {nn::wide(c, s.x).value}, s.dim, add)[0];
  return c.reshape(c.cast(y, c.type(s.x).dtype), s.shape);
}

constexpr Row scan_table[] = {
    {"aten.cummax.default", "self dim", running_extreme, &ops::ge},
    {"aten.cummin.default", "self dim", running_extreme, &ops::le},
    {"aten.logcumsumexp.default", "self dim", logcumsumexp},
};

}  // namespace

std::span<const Row> scan_rows() { return scan_table; }

}  // namespace hocket::frontend

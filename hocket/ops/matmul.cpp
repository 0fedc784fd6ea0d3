// The matrix product.

#include <algorithm>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket::ops {
namespace {

struct ProductSizes {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
};

std::vector<Type> infer_matmul(const InferCall& c) {
  const Type &a = *c.inputs[0], &b = *c.inputs[1];
  auto refuse = [&](std::string_view wanted) {
    fail("matmul: operands are {} and {}{}{}, wanted {}", to_text(a), to_text(b),
         c.attr<bool>("transpose_a") ? ", a transposed" : "",
         c.attr<bool>("transpose_b") ? ", b transposed" : "", wanted);
  };
  std::size_t rank = a.shape.size();
  if (a.dtype != b.dtype || a.dtype == DType::boolean) refuse("numbers of one dtype");
  if (rank < 2 || b.shape.size() != rank) refuse("two matrices or two equal stacks of them");
  if (!std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin()))
    refuse("equal leading dimensions");
  auto of = [&](const Type& t, bool transposed, std::size_t i) {
    return t.shape[rank - 2 + (transposed ? 1 - i : i)];
  };
  bool ta = c.attr<bool>("transpose_a"), tb = c.attr<bool>("transpose_b");
  if (of(a, ta, 1) != of(b, tb, 0)) refuse("columns of a as many as rows of b");
  Type y{a.dtype, false, a.shape};
  y.shape[rank - 2] = of(a, ta, 0);
  y.shape[rank - 1] = of(b, tb, 1);
  return {y};
}

constexpr std::int64_t panel = 64;

/// Works on panels of columns that fit in the first-level cache; every element still sums its
/// products in the order of k.
template <class T>
void multiply(const T* a, const T* b, T* y, const ProductSizes& s, bool ta, bool tb,
              std::span<Accumulate<T>> columns) {
  using Sum = Accumulate<T>;
  std::int64_t a_row = ta ? 1 : s.k, a_col = ta ? s.m : 1;
  std::int64_t b_row = tb ? 1 : s.n, b_col = tb ? s.k : 1;
  for (std::int64_t j0 = 0; j0 < s.n; j0 += panel) {
    std::int64_t width = std::min(panel, s.n - j0);
    for (std::int64_t k = 0; k < s.k; ++k)
      for (std::int64_t j = 0; j < width; ++j)
        columns[static_cast<std::size_t>(k * width + j)] =
            static_cast<Sum>(load(b[k * b_row + (j0 + j) * b_col]));
    for (std::int64_t i = 0; i < s.m; ++i) {
      Sum sums[panel] = {};
      for (std::int64_t k = 0; k < s.k; ++k) {
        auto x = static_cast<Sum>(load(a[i * a_row + k * a_col]));
        const Sum* row = columns.data() + k * width;
        for (std::int64_t j = 0; j < width; ++j)
          sums[j] = wrapping_add(sums[j], wrapping_mul(x, row[j]));
      }
      for (std::int64_t j = 0; j < width; ++j) y[i * s.n + j0 + j] = store<T>(sums[j]);
    }
  }
}

void run_matmul(KernelCall& c) {
  const View& out = c.out();
  const Shape &a = c.inputs[0].type.shape, &y = out.type.shape;
  bool ta = c.attr<bool>("transpose_a"), tb = c.attr<bool>("transpose_b");
  std::size_t rank = y.size();
  ProductSizes s{1, y[rank - 2], y[rank - 1], a[rank - (ta ? 2 : 1)]};
  for (std::size_t i = 0; i + 2 < rank; ++i) s.batch *= y[i];
  visit(out.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto columns = c.scratch<Accumulate<T>>(s.k * std::min(panel, s.n));
    for (std::int64_t i = 0; i < s.batch; ++i)
      multiply<T>(c.inputs[0].as<T>() + i * s.m * s.k, c.inputs[1].as<T>() + i * s.k * s.n,
                  out.as<T>() + i * s.m * s.n, s, ta, tb, columns);
  });
}

std::int64_t columns_of_a(const InferCall& c) {
  const Shape& a = c.inputs[0]->shape;
  return a[a.size() - (c.attr<bool>("transpose_a") ? 2 : 1)];
}

/// One panel of b in the accumulate dtype.
std::int64_t matmul_scratch(const InferCall& c) {
  std::int64_t width = std::min(panel, c.written[0].shape.back());
  return columns_of_a(c) * width * bytes(row(c.written[0].dtype).accumulate);
}

/// A multiplication and an addition for each product.
double matmul_flops(const InferCall& c) {
  return 2.0 * static_cast<double>(c.written[0].elements()) * static_cast<double>(columns_of_a(c));
}

}  // namespace

constinit const Op matmul{
    .name = "matmul",
    .doc =
        "matrix product of a [.., m, k] and b [.., k, "
        "n], one for each index of the leading "
        "dimensions",
    .operands = {{"a"}, {"b"}},
    .attributes = {{"transpose_a", AttributeKind::flag, "a is given as [.., k, m]", false},
                   {"transpose_b", AttributeKind::flag, "b is given as [.., n, k]", false}},
    .infer = infer_matmul,
    .kernel = run_matmul,
    .flops = matmul_flops,
    .scratch = matmul_scratch};

}  // namespace hocket::ops

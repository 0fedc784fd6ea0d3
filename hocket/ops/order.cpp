// Elements put in order along a dimension.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/walk.h"

namespace hocket::ops {
namespace {

std::vector<Type> infer_sort(const InferCall& c) {
  const Type& x = *c.inputs[0];
  require_dims(c, {c.attr<std::int64_t>("dim")}, x.shape.size());
  return {x, {DType::i64, false, x.shape}};
}

std::vector<Type> infer_topk(const InferCall& c) {
  Type y = *c.inputs[0];
  auto dim = c.attr<std::int64_t>("dim"), k = c.attr<std::int64_t>("k");
  require_dims(c, {dim}, y.shape.size());
  auto d = static_cast<std::size_t>(dim);
  if (k < 0 || k > y.shape[d]) fail("topk: {} of dimension {} of {}", k, dim, to_text(y));
  y.shape[d] = k;
  return {y, {DType::i64, false, y.shape}};
}

/// Stable: equal elements keep their order. A NaN counts as the largest.
void run_order(KernelCall& c, bool descending) {
  const ConstView& x = c.inputs[0];
  const View &values = c.out(0), &indices = c.out(1);
  auto dim = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  std::int64_t size = x.type.shape[dim], kept = values.type.shape[dim];
  Walk<2> others;  // in x and in the results, which differ along `dim` only
  std::int64_t from = 1, to = 1, along = 1;  // strides; along `dim` it is the same in all
  for (std::size_t d = x.type.shape.size(); d-- > 0;) {
    if (d == dim)
      along = from;
    else
      others.add_outer(x.type.shape[d], {from, to});
    from *= x.type.shape[d];
    to *= values.type.shape[d];
  }
  std::span<std::int64_t> order = c.scratch<std::int64_t>(size);
  visit(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    others.for_each([&](auto base) {
      const T* row = x.as<T>() + base[0];
      auto at = [&](std::int64_t i) { return load(row[i * along]); };
      auto less = [&](auto a, auto b) { return a < b || (b != b && a == a); };
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, [&](std::int64_t i, std::int64_t j) {
        auto a = at(i), b = at(j);
        if (descending ? less(b, a) : less(a, b)) return true;
        return i < j && !(descending ? less(a, b) : less(b, a));
      });
      for (std::int64_t i = 0; i < kept; ++i) {
        std::int64_t source = order[static_cast<std::size_t>(i)], target = base[1] + i * along;
        values.as<T>()[target] = row[source * along];
        indices.as<std::int64_t>()[target] = source;
      }
    });
  });
}

std::int64_t order_scratch(const InferCall& c) {
  return 8 * c.inputs[0]->shape[static_cast<std::size_t>(c.attr<std::int64_t>("dim"))];
}

/// The number of comparisons of a sort.
double sort_flops(const InferCall& c) {
  const Type& x = *c.inputs[0];
  auto size = static_cast<double>(x.shape[static_cast<std::size_t>(c.attr<std::int64_t>("dim"))]);
  return static_cast<double>(x.elements()) * std::log2(std::max(2.0, size));
}

constexpr AttributeSpec sorted_dim{"dim", AttributeKind::integer, "the dimension to work along"};

}  // namespace

constinit const Op sort{
    .name = "sort",
    .doc = "values in order along a dimension, and where they were; stable, a NaN is the largest",
    .operands = {{"x"}},
    .attributes = {sorted_dim, {"descending", AttributeKind::flag, "largest first", false}},
    .infer = infer_sort,
    .kernel = [](KernelCall& c) { run_order(c, c.attr<bool>("descending")); },
    .flops = sort_flops,
    .scratch = order_scratch};

constinit const Op topk{
    .name = "topk",
    .doc = "the k largest along a dimension, largest first, and where they were; as sort",
    .operands = {{"x"}},
    .attributes = {sorted_dim,
                   {"k", AttributeKind::integer, "how many"},
                   {"smallest", AttributeKind::flag, "the smallest instead", false}},
    .infer = infer_topk,
    .kernel = [](KernelCall& c) { run_order(c, !c.attr<bool>("smallest")); },
    .flops = sort_flops,
    .scratch = order_scratch};

}  // namespace hocket::ops

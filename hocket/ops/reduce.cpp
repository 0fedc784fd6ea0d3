// Reductions. Every one has a tree that its shape fixes.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/ops/element.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/strided.h"

namespace hocket::ops {
namespace {

std::vector<Type> infer_sum(const InferCall& c) {
  const Type& x = *c.inputs[0];
  if (x.dtype == DType::boolean) fail("sum: operand is {}, wanted numbers; cast it", to_text(x));
  const Ints& dims = c.attr<Ints>("dims");
  require_dims(c, dims, x.shape.size());
  Type y{x.dtype, false, {}};
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    bool reduced = std::ranges::binary_search(dims, static_cast<std::int64_t>(i));
    if (!reduced)
      y.shape.push_back(x.shape[i]);
    else if (c.attr<bool>("keep"))
      y.shape.push_back(1);
  }
  return {y};
}

/// Halves down to runs of eight: the error grows with the logarithm of the length, and the order of
/// the additions depends on the length alone.
template <class Sum, class T>
Sum tree_sum(const T* base, std::span<const std::int64_t> offsets) {
  if (offsets.size() <= 8) {
    Sum total{0};
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      auto element = static_cast<Sum>(load(base[offsets[i]]));
      total = i == 0 ? element : wrapping_add(total, element);
    }
    return total;
  }
  std::size_t half = offsets.size() / 2;
  return wrapping_add(tree_sum<Sum>(base, offsets.first(half)),
                      tree_sum<Sum>(base, offsets.subspan(half)));
}

void run_sum(KernelCall& c) {
  const Tensor& x = c.inputs[0];
  const Ints& dims = c.attr<Ints>("dims");
  Shape strides = strides_of(x.type().shape), kept, kept_strides, reduced, reduced_strides;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    bool gone = std::ranges::binary_search(dims, static_cast<std::int64_t>(i));
    (gone ? reduced : kept).push_back(x.type().shape[i]);
    (gone ? reduced_strides : kept_strides).push_back(strides[i]);
  }
  std::vector<std::int64_t> offsets;
  for_each_offset(reduced, reduced_strides,
                  [&](std::int64_t offset) { offsets.push_back(offset); });
  Tensor& out = c.out();
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.as<T>();
    T* to = out.as<T>();
    for_each_offset(kept, kept_strides, [&](std::int64_t offset) {
      *to++ = store<T>(tree_sum<Accumulate<T>>(from + offset, offsets));
    });
  });
}

}  // namespace

constinit const Op sum{
    .name = "sum",
    .doc = "sum over dimensions, in the accumulate dtype and a tree fixed by the shape",
    .operands = {{"x"}},
    .attributes = {{"dims", AttributeKind::ints, "dimensions to sum over, ascending"},
                   {"keep", AttributeKind::flag, "keep them with size 1", false}},
    .infer = infer_sum,
    .kernel = run_sum};

}  // namespace hocket::ops

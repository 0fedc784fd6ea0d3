// Reductions over dimensions, and cumulative ones. The order of operations depends only on the
// shape.

#include <algorithm>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/strided.h"

namespace hocket::ops {
namespace {

bool is_reduced(const Ints& dims, std::size_t i) {
  return std::ranges::binary_search(dims, static_cast<std::int64_t>(i));
}

Shape reduced_shape(const InferCall& c, const Ints& dims) {
  const Type& x = *c.inputs[0];
  require_dims(c, dims, x.shape.size());
  Shape shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (!is_reduced(dims, i))
      shape.push_back(x.shape[i]);
    else if (c.attr<bool>("keep"))
      shape.push_back(1);
  }
  return shape;
}

std::vector<Type> infer_reduction(const InferCall& c) {
  const Type& x = *c.inputs[0];
  if (x.dtype == DType::boolean)
    fail("{}: operand is {}, wanted numbers; cast it", c.op.name, to_text(x));
  return {{x.dtype, false, reduced_shape(c, c.attr<Ints>("dims"))}};
}

std::vector<Type> infer_mean(const InferCall& c) {
  if (!is_float(c.inputs[0]->dtype))
    fail("mean: operand is {}, wanted floats; cast it", to_text(*c.inputs[0]));
  return infer_reduction(c);
}

/// A maximum or minimum over no elements is an error.
std::vector<Type> infer_extreme(const InferCall& c) {
  std::vector<Type> types = infer_reduction(c);
  for (std::int64_t d : c.attr<Ints>("dims"))
    if (c.inputs[0]->shape[static_cast<std::size_t>(d)] == 0)
      fail("{}: dimension {} of {} is empty", c.op.name, d, to_text(*c.inputs[0]));
  return types;
}

std::vector<Type> infer_logic(const InferCall& c) {
  if (c.inputs[0]->dtype != DType::boolean)
    fail("{}: operand is {}, wanted bool", c.op.name, to_text(*c.inputs[0]));
  return {{DType::boolean, false, reduced_shape(c, c.attr<Ints>("dims"))}};
}

std::vector<Type> infer_index_of(const InferCall& c) {
  const Type& x = *c.inputs[0];
  if (x.dtype == DType::boolean)
    fail("{}: operand is {}, wanted numbers; cast it", c.op.name, to_text(x));
  Ints dims{c.attr<std::int64_t>("dim")};
  Shape shape = reduced_shape(c, dims);
  if (x.shape[static_cast<std::size_t>(dims[0])] == 0)
    fail("{}: dimension {} of {} is empty", c.op.name, dims[0], to_text(x));
  return {{DType::i64, false, shape}};
}

std::vector<Type> infer_running(const InferCall& c) {
  const Type& x = *c.inputs[0];
  if (x.dtype == DType::boolean)
    fail("{}: operand is {}, wanted numbers; cast it", c.op.name, to_text(x));
  require_dims(c, {c.attr<std::int64_t>("dim")}, x.shape.size());
  return {x};
}

/// Calls f for every element of the result with the elements of x that are reduced to it, in
/// row-major order.
template <class F>
void for_each_group(const Tensor& x, const Ints& dims, F f) {
  Shape strides = strides_of(x.type().shape), kept, kept_strides, gone, gone_strides;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    bool reduced = is_reduced(dims, i);
    (reduced ? gone : kept).push_back(x.type().shape[i]);
    (reduced ? gone_strides : kept_strides).push_back(strides[i]);
  }
  std::vector<std::int64_t> offsets;
  for_each_offset(gone, gone_strides, [&](std::int64_t offset) { offsets.push_back(offset); });
  for_each_offset(kept, kept_strides, [&](std::int64_t base) { f(base, offsets); });
}

/// Pairwise reduction down to runs of eight: the error of a sum grows with the logarithm of the
/// length, and the order of the operations depends only on the length.
template <class Sum, class T, class Combine>
Sum tree(const T* base, std::span<const std::int64_t> offsets, Sum empty, Combine combine) {
  if (offsets.size() <= 8) {
    Sum total = empty;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      auto element = static_cast<Sum>(load(base[offsets[i]]));
      total = i == 0 ? element : combine(total, element);
    }
    return total;
  }
  std::size_t half = offsets.size() / 2;
  return combine(tree<Sum>(base, offsets.first(half), empty, combine),
                 tree<Sum>(base, offsets.subspan(half), empty, combine));
}

template <class Run>
void run_tree(KernelCall& c, Run run) {
  const Tensor& x = c.inputs[0];
  Tensor& out = c.out();
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.as<T>();
    for_each_group(x, c.attr<Ints>("dims"), [&](std::int64_t base, const auto& offsets) {
      *to++ =
          store<T>(run(x.as<T>() + base, std::span<const std::int64_t>(offsets), Accumulate<T>{}));
    });
  });
}

constexpr auto add_up = [](const auto* base, std::span<const std::int64_t> offsets, auto zero) {
  using Sum = decltype(zero);
  return tree<Sum>(base, offsets, Sum(0), wrapping_add<Sum>);
};

void run_sum(KernelCall& c) { run_tree(c, add_up); }

void run_mean(KernelCall& c) {
  run_tree(c, [](const auto* base, std::span<const std::int64_t> offsets, auto zero) {
    return add_up(base, offsets, zero) / static_cast<decltype(zero)>(offsets.size());
  });
}

void run_product(KernelCall& c) {
  run_tree(c, [](const auto* base, std::span<const std::int64_t> offsets, auto zero) {
    using Sum = decltype(zero);
    return tree<Sum>(base, offsets, Sum(1), wrapping_mul<Sum>);
  });
}

void run_max(KernelCall& c) {
  run_tree(c, [](const auto* base, std::span<const std::int64_t> offsets, auto zero) {
    using Sum = decltype(zero);
    return tree<Sum>(base, offsets, Sum(0), greater_of<Sum>);
  });
}

void run_min(KernelCall& c) {
  run_tree(c, [](const auto* base, std::span<const std::int64_t> offsets, auto zero) {
    using Sum = decltype(zero);
    return tree<Sum>(base, offsets, Sum(0), lesser_of<Sum>);
  });
}

void run_logic(KernelCall& c, bool wanted) {
  const auto* x = c.inputs[0].as<std::uint8_t>();
  auto* to = c.out().as<std::uint8_t>();
  for_each_group(c.inputs[0], c.attr<Ints>("dims"), [&](std::int64_t base, const auto& offsets) {
    bool found =
        std::ranges::any_of(offsets, [&](std::int64_t o) { return (x[base + o] != 0) == wanted; });
    *to++ = static_cast<std::uint8_t>(found == wanted);
  });
}

/// The index of the first of equal elements, or of the first NaN if there is one.
template <class Better>
void run_index_of(KernelCall& c, Better better) {
  const Tensor& x = c.inputs[0];
  auto* to = c.out().as<std::int64_t>();
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_group(x, {c.attr<std::int64_t>("dim")}, [&](std::int64_t base, const auto& offsets) {
      std::size_t best = 0;
      auto value = load(x.as<T>()[base + offsets[0]]);
      for (std::size_t i = 1; i < offsets.size() && value == value; ++i) {
        auto next = load(x.as<T>()[base + offsets[i]]);
        if (next != next || better(next, value)) {
          best = i;
          value = next;
        }
      }
      *to++ = static_cast<std::int64_t>(best);
    });
  });
}

template <class Combine>
void run_running(KernelCall& c, Combine combine) {
  const Tensor& x = c.inputs[0];
  Tensor& out = c.out();
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_group(x, {c.attr<std::int64_t>("dim")}, [&](std::int64_t base, const auto& offsets) {
      Accumulate<T> total{};
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        auto element = static_cast<Accumulate<T>>(load(x.as<T>()[base + offsets[i]]));
        total = i == 0 ? element : combine(total, element);
        out.as<T>()[base + offsets[i]] = store<T>(total);
      }
    });
  });
}

constexpr RecordList<OperandSpec, 12> reduced_x{{"x"}};
constexpr AttributeSpec keep_attribute{"keep", AttributeKind::flag, "keep them with size 1", false};
constexpr RecordList<AttributeSpec, 12> over_dims{
    {"dims", AttributeKind::ints, "dimensions that go, ascending"}, keep_attribute};
constexpr RecordList<AttributeSpec, 12> over_one{
    {"dim", AttributeKind::integer, "the dimension that goes"}, keep_attribute};
constexpr RecordList<AttributeSpec, 12> along_one{
    {"dim", AttributeKind::integer, "the dimension to run along"}};

}  // namespace

constinit const Op sum{
    .name = "sum",
    .doc = "sum over dimensions, in the accumulate dtype and a tree fixed by the shape",
    .operands = reduced_x,
    .attributes = over_dims,
    .infer = infer_reduction,
    .kernel = run_sum,
    .flops = one_per_input};

constinit const Op mean{.name = "mean",
                        .doc = "sum over dimensions divided by their size, rounded once",
                        .operands = reduced_x,
                        .attributes = over_dims,
                        .infer = infer_mean,
                        .kernel = run_mean,
                        .flops = one_per_input};

constinit const Op product{.name = "product",
                           .doc = "product over dimensions, as sum",
                           .operands = reduced_x,
                           .attributes = over_dims,
                           .infer = infer_reduction,
                           .kernel = run_product,
                           .flops = one_per_input};

constinit const Op max{.name = "max",
                       .doc = "the largest over dimensions; a NaN wins",
                       .operands = reduced_x,
                       .attributes = over_dims,
                       .infer = infer_extreme,
                       .kernel = run_max,
                       .flops = one_per_input};

constinit const Op min{.name = "min",
                       .doc = "the smallest over dimensions; a NaN wins",
                       .operands = reduced_x,
                       .attributes = over_dims,
                       .infer = infer_extreme,
                       .kernel = run_min,
                       .flops = one_per_input};

constinit const Op any{.name = "any",
                       .doc = "whether one over the dimensions is true",
                       .operands = reduced_x,
                       .attributes = over_dims,
                       .infer = infer_logic,
                       .kernel = [](KernelCall& c) { run_logic(c, true); },
                       .flops = one_per_input};

constinit const Op all_of{.name = "all",
                          .doc = "whether all over the dimensions are true",
                          .operands = reduced_x,
                          .attributes = over_dims,
                          .infer = infer_logic,
                          .kernel = [](KernelCall& c) { run_logic(c, false); },
                          .flops = one_per_input};

constinit const Op argmax{
    .name = "argmax",
    .doc = "the index of the largest along a dimension, the first of equals; a NaN wins",
    .operands = reduced_x,
    .attributes = over_one,
    .infer = infer_index_of,
    .kernel = [](KernelCall& c) { run_index_of(c, [](auto a, auto b) { return a > b; }); },
    .flops = one_per_input};

constinit const Op argmin{
    .name = "argmin",
    .doc = "the index of the smallest along a dimension, the first of equals; a NaN wins",
    .operands = reduced_x,
    .attributes = over_one,
    .infer = infer_index_of,
    .kernel = [](KernelCall& c) { run_index_of(c, [](auto a, auto b) { return a < b; }); },
    .flops = one_per_input};

constinit const Op cumsum{
    .name = "cumsum",
    .doc = "running sum along a dimension, in the accumulate dtype",
    .operands = reduced_x,
    .attributes = along_one,
    .infer = infer_running,
    .kernel =
        [](KernelCall& c) { run_running(c, [](auto a, auto b) { return wrapping_add(a, b); }); },
    .flops = one_per_input};

constinit const Op cumprod{
    .name = "cumprod",
    .doc = "running product along a dimension, in the accumulate dtype",
    .operands = reduced_x,
    .attributes = along_one,
    .infer = infer_running,
    .kernel =
        [](KernelCall& c) { run_running(c, [](auto a, auto b) { return wrapping_mul(a, b); }); },
    .flops = one_per_input};

}  // namespace hocket::ops

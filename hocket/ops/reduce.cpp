// Reductions over dimensions, and cumulative ones. The order of operations depends only on the
// shape.

#include <algorithm>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/reduce_tree.h"

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

/// Without elements every group gives `empty`.
template <class Combination, class Finish>
void run_tree(KernelCall& c, double empty, Combination by, Finish finish) {
  const ConstView& x = c.inputs[0];
  const View& out = c.out();
  const Ints& dims = c.attr<Ints>("dims");
  visit(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    if (x.type.elements() == 0) {
      std::fill_n(out.as<T>(), out.type.elements(), store<T>(finish(static_cast<Sum>(empty))));
      return;
    }
    Groups groups = groups_along(x, false, [&](std::size_t d) { return is_reduced(dims, d); });
    reduce_groups(x, groups, out.as<T>(), by, finish);
  });
}

// Lambdas instead of functions, because calls through function pointers are not inlined.
constexpr auto element_sums = [](auto a, auto b) { return element_sum(a, b); };
constexpr auto element_products = [](auto a, auto b) { return element_product(a, b); };
constexpr Combination sums{element_sums, [](auto a, auto b) { return wrapping_add(a, b); }, true};
constexpr Combination products{element_products, [](auto a, auto b) { return wrapping_mul(a, b); },
                               true};
constexpr Combination largest{[](auto a, auto b) { return greater_of(a, b); },
                              [](auto a, auto b) { return a > b ? a : b; }, false};
constexpr Combination smallest{[](auto a, auto b) { return lesser_of(a, b); },
                               [](auto a, auto b) { return a < b ? a : b; }, false};
constexpr auto as_it_is = [](auto total) { return total; };

void run_sum(KernelCall& c) { run_tree(c, 0, sums, as_it_is); }

void run_mean(KernelCall& c) {
  std::int64_t count = 1;
  for (std::int64_t d : c.attr<Ints>("dims"))
    count *= c.inputs[0].type.shape[static_cast<std::size_t>(d)];
  run_tree(c, 0, sums, [&](auto total) { return total / static_cast<decltype(total)>(count); });
}

void run_product(KernelCall& c) { run_tree(c, 1, products, as_it_is); }
void run_max(KernelCall& c) { run_tree(c, 0, largest, as_it_is); }
void run_min(KernelCall& c) { run_tree(c, 0, smallest, as_it_is); }

void run_logic(KernelCall& c, bool wanted) {
  const ConstView& x = c.inputs[0];
  const View& out = c.out();
  const Ints& dims = c.attr<Ints>("dims");
  if (x.type.elements() == 0) {
    std::fill_n(out.as<std::uint8_t>(), out.type.elements(), wanted ? 0 : 1);
    return;
  }
  Groups groups = groups_along(x, false, [&](std::size_t d) { return is_reduced(dims, d); });
  groups.kept.for_each([&](auto start) {
    const auto* first = x.as<std::uint8_t>() + start[0];
    bool found = false;
    groups.gone.for_each_run([&](auto at, std::int64_t size, auto strides) {
      for (std::int64_t i = 0; i < size && !found; ++i)
        found = (first[at[0] + i * strides[0]] != 0) == wanted;
    });
    out.as<std::uint8_t>()[start[1]] = static_cast<std::uint8_t>(found == wanted);
  });
}

/// The index of the first of equal elements, or of the first NaN if there is one.
template <class Better>
void run_index_of(KernelCall& c, Better better) {
  const ConstView& x = c.inputs[0];
  auto* out = c.out().as<std::int64_t>();
  auto dim = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  Groups groups = groups_along(x, false, [&](std::size_t d) { return d == dim; });
  visit(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    groups.kept.for_each([&](auto start) {
      const T* first = x.as<T>() + start[0];
      std::int64_t best = 0, number = 0;
      auto value = load(*first);
      groups.gone.for_each_run([&](auto at, std::int64_t size, auto strides) {
        const T* element = first + at[0];
        for (std::int64_t i = 0; i < size && !is_nan(value); ++i) {
          auto next = load(element[i * strides[0]]);
          if (is_nan(next) || better(next, value)) {
            best = number + i;
            value = next;
          }
        }
        number += size;
      });
      out[start[1]] = best;
    });
  });
}

template <class Combination>
void run_running(KernelCall& c, Combination by) {
  const ConstView& x = c.inputs[0];
  auto dim = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  Groups groups = groups_along(x, true, [&](std::size_t d) { return d == dim; });
  visit(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    auto run = [&](auto start, auto combine) {
      Sum total{};
      bool first = true;
      groups.gone.for_each_run([&](auto at, std::int64_t size, auto strides) {
        const T* from = x.as<T>() + start[0] + at[0];
        T* to = c.out().as<T>() + start[1] + at[1];
        for (std::int64_t i = 0; i < size; ++i) {
          auto element = static_cast<Sum>(load(from[i * strides[0]]));
          total = first ? element : combine(total, element);
          first = false;
          to[i * strides[1]] = store<T>(total);
        }
      });
      return total;
    };
    groups.kept.for_each([&](auto start) {
      if (is_nan(run(start, by.quickly))) run(start, by.exactly);
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
    .flops = one_per_input,
    .reads_any_layout = true};

constinit const Op mean{.name = "mean",
                        .doc = "sum over dimensions divided by their size, rounded once",
                        .operands = reduced_x,
                        .attributes = over_dims,
                        .infer = infer_mean,
                        .kernel = run_mean,
                        .flops = one_per_input,
                        .reads_any_layout = true};

constinit const Op product{.name = "product",
                           .doc = "product over dimensions, as sum",
                           .operands = reduced_x,
                           .attributes = over_dims,
                           .infer = infer_reduction,
                           .kernel = run_product,
                           .flops = one_per_input,
                           .reads_any_layout = true};

constinit const Op max{.name = "max",
                       .doc = "the largest over dimensions; a NaN wins",
                       .operands = reduced_x,
                       .attributes = over_dims,
                       .infer = infer_extreme,
                       .kernel = run_max,
                       .flops = one_per_input,
                       .reads_any_layout = true};

constinit const Op min{.name = "min",
                       .doc = "the smallest over dimensions; a NaN wins",
                       .operands = reduced_x,
                       .attributes = over_dims,
                       .infer = infer_extreme,
                       .kernel = run_min,
                       .flops = one_per_input,
                       .reads_any_layout = true};

constinit const Op any{.name = "any",
                       .doc = "whether one over the dimensions is true",
                       .operands = reduced_x,
                       .attributes = over_dims,
                       .infer = infer_logic,
                       .kernel = [](KernelCall& c) { run_logic(c, true); },
                       .flops = one_per_input,
                       .reads_any_layout = true};

constinit const Op all_of{.name = "all",
                          .doc = "whether all over the dimensions are true",
                          .operands = reduced_x,
                          .attributes = over_dims,
                          .infer = infer_logic,
                          .kernel = [](KernelCall& c) { run_logic(c, false); },
                          .flops = one_per_input,
                          .reads_any_layout = true};

constinit const Op argmax{
    .name = "argmax",
    .doc = "the index of the largest along a dimension, the first of equals; a NaN wins",
    .operands = reduced_x,
    .attributes = over_one,
    .infer = infer_index_of,
    .kernel = [](KernelCall& c) { run_index_of(c, [](auto a, auto b) { return a > b; }); },
    .flops = one_per_input,
    .reads_any_layout = true};

constinit const Op argmin{
    .name = "argmin",
    .doc = "the index of the smallest along a dimension, the first of equals; a NaN wins",
    .operands = reduced_x,
    .attributes = over_one,
    .infer = infer_index_of,
    .kernel = [](KernelCall& c) { run_index_of(c, [](auto a, auto b) { return a < b; }); },
    .flops = one_per_input,
    .reads_any_layout = true};

constinit const Op cumsum{.name = "cumsum",
                          .doc = "running sum along a dimension, in the accumulate dtype",
                          .operands = reduced_x,
                          .attributes = along_one,
                          .infer = infer_running,
                          .kernel = [](KernelCall& c) { run_running(c, sums); },
                          .flops = one_per_input,
                          .reads_any_layout = true};

constinit const Op cumprod{.name = "cumprod",
                           .doc = "running product along a dimension, in the accumulate dtype",
                           .operands = reduced_x,
                           .attributes = along_one,
                           .infer = infer_running,
                           .kernel = [](KernelCall& c) { run_running(c, products); },
                           .flops = one_per_input,
                           .reads_any_layout = true};

}  // namespace hocket::ops

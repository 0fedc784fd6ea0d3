// Elements chosen by index. A negative index counts from the end; one out of range is an error at
// run time.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/strided.h"

namespace hocket::ops {
namespace {

void require_index(const InferCall& c, const Type& t) {
  if (t.dtype != DType::i64 && t.dtype != DType::i32)
    fail("{}: index is {}, wanted i64 or i32", c.op.name, to_text(t));
}

std::int64_t index_at(const Tensor& t, std::int64_t i) {
  return t.type().dtype == DType::i64 ? t.as<std::int64_t>()[i] : t.as<std::int32_t>()[i];
}

std::int64_t checked(const KernelCall& c, std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size)
    fail("{}: index {} in a dimension of {}", c.op.name, index, size);
  return index < 0 ? index + size : index;
}

// ---- along one dimension

/// For gather and scatter: all dimensions of the index but one are at most those of x.
void require_inside(const InferCall& c, const Type& x, const Type& index) {
  require_index(c, index);
  auto dim = c.attr<std::int64_t>("dim");
  require_dims(c, {dim}, x.shape.size());
  bool fits = index.shape.size() == x.shape.size();
  for (std::size_t i = 0; fits && i < x.shape.size(); ++i)
    fits = static_cast<std::int64_t>(i) == dim || index.shape[i] <= x.shape[i];
  if (!fits)
    fail("{}: index {} into {}, wanted equal ranks and no larger dimension but {}", c.op.name,
         to_text(index), to_text(x), dim);
}

std::vector<Type> infer_gather(const InferCall& c) {
  require_inside(c, *c.inputs[0], *c.inputs[1]);
  return {{c.inputs[0]->dtype, false, c.inputs[1]->shape}};
}

/// Calls f(place in x, i) for each index in row-major order, i counting them.
template <class F>
void for_each_place(const KernelCall& c, const Tensor& x, const Tensor& index, F f) {
  auto dim = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  Shape strides = strides_of(x.type().shape), others = strides;
  others[dim] = 0;
  std::int64_t i = 0;
  for_each_offset(index.type().shape, others, [&](std::int64_t base) {
    f(base + checked(c, index_at(index, i), x.type().shape[dim]) * strides[dim], i);
    ++i;
  });
}

void run_gather(KernelCall& c) {
  const Tensor& x = c.inputs[0];
  Tensor& out = c.out();
  visit_size(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_place(c, x, c.inputs[1],
                   [&](std::int64_t place, std::int64_t i) { out.as<T>()[i] = x.as<T>()[place]; });
  });
}

constexpr std::string_view scatter_ways[] = {"replace", "sum", "product", "min", "max"};

std::vector<Type> infer_scatter(const InferCall& c) {
  const Type &x = *c.inputs[0], &index = *c.inputs[1], &source = *c.inputs[2];
  require_inside(c, x, index);
  if (source.dtype != x.dtype || source.shape != index.shape)
    fail("scatter: source is {}, wanted {}", to_text(source),
         to_text(Type{x.dtype, false, index.shape}));
  const auto& way = c.attr<std::string>("reduce");
  if (std::ranges::find(scatter_ways, way) == std::end(scatter_ways))
    fail("scatter: unknown reduction {}, wanted replace, sum, product, min or max", quoted(way));
  if (way != "replace" && x.dtype == DType::boolean)
    fail("scatter: {} of {}, wanted numbers", way, to_text(x));
  return {x};
}

Tensor copied(const Tensor& x) {
  Tensor out(x.type());
  if (!x.bytes().empty()) std::memcpy(out.bytes().data(), x.bytes().data(), x.bytes().size());
  return out;
}

void run_scatter(KernelCall& c) {
  const Tensor &x = c.inputs[0], &source = c.inputs[2];
  Tensor out = copied(x);
  const auto& way = c.attr<std::string>("reduce");
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    for_each_place(c, x, c.inputs[1], [&](std::int64_t place, std::int64_t i) {
      auto a = static_cast<Sum>(load(out.as<T>()[place])),
           b = static_cast<Sum>(load(source.as<T>()[i]));
      if (way == "replace")
        out.as<T>()[place] = source.as<T>()[i];
      else if (way == "sum")
        out.as<T>()[place] = store<T>(wrapping_add(a, b));
      else if (way == "product")
        out.as<T>()[place] = store<T>(wrapping_mul(a, b));
      else if (way == "min")
        out.as<T>()[place] = store<T>(lesser_of(a, b));
      else
        out.as<T>()[place] = store<T>(greater_of(a, b));
    });
  });
  c.results[0] = out;
}

// ---- several index tensors at once

/// The broadcast shape of the indices takes the place of the indexed dimensions in the result when
/// these are adjacent; otherwise it comes first.
struct Selection {
  Shape common;  // of the index tensors, broadcast together
  Shape result;
  std::size_t position = 0;  // of the common dimensions in the result
};

Selection select_shape(const InferCall& c, const Type& x, std::span<const Type* const> indices) {
  const Ints& dims = c.attr<Ints>("dims");
  require_dims(c, dims, x.shape.size());
  if (dims.size() != indices.size() || dims.empty())
    fail("{}: {} index tensors for dims {}", c.op.name, indices.size(), dims_text(dims));
  Selection s;
  for (const Type* t : indices) {
    require_index(c, *t);
    while (s.common.size() < t->shape.size()) s.common.insert(s.common.begin(), 1);
    for (std::size_t i = 0; i < t->shape.size(); ++i) {
      std::int64_t& d = s.common[s.common.size() - t->shape.size() + i];
      if (d == 1)
        d = t->shape[i];
      else if (t->shape[i] != 1 && t->shape[i] != d)
        fail("{}: index tensors do not broadcast together: {}", c.op.name, to_text(*t));
    }
  }
  bool neighbours = dims.back() - dims.front() + 1 == static_cast<std::int64_t>(dims.size());
  s.position = neighbours ? static_cast<std::size_t>(dims.front()) : 0;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (!std::ranges::binary_search(dims, static_cast<std::int64_t>(i)))
      s.result.push_back(x.shape[i]);
  for (std::size_t i = s.common.size(); i-- > 0;)
    s.result.insert(s.result.begin() + s.position, s.common[i]);
  return s;
}

std::vector<Type> infer_index(const InferCall& c) {
  return {{c.inputs[0]->dtype, false, select_shape(c, *c.inputs[0], c.inputs.subspan(1)).result}};
}

std::vector<Type> infer_index_put(const InferCall& c) {
  const Type &x = *c.inputs[0], &values = *c.inputs[1];
  Selection s = select_shape(c, x, c.inputs.subspan(2));
  if (values.dtype != x.dtype || values.shape != s.result)
    fail("index_put: values are {}, wanted {}", to_text(values),
         to_text(Type{x.dtype, false, s.result}));
  if (c.attr<bool>("accumulate") && x.dtype == DType::boolean) fail("index_put: sums of bool");
  return {x};
}

/// Calls f(place in x, place in the selection) in row-major order of the selection.
template <class F>
void for_each_selected(KernelCall& c, const Tensor& x, std::span<const Tensor> indices,
                       const Shape& result, F f) {
  const Ints& dims = c.attr<Ints>("dims");
  Shape strides = strides_of(x.type().shape);
  std::size_t common_rank = result.size() - (x.type().shape.size() - dims.size());
  bool neighbours = dims.back() - dims.front() + 1 == static_cast<std::int64_t>(dims.size());
  std::size_t position = neighbours ? static_cast<std::size_t>(dims.front()) : 0;
  Shape plain(result.size(), 0);  // strides in x of the dimensions that are not indexed
  std::vector<Shape> index_strides(indices.size(), Shape(result.size(), 0));
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.type().shape.size(); ++i) {
    if (std::ranges::binary_search(dims, static_cast<std::int64_t>(i))) continue;
    if (at == position) at += common_rank;
    plain[at++] = strides[i];
  }
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const Shape& shape = indices[k].type().shape;
    Shape natural = strides_of(shape);
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] != 1) index_strides[k][position + common_rank - shape.size() + i] = natural[i];
  }
  std::vector<std::vector<std::int64_t>> offsets(indices.size());
  for (std::size_t k = 0; k < indices.size(); ++k)
    for_each_offset(result, index_strides[k], [&](std::int64_t o) { offsets[k].push_back(o); });
  std::int64_t i = 0;
  for_each_offset(result, plain, [&](std::int64_t base) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      auto d = static_cast<std::size_t>(dims[k]);
      base += checked(c, index_at(indices[k], offsets[k][static_cast<std::size_t>(i)]),
                      x.type().shape[d]) *
              strides[d];
    }
    f(base, i++);
  });
}

void run_index(KernelCall& c) {
  const Tensor& x = c.inputs[0];
  Tensor& out = c.out();
  visit_size(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_selected(
        c, x, c.inputs.subspan(1), out.type().shape,
        [&](std::int64_t place, std::int64_t i) { out.as<T>()[i] = x.as<T>()[place]; });
  });
}

void run_index_put(KernelCall& c) {
  const Tensor &x = c.inputs[0], &values = c.inputs[1];
  Tensor out = copied(x);
  bool accumulate = c.attr<bool>("accumulate");
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    for_each_selected(
        c, x, c.inputs.subspan(2), values.type().shape, [&](std::int64_t place, std::int64_t i) {
          T& element = out.as<T>()[place];
          element = accumulate ? store<T>(wrapping_add(static_cast<Sum>(load(element)),
                                                       static_cast<Sum>(load(values.as<T>()[i]))))
                               : values.as<T>()[i];
        });
  });
  c.results[0] = out;
}

// ---- rows of a table

std::vector<Type> infer_embedding(const InferCall& c) {
  const Type &table = *c.inputs[0], &ids = *c.inputs[1];
  require_index(c, ids);
  if (table.shape.size() != 2)
    fail("embedding: table is {}, wanted two dimensions", to_text(table));
  Type y{table.dtype, false, ids.shape};
  y.shape.push_back(table.shape[1]);
  return {y};
}

void run_embedding(KernelCall& c) {
  const Tensor &table = c.inputs[0], &ids = c.inputs[1];
  auto width = static_cast<std::size_t>(table.type().shape[1] * bytes(table.type().dtype));
  std::byte* to = c.out().bytes().data();
  for (std::int64_t i = 0; i < ids.type().elements(); ++i, to += width) {
    auto row = static_cast<std::size_t>(checked(c, index_at(ids, i), table.type().shape[0]));
    if (width > 0) std::memcpy(to, table.bytes().data() + row * width, width);
  }
}

std::vector<Type> infer_embedding_grad(const InferCall& c) {
  const Type &dy = *c.inputs[0], &ids = *c.inputs[1];
  require_index(c, ids);
  Shape wanted = ids.shape;
  wanted.push_back(dy.shape.empty() ? 0 : dy.shape.back());
  auto rows = c.attr<std::int64_t>("rows");
  if (!is_float(dy.dtype) || dy.shape != wanted || rows < 0)
    fail("embedding_grad: gradient {} for ids {} and {} rows", to_text(dy), to_text(ids), rows);
  return {{dy.dtype, false, {rows, dy.shape.back()}}};
}

/// Rows are summed in the order of the ids.
void run_embedding_grad(KernelCall& c) {
  const Tensor &dy = c.inputs[0], &ids = c.inputs[1];
  Tensor& out = c.out();
  std::int64_t rows = out.type().shape[0], width = out.type().shape[1];
  auto skipped = c.attr<std::int64_t>("padding");
  visit(dy.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<Accumulate<T>> sums(static_cast<std::size_t>(rows * width));
    for (std::int64_t i = 0; i < ids.type().elements(); ++i) {
      std::int64_t row = checked(c, index_at(ids, i), rows);
      if (row == skipped) continue;
      for (std::int64_t j = 0; j < width; ++j) {
        auto& sum = sums[static_cast<std::size_t>(row * width + j)];
        sum = wrapping_add(sum, static_cast<Accumulate<T>>(load(dy.as<T>()[i * width + j])));
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) out.as<T>()[i] = store<T>(sums[i]);
  });
}

// ---- order

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
  const Tensor& x = c.inputs[0];
  Tensor &values = c.out(0), &indices = c.out(1);
  auto d = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  Shape from = strides_of(x.type().shape), to = strides_of(values.type().shape),
        others = x.type().shape;
  std::int64_t size = x.type().shape[d], kept = values.type().shape[d];
  others[d] = 1;
  std::vector<std::int64_t> targets;
  for_each_offset(others, to, [&](std::int64_t base) { targets.push_back(base); });
  auto target = targets.begin();
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_offset(others, from, [&](std::int64_t base) {
      auto at = [&](std::int64_t i) { return load(x.as<T>()[base + i * from[d]]); };
      auto less = [&](auto a, auto b) { return a < b || (b != b && a == a); };
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t j) {
        return descending ? less(at(j), at(i)) : less(at(i), at(j));
      });
      for (std::int64_t i = 0; i < kept; ++i) {
        values.as<T>()[*target + i * to[d]] =
            x.as<T>()[base + order[static_cast<std::size_t>(i)] * from[d]];
        indices.as<std::int64_t>()[*target + i * to[d]] = order[static_cast<std::size_t>(i)];
      }
      ++target;
    });
  });
}

/// The number of comparisons of a sort.
double sort_flops(const InferCall& c) {
  const Type& x = *c.inputs[0];
  auto size = static_cast<double>(x.shape[static_cast<std::size_t>(c.attr<std::int64_t>("dim"))]);
  return static_cast<double>(x.elements()) * std::log2(std::max(2.0, size));
}

constexpr AttributeSpec dim{"dim", AttributeKind::integer, "the dimension to work along"};

}  // namespace

constinit const Op gather{.name = "gather",
                          .doc = "for every index, the element of x there along the dimension",
                          .operands = {{"x"}, {"index"}},
                          .attributes = {dim},
                          .infer = infer_gather,
                          .kernel = run_gather};

constinit const Op scatter{
    .name = "scatter",
    .doc = "x with the elements of the source put where the index says, in the order of the index",
    .operands = {{"x"}, {"index"}, {"source"}},
    .attributes = {dim,
                   {"reduce", AttributeKind::string, "replace, sum, product, min or max",
                    "replace"}},
    .infer = infer_scatter,
    .kernel = run_scatter};

constexpr AttributeSpec indexed{"dims", AttributeKind::ints,
                                "dimensions that are indexed, ascending, one per index tensor"};

constinit const Op index{.name = "index",
                         .doc =
                             "elements chosen by several index tensors, broadcast together; their "
                             "dimensions stand where the indexed "
                             "ones stood, or in front when those are no neighbours",
                         .operands = {{"x"}, {"indices", Count::many, 1}},
                         .attributes = {indexed},
                         .infer = infer_index,
                         .kernel = run_index};

constinit const Op index_put{
    .name = "index_put",
    .doc = "x with values put where `index` would read, in that order",
    .operands = {{"x"}, {"values"}, {"indices", Count::many, 1}},
    .attributes = {indexed, {"accumulate", AttributeKind::flag, "add instead of replace", false}},
    .infer = infer_index_put,
    .kernel = run_index_put};

constinit const Op embedding{.name = "embedding",
                             .doc = "the row of the table for every id",
                             .operands = {{"table"}, {"ids"}},
                             .infer = infer_embedding,
                             .kernel = run_embedding};

constinit const Op embedding_grad{
    .name = "embedding_grad",
    .doc = "gradient of embedding by its table: rows summed in the order of the ids",
    .operands = {{"dy"}, {"ids"}},
    .attributes = {{"rows", AttributeKind::integer, "of the table"},
                   {"padding", AttributeKind::integer, "a row that gets no gradient",
                    std::int64_t{-1}}},
    .infer = infer_embedding_grad,
    .kernel = run_embedding_grad,
    .flops = one_per_input};

constinit const Op sort{
    .name = "sort",
    .doc = "values in order along a dimension, and where they were; stable, a NaN is the largest",
    .operands = {{"x"}},
    .attributes = {dim, {"descending", AttributeKind::flag, "largest first", false}},
    .infer = infer_sort,
    .kernel = [](KernelCall& c) { run_order(c, c.attr<bool>("descending")); },
    .flops = sort_flops};

constinit const Op topk{
    .name = "topk",
    .doc = "the k largest along a dimension, largest first, and where they were; as sort",
    .operands = {{"x"}},
    .attributes = {dim,
                   {"k", AttributeKind::integer, "how many"},
                   {"smallest", AttributeKind::flag, "the smallest instead", false}},
    .infer = infer_topk,
    .kernel = [](KernelCall& c) { run_order(c, !c.attr<bool>("smallest")); },
    .flops = sort_flops};

}  // namespace hocket::ops

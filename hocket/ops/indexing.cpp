// Elements chosen by index. A negative index counts from the end; one out of range is an error at
// run time.

#include <algorithm>
#include <array>
#include <cstring>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/sums.h"
#include "hocket/ops/walk.h"

namespace hocket::ops {
namespace {

void require_index(const InferCall& c, const Type& t) {
  if (t.dtype != DType::i64 && t.dtype != DType::i32)
    fail("{}: index is {}, wanted i64 or i32", c.op.name, to_text(t));
}

std::int64_t index_at(const ConstView& t, std::int64_t i) {
  return t.type.dtype == DType::i64 ? t.as<std::int64_t>()[i] : t.as<std::int32_t>()[i];
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
void for_each_place(const KernelCall& c, F f) {
  const ConstView &x = c.inputs[0], &index = c.inputs[1];
  auto dim = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  Walk<1> others;  // places in x of index 0 along `dim`
  std::int64_t stride = 1, along = 1, i = 0;
  for (std::size_t d = x.type.shape.size(); d-- > 0; stride *= x.type.shape[d]) {
    if (d == dim) along = stride;
    others.add_outer(index.type.shape[d], {d == dim ? 0 : stride});
  }
  others.for_each([&](auto base) {
    f(base[0] + checked(c, index_at(index, i), x.type.shape[dim]) * along, i);
    ++i;
  });
}

void run_gather(KernelCall& c) {
  visit_size(c.out().type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = c.inputs[0].as<T>();
    T* out = c.out().as<T>();
    for_each_place(c, [&](std::int64_t place, std::int64_t i) { out[i] = x[place]; });
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

void copy_operand(const ConstView& x, const View& out) {
  std::memcpy(out.data, x.data, x.bytes().size());
}

/// Combines elements in the accumulate dtype.
template <class T, class Combine>
void scatter_by(const KernelCall& c, Combine combine) {
  using Sum = Accumulate<T>;
  const T* source = c.inputs[2].as<T>();
  T* out = c.out().as<T>();
  for_each_place(c, [&](std::int64_t place, std::int64_t i) {
    out[place] =
        store<T>(combine(static_cast<Sum>(load(out[place])), static_cast<Sum>(load(source[i]))));
  });
}

void run_scatter(KernelCall& c) {
  copy_operand(c.inputs[0], c.out());
  const auto& way = c.attr<std::string>("reduce");
  visit(c.out().type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    if (way == "sum") return scatter_by<T>(c, [](Sum a, Sum b) { return wrapping_add(a, b); });
    if (way == "product") return scatter_by<T>(c, [](Sum a, Sum b) { return wrapping_mul(a, b); });
    if (way == "min") return scatter_by<T>(c, [](Sum a, Sum b) { return lesser_of(a, b); });
    if (way == "max") return scatter_by<T>(c, [](Sum a, Sum b) { return greater_of(a, b); });
    const T* source = c.inputs[2].as<T>();
    T* out = c.out().as<T>();
    for_each_place(c, [&](std::int64_t place, std::int64_t i) { out[place] = source[i]; });
  });
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

/// Loops over the dimensions of a selection with a stride for each of several values. Like Walk,
/// but their number is known at run time only; in scratch.
struct SelectionWalk {
  std::size_t values;
  std::span<const std::int64_t> shape;
  std::span<std::int64_t> strides;  // [dimension][value]
  std::span<std::int64_t> places;   // by value, of the current element
  std::span<std::int64_t> index;    // by dimension

  static std::int64_t numbers(std::size_t values, std::size_t dims) {
    return static_cast<std::int64_t>(values * (dims + 1) + dims);
  }
  SelectionWalk(KernelCall& c, std::size_t count, std::span<const std::int64_t> of)
      : values(count), shape(of) {
    auto all = c.scratch<std::int64_t>(numbers(count, of.size()));
    std::ranges::fill(all, 0);
    strides = all.first(count * of.size());
    places = all.subspan(strides.size(), count);
    index = all.subspan(strides.size() + count);
  }
  std::int64_t& stride(std::size_t dim, std::size_t value) { return strides[dim * values + value]; }
  /// To the next element; false at the end.
  bool next() {
    for (std::size_t d = shape.size(); d-- > 0;) {
      std::int64_t steps = ++index[d] < shape[d] ? 1 : 1 - shape[d];
      for (std::size_t v = 0; v < values; ++v) places[v] += steps * strides[d * values + v];
      if (steps == 1) return true;
      index[d] = 0;
    }
    return false;
  }
};

/// Calls f(place in x, place in the selection, length) for runs of elements that lie one behind the
/// other in both, in row-major order of the selection.
template <class F>
void for_each_selected(KernelCall& c, std::span<const ConstView> indices, const Type& selection,
                       F f) {
  if (selection.elements() == 0) return;
  const Shape &x = c.inputs[0].type.shape, &result = selection.shape;
  const Ints& dims = c.attr<Ints>("dims");
  std::size_t common = result.size() - (x.size() - dims.size());
  bool neighbours = dims.back() - dims.front() + 1 == static_cast<std::int64_t>(dims.size());
  std::size_t position = neighbours ? static_cast<std::size_t>(dims.front()) : 0;
  // The last dimensions, which are not indexed, are runs.
  std::size_t last = x.size() - 1 - static_cast<std::size_t>(dims.back());
  std::size_t looped = result.size() - last;
  // Value 0 is x, along the dimensions that are not indexed; the others are the indices.
  SelectionWalk walk(c, indices.size() + 1, {result.data(), looped});
  std::array<std::int64_t, max_dims> strides;  // of x
  std::size_t at = result.size();
  std::int64_t stride = 1, run = 1;
  for (std::size_t i = x.size(); i-- > 0; stride *= x[i]) {
    strides[i] = stride;
    if (std::ranges::binary_search(dims, static_cast<std::int64_t>(i))) continue;
    if (at == position + common) at -= common;
    if (--at < looped)
      walk.stride(at, 0) = stride;
    else
      run *= x[i];
  }
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const Shape& shape = indices[k].type.shape;
    stride = 1;
    for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i])
      if (shape[i] != 1) walk.stride(position + common - shape.size() + i, k + 1) = stride;
  }
  std::int64_t i = 0;
  do {
    std::int64_t base = walk.places[0];
    for (std::size_t k = 0; k < indices.size(); ++k) {
      auto d = static_cast<std::size_t>(dims[k]);
      base += checked(c, index_at(indices[k], walk.places[k + 1]), x[d]) * strides[d];
    }
    f(base, i, run);
    i += run;
  } while (walk.next());
}

void run_index(KernelCall& c) {
  visit_size(c.out().type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = c.inputs[0].as<T>();
    T* out = c.out().as<T>();
    for_each_selected(c, c.inputs.subspan(1), c.out().type,
                      [&](std::int64_t place, std::int64_t i, std::int64_t run) {
                        std::copy_n(x + place, run, out + i);
                      });
  });
}

void run_index_put(KernelCall& c) {
  copy_operand(c.inputs[0], c.out());
  bool accumulate = c.attr<bool>("accumulate");
  visit(c.out().type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    auto put = [&](std::int64_t place, std::int64_t i, std::int64_t run) {
      const T* value = c.inputs[1].as<T>() + i;
      T* element = c.out().as<T>() + place;
      if (!accumulate) return void(std::copy_n(value, run, element));
      for (std::int64_t k = 0; k < run; ++k)
        element[k] = store<T>(
            wrapping_add(static_cast<Sum>(load(element[k])), static_cast<Sum>(load(value[k]))));
    };
    for_each_selected(c, c.inputs.subspan(2), c.inputs[1].type, put);
  });
}

std::int64_t index_scratch(const InferCall& c) {
  return SelectionWalk::numbers(c.inputs.size(), c.written[0].shape.size()) * 8;
}

std::int64_t index_put_scratch(const InferCall& c) {
  return SelectionWalk::numbers(c.inputs.size() - 1, c.inputs[1]->shape.size()) * 8;
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
  const ConstView &table = c.inputs[0], &ids = c.inputs[1];
  std::int64_t width = table.type.shape[1] * bytes(table.type.dtype);
  std::byte* to = c.out().data;
  for (std::int64_t i = 0; i < ids.type.elements(); ++i, to += width) {
    std::int64_t row = checked(c, index_at(ids, i), table.type.shape[0]);
    std::memcpy(to, table.data + row * width, static_cast<std::size_t>(width));
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
  const ConstView &dy = c.inputs[0], &ids = c.inputs[1];
  const View& out = c.out();
  std::int64_t rows = out.type.shape[0], width = out.type.shape[1];
  auto skipped = c.attr<std::int64_t>("padding");
  visit(dy.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::span<Accumulate<T>> sums = start_sums<T>(c, out);
    for (std::int64_t i = 0; i < ids.type.elements(); ++i) {
      std::int64_t row = checked(c, index_at(ids, i), rows);
      if (row == skipped) continue;
      for (std::int64_t j = 0; j < width; ++j) {
        auto& sum = sums[static_cast<std::size_t>(row * width + j)];
        sum = wrapping_add(sum, static_cast<Accumulate<T>>(load(dy.as<T>()[i * width + j])));
      }
    }
    store_sums<T>(sums, out);
  });
}

constexpr AttributeSpec along_dim{"dim", AttributeKind::integer, "the dimension to work along"};

}  // namespace

constinit const Op gather{.name = "gather",
                          .doc = "for every index, the element of x there along the dimension",
                          .operands = {{"x"}, {"index"}},
                          .attributes = {along_dim},
                          .infer = infer_gather,
                          .kernel = run_gather};

constinit const Op scatter{
    .name = "scatter",
    .doc = "x with the elements of the source put where the index says, in the order of the index",
    .operands = {{"x"}, {"index"}, {"source"}},
    .attributes = {along_dim,
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
                         .kernel = run_index,
                         .scratch = index_scratch};

constinit const Op index_put{
    .name = "index_put",
    .doc = "x with values put where `index` would read, in that order",
    .operands = {{"x"}, {"values"}, {"indices", Count::many, 1}},
    .attributes = {indexed, {"accumulate", AttributeKind::flag, "add instead of replace", false}},
    .infer = infer_index_put,
    .kernel = run_index_put,
    .scratch = index_put_scratch};

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
    .flops = one_per_input,
    .scratch = sums_scratch};

}  // namespace hocket::ops

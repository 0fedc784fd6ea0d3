// Views of some elements along a dimension, and their gradients.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/operators.h"
#include "hocket/frontend/aten/shape.h"

namespace hocket::frontend {
namespace {

/// A view of a part of one dimension.
SourceValue part(OperatorCall& c, TensorId x, std::int64_t dim, std::int64_t start,
                 std::int64_t stop, std::int64_t step = 1) {
  const Shape& shape = c.type(x).shape;
  auto d = static_cast<std::size_t>(dim);
  if (start == 0 && stop == shape[d] && step == 1) return c.alias(x);
  Ints starts(shape.size(), 0), stops(shape.begin(), shape.end()), steps;
  starts[d] = start;
  stops[d] = stop;
  if (step != 1) {
    steps.assign(shape.size(), 1);
    steps[d] = step;
  }
  return c.view(x, ops::slice, {{"starts", starts}, {"stops", stops}, {"steps", steps}});
}

struct Range {
  std::int64_t start, stop, step;
};

/// Start and end as in Python: negative ones count from the end, and both are clamped to the size.
Range python_range(OperatorCall& c, std::int64_t size) {
  std::int64_t start = c.position("start", 0), stop = c.position("end", size);
  std::int64_t step = c.position("step", 1);
  if (step < 1) c.refuse(fmt::format("step is {}", step));
  if (start < 0) start += size;
  if (stop < 0) stop += size;
  start = std::clamp<std::int64_t>(start, 0, size);
  stop = std::clamp<std::int64_t>(stop, start, size);
  return {start, stop, step};
}

Returned slice(OperatorCall& c) {
  TensorId x = c.tensor("self");
  const Shape& shape = c.type(x).shape;
  if (shape.empty()) c.refuse("a tensor without dimensions has no slice");
  std::int64_t d = c.dim("dim", shape.size(), 0);
  Range r = python_range(c, shape[static_cast<std::size_t>(d)]);
  return part(c, x, d, r.start, r.stop, r.step);
}

Returned narrow(OperatorCall& c) {
  TensorId x = c.tensor("self");
  const Shape& shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size());
  std::int64_t size = shape[static_cast<std::size_t>(d)], start = c.position("start", 0);
  if (start < 0) start += size;
  std::int64_t length = c.integer("length");
  if (start < 0 || length < 0 || length > size - start) c.refuse("is out of range");
  return part(c, x, d, start, start + length);
}

/// A slice of size 1 with its dimension removed.
SourceValue selected(OperatorCall& c, TensorId x, std::int64_t d, std::int64_t index) {
  Shape shape = c.type(x).shape;
  std::int64_t size = shape[static_cast<std::size_t>(d)];
  if (index < 0) index += size;
  if (index < 0 || index >= size) c.refuse("index out of range");
  shape.erase(shape.begin() + d);
  return c.reshape_view(*part(c, x, d, index, index + 1).tensor, shape);
}

Returned select(OperatorCall& c) {
  TensorId x = c.tensor("self");
  return selected(c, x, c.dim("dim", c.type(x).shape.size()), c.integer("index"));
}

SourceValue parts(OperatorCall& c, TensorId x, std::int64_t d, const Ints& sizes) {
  SourceValue all;
  std::int64_t start = 0, whole = c.type(x).shape[static_cast<std::size_t>(d)];
  for (std::int64_t size : sizes) {
    if (size < 0 || size > whole - start) c.refuse("parts do not fit the dimension");
    all.list.push_back(part(c, x, d, start, start + size));
    start += size;
  }
  if (start != whole) c.refuse("parts do not fill the dimension");
  return all;
}

SourceValue equal_parts(OperatorCall& c, TensorId x, std::int64_t d, std::int64_t each) {
  std::int64_t whole = c.type(x).shape[static_cast<std::size_t>(d)];
  if (each < 0 || (each == 0 && whole != 0)) c.refuse(fmt::format("parts of size {}", each));
  Ints sizes;
  for (std::int64_t left = whole; left > 0; left -= each) sizes.push_back(std::min(each, left));
  if (whole == 0) sizes.push_back(0);
  return parts(c, x, d, sizes);
}

Returned split_by_size(OperatorCall& c) {
  TensorId x = c.tensor("self");
  return equal_parts(c, x, c.dim("dim", c.type(x).shape.size(), 0), c.integer("split_size"));
}

Returned split_with_sizes(OperatorCall& c) {
  TensorId x = c.tensor("self");
  return parts(c, x, c.dim("dim", c.type(x).shape.size(), 0), c.ints("split_sizes"));
}

Returned chunk(OperatorCall& c) {
  TensorId x = c.tensor("self");
  std::int64_t d = c.dim("dim", c.type(x).shape.size(), 0), chunks = c.integer("chunks");
  std::int64_t whole = c.type(x).shape[static_cast<std::size_t>(d)];
  if (chunks < 1) c.refuse(fmt::format("{} chunks", chunks));
  if (whole == 0) return parts(c, x, d, Ints(static_cast<std::size_t>(chunks), 0));
  return equal_parts(c, x, d, (whole + chunks - 1) / chunks);
}

/// The given number of parts; if the size is not divisible, the first ones have one more element.
Returned tensor_split(OperatorCall& c) {
  TensorId x = c.tensor("self");
  std::int64_t d = c.dim("dim", c.type(x).shape.size(), 0), sections = c.integer("sections");
  if (c.type(x).shape.empty() || sections < 1) c.refuse(fmt::format("{} sections", sections));
  std::int64_t whole = c.type(x).shape[static_cast<std::size_t>(d)];
  Ints sizes(static_cast<std::size_t>(sections), whole / sections);
  for (std::int64_t i = 0; i < whole % sections; ++i) ++sizes[static_cast<std::size_t>(i)];
  return parts(c, x, d, sizes);
}

/// Splits before the given indices, which follow the rules of slices.
Returned tensor_split_at(OperatorCall& c) {
  TensorId x = c.tensor("self");
  std::int64_t d = c.dim("dim", c.type(x).shape.size(), 0);
  if (c.type(x).shape.empty()) c.refuse("splits a tensor without dimensions");
  std::int64_t whole = c.type(x).shape[static_cast<std::size_t>(d)], start = 0;
  Ints cuts = c.ints("indices");
  cuts.push_back(whole);
  SourceValue all;
  for (std::int64_t cut : cuts) {
    std::int64_t stop = std::clamp<std::int64_t>(cut < 0 ? cut + whole : cut, 0, whole);
    all.list.push_back(part(c, x, d, start, std::max(start, stop)));
    start = stop;
  }
  return all;
}

Returned unbind(OperatorCall& c) {
  TensorId x = c.tensor("self");
  std::int64_t d = c.dim("dim", c.type(x).shape.size(), 0);
  SourceValue all;
  for (std::int64_t i = 0; i < c.type(x).shape[static_cast<std::size_t>(d)]; ++i)
    all.list.push_back(selected(c, x, d, i));
  return all;
}

/// The same parts as copies that do not share the storage.
Returned copies(OperatorCall& c, const SourceValue& all) {
  std::vector<Value> values;
  for (const SourceValue& v : all.list) values.push_back(c.read(*v.tensor));
  return values;
}

Returned unsafe_split(OperatorCall& c) {
  return copies(c, std::get<SourceValue>(split_by_size(c)));
}
Returned unsafe_split_with_sizes(OperatorCall& c) {
  return copies(c, std::get<SourceValue>(split_with_sizes(c)));
}

SourceValue choose_slice(OperatorCall& c, TensorId x) {
  const Shape& shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size(), 0);
  Range r = python_range(c, shape[static_cast<std::size_t>(d)]);
  return part(c, x, d, r.start, r.stop, r.step);
}

SourceValue choose_index(OperatorCall& c, TensorId x) {
  return selected(c, x, c.dim("dim", c.type(x).shape.size()), c.integer("index"));
}

Returned slice_scatter(OperatorCall& c) {
  return replaced(c, c.value("self"), c.value("src"), choose_slice);
}
Returned select_scatter(OperatorCall& c) {
  return replaced(c, c.value("self"), c.value("src"), choose_index);
}

Returned slice_backward(OperatorCall& c) { return into_zeros(c, choose_slice); }
Returned select_backward(OperatorCall& c) { return into_zeros(c, choose_index); }

constexpr Row slice_table[] = {
    {"aten.slice.Tensor", "self dim start end step", slice},
    {"aten.narrow.default", "self dim start length", narrow},
    {"aten.select.int", "self dim index", select},
    {"aten.split.Tensor", "self split_size dim", split_by_size},
    {"aten.split.sizes", "self split_sizes dim", split_with_sizes},
    {"aten.split_with_sizes.default", "self split_sizes dim", split_with_sizes},
    {"aten.chunk.default", "self chunks dim", chunk},
    {"aten.tensor_split.sections", "self sections dim", tensor_split},
    {"aten.tensor_split.indices", "self indices dim", tensor_split_at},
    {"aten.unbind.int", "self dim", unbind},
    {"aten.unsafe_split.Tensor", "self split_size dim", unsafe_split},
    {"aten.unsafe_split_with_sizes.default", "self split_sizes dim", unsafe_split_with_sizes},
    {"aten.slice_scatter.default", "self src dim start end step", slice_scatter},
    {"aten.select_scatter.default", "self src dim index", select_scatter},
    {"aten.slice_backward.default", "grad_output input_sizes dim start end step", slice_backward},
    {"aten.select_backward.default", "grad_output input_sizes dim index", select_backward},
};

}  // namespace

std::span<const Row> slice_rows() { return slice_table; }

}  // namespace hocket::frontend

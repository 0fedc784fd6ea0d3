// Views of all elements: other shapes, other orders of dimensions.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/operators.h"
#include "hocket/frontend/aten/shape.h"

namespace hocket::frontend {
namespace {

/// Sizes of which one may be -1, which is then inferred.
Shape completed(OperatorCall& c, Ints sizes, std::int64_t elements) {
  auto unknown = std::ranges::find(sizes, -1);
  if (unknown != sizes.end()) {
    *unknown = 1;
    auto known = count_elements(sizes);
    if (!known || *known == 0 || elements % *known != 0)
      c.refuse(fmt::format("{} elements do not fit {}", elements, dims_text(sizes)));
    *unknown = elements / *known;
  }
  if (count_elements(sizes) != elements)
    c.refuse(fmt::format("{} elements do not fit {}", elements, dims_text(sizes)));
  return to_shape(sizes);
}

Returned view(OperatorCall& c) {
  TensorId x = c.tensor("self");
  return c.reshape_view(x, completed(c, c.ints("size"), c.type(x).elements()));
}

/// A view where the layout allows it, otherwise a copy.
Returned reshaped(OperatorCall& c, TensorId x, const Shape& shape) {
  if (can_view(c.type(x).shape, c.strides(x), shape)) return c.reshape_view(x, shape);
  return c.reshape(c.read(x), shape);
}

Returned reshape(OperatorCall& c) {
  TensorId x = c.tensor("self");
  return reshaped(c, x, completed(c, c.ints("shape"), c.type(x).elements()));
}

Returned view_as(OperatorCall& c) {
  return c.reshape_view(c.tensor("self"), c.type("other").shape);
}

Returned reshape_as(OperatorCall& c) {
  return reshaped(c, c.tensor("self"), c.type("other").shape);
}

Returned flatten(OperatorCall& c) {
  TensorId x = c.tensor("self");
  const Shape shape = c.type(x).shape;
  std::int64_t first = c.dim_or_first("start_dim", shape.size(), 0),
               last = c.dim_or_first("end_dim", shape.size(), -1);
  if (first > last) c.refuse("start_dim is behind end_dim");
  if (shape.empty()) return c.reshape_view(x, {1});
  Shape flat;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    auto d = static_cast<std::int64_t>(i);
    if (d > first && d <= last)
      flat[flat.size() - 1] *= shape[i];
    else
      flat.push_back(shape[i]);
  }
  return reshaped(c, x, flat);
}

Returned unflatten(OperatorCall& c) {
  TensorId x = c.tensor("self");
  const Shape shape = c.type(x).shape;
  auto d = static_cast<std::size_t>(c.dim("dim", shape.size()));
  Shape inner = completed(c, c.ints("sizes"), shape[d]), all;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != d)
      all.push_back(shape[i]);
    else
      for (std::int64_t n : inner) all.push_back(n);
  }
  return c.reshape_view(x, all);
}

Returned squeeze(OperatorCall& c) {
  TensorId x = c.tensor("self");
  const Shape& shape = c.type(x).shape;
  Ints gone = c.dims("dim", shape.size());
  Shape left;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 || std::ranges::find(gone, static_cast<std::int64_t>(i)) == gone.end())
      left.push_back(shape[i]);
  return c.reshape_view(x, left);
}

Returned squeeze_dims(OperatorCall& c) {
  // Unlike for reductions, an empty list means no dimension.
  if (c.ints("dim").empty()) return c.alias(c.tensor("self"));
  return squeeze(c);
}

Returned unsqueeze(OperatorCall& c) {
  TensorId x = c.tensor("self");
  Shape shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size() + 1);
  shape.insert(shape.begin() + d, 1);
  return c.reshape_view(x, shape);
}

Returned expanded(OperatorCall& c, TensorId x, Shape shape) {
  const Shape& old = c.type(x).shape;
  if (shape.size() < old.size()) c.refuse("gives fewer sizes than the tensor has");
  for (std::size_t i = 0; i < old.size(); ++i) {
    std::int64_t& size = shape[shape.size() - old.size() + i];
    if (size == -1) size = old[i];  // keeps its size
  }
  if (shape == old) return c.alias(x);
  return c.view(x, ops::broadcast, {{"shape", Ints(shape.begin(), shape.end())}});
}

Returned expand(OperatorCall& c) { return expanded(c, c.tensor("self"), to_shape(c.ints("size"))); }

Returned expand_as(OperatorCall& c) { return expanded(c, c.tensor("self"), c.type("other").shape); }

Returned permuted(OperatorCall& c, TensorId x, const Ints& dims) {
  return std::ranges::is_sorted(dims) ? c.alias(x) : c.view(x, ops::permute, {{"dims", dims}});
}

Returned permute(OperatorCall& c) {
  TensorId x = c.tensor("self");
  Ints dims = c.ints("dims");
  auto rank = static_cast<std::int64_t>(c.type(x).shape.size());
  for (std::int64_t& d : dims)
    if (d < 0) d += rank;
  return permuted(c, x, dims);
}

Returned transpose(OperatorCall& c) {
  TensorId x = c.tensor("self");
  std::size_t rank = c.type(x).shape.size();
  if (rank == 0) return c.alias(x);
  Ints dims = in_order(rank);
  std::swap(dims[static_cast<std::size_t>(c.dim("dim0", rank))],
            dims[static_cast<std::size_t>(c.dim("dim1", rank))]);
  return permuted(c, x, dims);
}

Returned t(OperatorCall& c) {
  TensorId x = c.tensor("self");
  if (c.type(x).shape.size() > 2) c.refuse("wants at most two dimensions");
  Ints dims = in_order(c.type(x).shape.size());
  std::ranges::reverse(dims);
  return permuted(c, x, dims);
}

Returned all_turned(OperatorCall& c) {
  TensorId x = c.tensor("self");
  Ints dims = in_order(c.type(x).shape.size());
  std::ranges::reverse(dims);
  return permuted(c, x, dims);
}

Returned last_two_turned(OperatorCall& c) {
  TensorId x = c.tensor("self");
  Ints dims = in_order(c.type(x).shape.size());
  if (dims.size() < 2) c.refuse("wants at least two dimensions");
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return permuted(c, x, dims);
}

Returned movedim(OperatorCall& c) {
  TensorId x = c.tensor("self");
  Ints from = c.ints("source"), to = c.ints("destination");
  auto rank = static_cast<std::int64_t>(c.type(x).shape.size());
  if (from.size() != to.size()) c.refuse("source and destination differ in number");
  Ints dims(static_cast<std::size_t>(rank), -1);
  std::vector<bool> used(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t f = from[i] < 0 ? from[i] + rank : from[i], d = to[i] < 0 ? to[i] + rank : to[i];
    if (f < 0 || f >= rank || d < 0 || d >= rank) c.refuse("dimension out of range");
    dims[static_cast<std::size_t>(d)] = f;
    used[static_cast<std::size_t>(f)] = true;
  }
  std::size_t next = 0;
  for (std::int64_t& d : dims) {
    if (d >= 0) continue;
    while (used[next]) ++next;
    d = static_cast<std::int64_t>(next++);
  }
  return permuted(c, x, dims);
}

/// Each tensor along a dimension of its own; for `xy` the first two are swapped.
Returned meshgrid(OperatorCall& c) {
  std::string indexing = c.text("indexing", "ij");
  if (indexing != "ij" && indexing != "xy") c.refuse(fmt::format("indexing is '{}'", indexing));
  std::vector<TensorId> tensors = c.tensors("tensors");
  auto place = [&](std::size_t i) {
    return indexing == "xy" && i < 2 && tensors.size() > 1 ? 1 - i : i;
  };
  Shape all = to_shape(Ints(tensors.size(), 1));
  for (std::size_t i = 0; i < tensors.size(); ++i) all[place(i)] = c.type(tensors[i]).elements();
  SourceValue grids;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (c.type(tensors[i]).shape.size() > 1) c.refuse("wants tensors of one dimension");
    Shape apart = to_shape(Ints(tensors.size(), 1));
    apart[place(i)] = all[place(i)];
    TensorId one = *c.reshape_view(tensors[i], apart).tensor;
    grids.list.push_back(std::get<SourceValue>(expanded(c, one, all)));
  }
  return grids;
}

Returned same(OperatorCall& c) { return c.alias(c.tensor("self")); }

Returned detach(OperatorCall& c) {
  TensorId x = c.tensor("self");
  if (!c.translation().source.differentiable || !is_float(c.type(x).dtype)) return c.alias(x);
  return c.view(x, ops::stop_gradient, {});
}

Returned detach_in_place(OperatorCall& c) {
  TensorId x = c.tensor("self");
  if (c.translation().source.differentiable && is_float(c.type(x).dtype))
    c.write(x, c.build(ops::stop_gradient, {c.read(x)}));
  return c.alias(x);
}

Returned contiguous(OperatorCall& c) {
  TensorId x = c.tensor("self");
  if (is_contiguous(c.type(x).shape, c.strides(x))) return c.alias(x);
  return c.read(x);
}

constexpr Row view_table[] = {
    {"aten.view.default", "self size", view},
    {"aten._unsafe_view.default", "self size", view},
    {"aten._reshape_alias.default", "self size stride", view},
    {"aten.reshape.default", "self shape", reshape},
    {"aten.view_as.default", "self other", view_as},
    {"aten.reshape_as.default", "self other", reshape_as},
    {"aten.flatten.using_ints", "self start_dim end_dim", flatten},
    {"aten.unflatten.int", "self dim sizes", unflatten},
    {"aten.squeeze.default", "self", squeeze},
    {"aten.squeeze.dim", "self dim", squeeze},
    {"aten.squeeze.dims", "self dim", squeeze_dims},
    {"aten.unsqueeze.default", "self dim", unsqueeze},
    {"aten.expand.default", "self size", expand},
    {"aten.expand_as.default", "self other", expand_as},
    {"aten.permute.default", "self dims", permute},
    {"aten.transpose.int", "self dim0 dim1", transpose},
    {"aten.swapaxes.default", "self dim0 dim1", transpose},
    {"aten.swapdims.default", "self dim0 dim1", transpose},
    {"aten.t.default", "self", t},
    {"aten.numpy_T.default", "self", all_turned},
    {"aten.mT.default", "self", last_two_turned},
    {"aten.adjoint.default", "self", last_two_turned},
    {"aten.movedim.int", "self source destination", movedim},
    {"aten.movedim.intlist", "self source destination", movedim},
    {"aten.broadcast_to.default", "self size", expand},
    {"aten.meshgrid.default", "tensors", meshgrid},
    {"aten.meshgrid.indexing", "tensors indexing", meshgrid},
    {"aten.alias.default", "self", same},
    {"aten.lift.default", "self", same},
    {"aten.lift_fresh.default", "self", same},
    {"aten.detach.default", "self", detach},
    {"aten.detach_.default", "self", detach_in_place},
    {"aten.contiguous.default", "self memory_format", contiguous},
};

}  // namespace

std::span<const Row> view_rows() { return view_table; }

}  // namespace hocket::frontend

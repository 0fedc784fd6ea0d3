// Views, and what copies elements to other places.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/aten_rare.h"

namespace hocket::frontend {
namespace {

Shape to_shape(const Ints& list) { return Shape(std::span<const std::int64_t>(list)); }

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t all = 1;
  for (std::int64_t n : sizes) all *= n;
  return all;
}

/// Sizes of which one may be -1: what is left.
Shape completed(Call& c, Ints sizes, std::int64_t elements) {
  std::int64_t known = 1, unknown = -1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != -1)
      known *= sizes[i];
    else if (unknown < 0)
      unknown = static_cast<std::int64_t>(i);
    else
      c.refuse("has two sizes of -1");
  }
  if (unknown >= 0) {
    if (known <= 0 || elements % known != 0)
      c.refuse(fmt::format("{} elements do not fit {}", elements, dims_text(sizes)));
    sizes[static_cast<std::size_t>(unknown)] = elements / known;
  }
  return to_shape(sizes);
}

Returned view(Call& c) {
  TensorId x = c.tensor("self");
  return c.reshape_view(x, completed(c, c.ints("size"), c.type(x).elements()));
}

/// A view where the layout allows it, a copy elsewhere.
Returned reshaped(Call& c, TensorId x, const Shape& shape) {
  if (can_view(c.type(x).shape, c.strides(x), shape)) return c.reshape_view(x, shape);
  return c.reshape(c.read(x), shape);
}

Returned reshape(Call& c) {
  TensorId x = c.tensor("self");
  return reshaped(c, x, completed(c, c.ints("shape"), c.type(x).elements()));
}

Returned view_as(Call& c) { return c.reshape_view(c.tensor("self"), c.type("other").shape); }

Returned reshape_as(Call& c) { return reshaped(c, c.tensor("self"), c.type("other").shape); }

Returned flatten(Call& c) {
  TensorId x = c.tensor("self");
  const Shape shape = c.type(x).shape;
  std::int64_t first = c.dim("start_dim", shape.size(), 0),
               last = c.dim("end_dim", shape.size(), -1);
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

Returned unflatten(Call& c) {
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

Returned squeeze(Call& c) {
  TensorId x = c.tensor("self");
  const Shape& shape = c.type(x).shape;
  Ints gone = c.dims("dim", shape.size());
  Shape left;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 || std::ranges::find(gone, static_cast<std::int64_t>(i)) == gone.end())
      left.push_back(shape[i]);
  return c.reshape_view(x, left);
}

Returned squeeze_dims(Call& c) {
  // An empty list names no dimension here, unlike in reductions.
  if (c.ints("dim").empty()) return c.alias(c.tensor("self"));
  return squeeze(c);
}

Returned unsqueeze(Call& c) {
  TensorId x = c.tensor("self");
  Shape shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size() + 1);
  shape.insert(shape.begin() + d, 1);
  return c.reshape_view(x, shape);
}

Returned expanded(Call& c, TensorId x, Shape shape) {
  const Shape& old = c.type(x).shape;
  if (shape.size() < old.size()) c.refuse("gives fewer sizes than the tensor has");
  for (std::size_t i = 0; i < old.size(); ++i) {
    std::int64_t& size = shape[shape.size() - old.size() + i];
    if (size == -1) size = old[i];  // keeps what is there
  }
  if (shape == old) return c.alias(x);
  return c.view(x, ops::broadcast, {{"shape", Ints(shape.begin(), shape.end())}});
}

Returned expand(Call& c) { return expanded(c, c.tensor("self"), to_shape(c.ints("size"))); }

Returned expand_as(Call& c) { return expanded(c, c.tensor("self"), c.type("other").shape); }

Returned permuted(Call& c, TensorId x, const Ints& dims) {
  return std::ranges::is_sorted(dims) ? c.alias(x) : c.view(x, ops::permute, {{"dims", dims}});
}

Ints in_order(std::size_t rank) {
  Ints dims(rank);
  for (std::size_t i = 0; i < rank; ++i) dims[i] = static_cast<std::int64_t>(i);
  return dims;
}

Returned permute(Call& c) {
  TensorId x = c.tensor("self");
  Ints dims = c.ints("dims");
  auto rank = static_cast<std::int64_t>(c.type(x).shape.size());
  for (std::int64_t& d : dims)
    if (d < 0) d += rank;
  return permuted(c, x, dims);
}

Returned transpose(Call& c) {
  TensorId x = c.tensor("self");
  std::size_t rank = c.type(x).shape.size();
  if (rank == 0) return c.alias(x);
  Ints dims = in_order(rank);
  std::swap(dims[static_cast<std::size_t>(c.dim("dim0", rank))],
            dims[static_cast<std::size_t>(c.dim("dim1", rank))]);
  return permuted(c, x, dims);
}

Returned t(Call& c) {
  TensorId x = c.tensor("self");
  if (c.type(x).shape.size() > 2) c.refuse("wants at most two dimensions");
  Ints dims = in_order(c.type(x).shape.size());
  std::ranges::reverse(dims);
  return permuted(c, x, dims);
}

Returned all_turned(Call& c) {
  TensorId x = c.tensor("self");
  Ints dims = in_order(c.type(x).shape.size());
  std::ranges::reverse(dims);
  return permuted(c, x, dims);
}

Returned last_two_turned(Call& c) {
  TensorId x = c.tensor("self");
  Ints dims = in_order(c.type(x).shape.size());
  if (dims.size() < 2) c.refuse("wants at least two dimensions");
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return permuted(c, x, dims);
}

Returned movedim(Call& c) {
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

/// Part of one dimension, sharing the storage.
SourceValue part(Call& c, TensorId x, std::int64_t dim, std::int64_t start, std::int64_t stop,
                 std::int64_t step = 1) {
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

/// Start and end as Python reads them: from the end when negative, never beyond.
Range python_range(Call& c, std::int64_t size) {
  std::int64_t start = c.integer("start", 0), stop = c.integer("end", size);
  std::int64_t step = c.integer("step", 1);
  if (step < 1) c.refuse(fmt::format("step is {}", step));
  if (start < 0) start += size;
  if (stop < 0) stop += size;
  start = std::clamp<std::int64_t>(start, 0, size);
  stop = std::clamp<std::int64_t>(stop, start, size);
  return {start, stop, step};
}

Returned slice(Call& c) {
  TensorId x = c.tensor("self");
  const Shape& shape = c.type(x).shape;
  if (shape.empty()) c.refuse("a tensor without dimensions has no slice");
  std::int64_t d = c.dim("dim", shape.size(), 0);
  Range r = python_range(c, shape[static_cast<std::size_t>(d)]);
  return part(c, x, d, r.start, r.stop, r.step);
}

Returned narrow(Call& c) {
  TensorId x = c.tensor("self");
  const Shape& shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size());
  std::int64_t size = shape[static_cast<std::size_t>(d)], start = c.integer("start");
  if (start < 0) start += size;
  std::int64_t length = c.integer("length");
  if (start < 0 || length < 0 || length > size - start) c.refuse("is out of range");
  return part(c, x, d, start, start + length);
}

/// A part of size 1 without its dimension.
SourceValue selected(Call& c, TensorId x, std::int64_t d, std::int64_t index) {
  Shape shape = c.type(x).shape;
  std::int64_t size = shape[static_cast<std::size_t>(d)];
  if (index < 0) index += size;
  if (index < 0 || index >= size) c.refuse("index out of range");
  shape.erase(shape.begin() + d);
  return c.reshape_view(*part(c, x, d, index, index + 1).tensor, shape);
}

Returned select(Call& c) {
  TensorId x = c.tensor("self");
  return selected(c, x, c.dim("dim", c.type(x).shape.size()), c.integer("index"));
}

SourceValue parts(Call& c, TensorId x, std::int64_t d, const Ints& sizes) {
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

SourceValue equal_parts(Call& c, TensorId x, std::int64_t d, std::int64_t each) {
  std::int64_t whole = c.type(x).shape[static_cast<std::size_t>(d)];
  if (each < 0 || (each == 0 && whole != 0)) c.refuse(fmt::format("parts of size {}", each));
  Ints sizes;
  for (std::int64_t left = whole; left > 0; left -= each) sizes.push_back(std::min(each, left));
  if (whole == 0) sizes.push_back(0);
  return parts(c, x, d, sizes);
}

Returned split(Call& c) {
  TensorId x = c.tensor("self");
  return equal_parts(c, x, c.dim("dim", c.type(x).shape.size(), 0), c.integer("split_size"));
}

Returned split_with_sizes(Call& c) {
  TensorId x = c.tensor("self");
  return parts(c, x, c.dim("dim", c.type(x).shape.size(), 0), c.ints("split_sizes"));
}

Returned chunk(Call& c) {
  TensorId x = c.tensor("self");
  std::int64_t d = c.dim("dim", c.type(x).shape.size(), 0), chunks = c.integer("chunks");
  std::int64_t whole = c.type(x).shape[static_cast<std::size_t>(d)];
  if (chunks < 1) c.refuse(fmt::format("{} chunks", chunks));
  if (whole == 0) return parts(c, x, d, Ints(static_cast<std::size_t>(chunks), 0));
  return equal_parts(c, x, d, (whole + chunks - 1) / chunks);
}

Returned unbind(Call& c) {
  TensorId x = c.tensor("self");
  std::int64_t d = c.dim("dim", c.type(x).shape.size(), 0);
  SourceValue all;
  for (std::int64_t i = 0; i < c.type(x).shape[static_cast<std::size_t>(d)]; ++i)
    all.list.push_back(selected(c, x, d, i));
  return all;
}

/// The same parts as copies: later writes do not meet.
Returned copies(Call& c, const SourceValue& all) {
  std::vector<Value> values;
  for (const SourceValue& v : all.list) values.push_back(c.read(*v.tensor));
  return values;
}

Returned unsafe_split(Call& c) { return copies(c, std::get<SourceValue>(split(c))); }
Returned unsafe_split_with_sizes(Call& c) {
  return copies(c, std::get<SourceValue>(split_with_sizes(c)));
}

/// The element of a flat tensor at offset + sum of index * stride, for each index of a shape.
Value offsets(At at, const Shape& shape, const Ints& strides, std::int64_t offset) {
  Graph& g = *at.graph;
  auto make = [&](const Op& op, Named attribute, const Type& type) {
    return g.result(g.add(at, {.op = &op,
                               .attributes = Attributes(op, {std::move(attribute)}),
                               .types = std::span(&type, 1)}));
  };
  Type point{DType::i64, false, {}}, all{DType::i64, false, shape};
  Value sum = make(ops::full, {"value", offset}, all);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] == 0 || shape[d] == 1) continue;
    Value index = make(ops::iota, {"dim", static_cast<std::int64_t>(d)}, all);
    sum = ops::add(at, sum, ops::mul(at, index, make(ops::full, {"value", strides[d]}, point)));
  }
  return sum;
}

/// Whether two indices can mean one element. Sorted by stride, each must step over all before it.
bool overlaps(const Shape& shape, const Ints& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1) dims.emplace_back(strides[d], shape[d]);
  std::ranges::sort(dims);
  std::int64_t reach = 0;
  for (auto [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

/// A view by strides over the elements of x in the order of `flat_dims`.
SourceValue strided(Call& c, TensorId x, const Ints& flat_dims, const Shape& shape,
                    const Ints& strides, std::int64_t offset) {
  const Shape whole = c.type(x).shape;
  std::int64_t last = offset;
  bool empty = std::ranges::find(shape, 0) != shape.end();
  if (shape.size() != strides.size() || offset < 0) c.refuse("strides do not fit the sizes");
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] < 0 || shape[d] < 0) c.refuse("has a negative size or stride");
    last += strides[d] * std::max<std::int64_t>(0, shape[d] - 1);
  }
  if (!empty && last >= c.type(x).elements()) c.refuse("reaches beyond the tensor");
  Ints sizes(shape.begin(), shape.end());
  auto flat = [=](At at, Value v) {
    if (!std::ranges::is_sorted(flat_dims)) v = ops::permute(at, {v}, {{"dims", flat_dims}});
    return ops::reshape(at, {v}, {{"shape", Ints{at.graph->type(v).elements()}}});
  };
  auto lists = [](const Op& op, std::initializer_list<Named> named,
                  std::vector<std::uint32_t> counts) {
    return Attributes(op, named).with_list_sizes(std::move(counts));
  };
  View view;
  view.read = [=](At at, Value v) {
    Value inputs[] = {flat(at, v), offsets(at, shape, strides, offset)};
    return at.graph->result(
        at.graph->add(at, {.op = &ops::index,
                           .inputs = inputs,
                           .attributes = lists(ops::index, {{"dims", Ints{0}}}, {1, 1})}));
  };
  if (!overlaps(shape, strides))
    view.put = [=](At at, Value v, Value part) {
      Value inputs[] = {flat(at, v), part, offsets(at, shape, strides, offset)};
      Value put = at.graph->result(
          at.graph->add(at, {.op = &ops::index_put,
                             .inputs = inputs,
                             .attributes = lists(ops::index_put, {{"dims", Ints{0}}}, {1, 1, 1})}));
      Ints turned, back(flat_dims.size());
      for (std::size_t i = 0; i < flat_dims.size(); ++i) {
        turned.push_back(whole[static_cast<std::size_t>(flat_dims[i])]);
        back[static_cast<std::size_t>(flat_dims[i])] = static_cast<std::int64_t>(i);
      }
      put = ops::reshape(at, {put}, {{"shape", turned}});
      return std::ranges::is_sorted(back) ? put : ops::permute(at, {put}, {{"dims", back}});
    };
  return {c.translation().storages.view(c.at(), x, std::move(view)), {}};
}

/// Strides of the source are over its memory: that of the whole storage, in the order in which its
/// dimensions lie there.
Returned as_strided(Call& c) {
  TensorId x = c.tensor("self");
  Shape shape = to_shape(c.ints("size"));
  Ints strides = c.ints("stride");
  TensorId whole = c.translation().storages.whole(x);
  if (whole != x && !c.has("storage_offset"))
    c.refuse("strides over a view without a storage offset cannot be expressed");
  const Shape& sizes = c.type(whole).shape;
  Ints order = in_order(sizes.size()), own = c.strides(whole);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return own[static_cast<std::size_t>(a)] > own[static_cast<std::size_t>(b)];
  });
  Shape laid;
  Ints steps;
  for (std::int64_t d : order) {
    laid.push_back(sizes[static_cast<std::size_t>(d)]);
    steps.push_back(own[static_cast<std::size_t>(d)]);
  }
  if (!is_contiguous(laid, steps)) c.refuse("strides over memory with gaps cannot be expressed");
  std::int64_t offset = c.integer("storage_offset", 0);
  bool plain = std::ranges::is_sorted(order) && offset == 0 && is_contiguous(shape, strides);
  if (plain && product(c.ints("size")) == c.type(whole).elements())
    return c.reshape_view(whole, shape);
  return strided(c, whole, order, shape, strides, offset);
}

SourceValue diagonal_of(Call& c, TensorId x, std::int64_t offset, std::int64_t dim1,
                        std::int64_t dim2) {
  const Shape shape = c.type(x).shape;
  auto a = static_cast<std::size_t>(dim1), b = static_cast<std::size_t>(dim2);
  if (a == b) c.refuse("wants two different dimensions");
  std::int64_t down = std::max<std::int64_t>(0, -offset), right = std::max<std::int64_t>(0, offset);
  std::int64_t length = std::max<std::int64_t>(0, std::min(shape[a] - down, shape[b] - right));
  Ints own = contiguous_strides(shape), strides;
  Shape sizes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == a || d == b) continue;
    sizes.push_back(shape[d]);
    strides.push_back(own[d]);
  }
  sizes.push_back(length);
  strides.push_back(own[a] + own[b]);
  std::int64_t start = length == 0 ? 0 : down * own[a] + right * own[b];
  return strided(c, x, in_order(shape.size()), sizes, strides, start);
}

Returned diagonal(Call& c) {
  TensorId x = c.tensor("self");
  std::size_t rank = c.type(x).shape.size();
  return diagonal_of(c, x, c.integer("offset", 0), c.dim("dim1", rank, 0), c.dim("dim2", rank, 1));
}

/// Windows along a dimension, as a new last one.
Returned unfold(Call& c) {
  TensorId x = c.tensor("self");
  const Shape shape = c.type(x).shape;
  auto d = static_cast<std::size_t>(c.dim("dimension", shape.size()));
  std::int64_t size = c.integer("size"), step = c.integer("step");
  if (shape.empty() || size < 0 || step < 1 || size > shape[d]) c.refuse("windows do not fit");
  Ints strides = contiguous_strides(shape);
  Shape sizes = shape;
  sizes[d] = (shape[d] - size) / step + 1;
  sizes.push_back(size);
  strides.push_back(strides[d]);
  strides[d] *= step;
  return strided(c, x, in_order(shape.size()), sizes, strides, 0);
}

Returned same(Call& c) { return c.alias(c.tensor("self")); }

Returned detach(Call& c) {
  TensorId x = c.tensor("self");
  if (!c.translation().source.differentiable || !is_float(c.type(x).dtype)) return c.alias(x);
  return c.view(x, ops::stop_gradient, {});
}

Returned detach_in_place(Call& c) {
  TensorId x = c.tensor("self");
  if (c.translation().source.differentiable && is_float(c.type(x).dtype))
    c.write(x, c.build(ops::stop_gradient, {c.read(x)}));
  return c.alias(x);
}

Returned contiguous(Call& c) {
  TensorId x = c.tensor("self");
  if (is_contiguous(c.type(x).shape, c.strides(x))) return c.alias(x);
  return c.read(x);
}

Returned copy_of_self(Call& c) { return c.value("self"); }

// ---- copies

Returned cat(Call& c) {
  std::vector<Value> all = c.values("tensors");
  if (all.empty()) c.refuse("joins nothing");
  // Empty tensors of rank 1 are left out, as the source does.
  auto is_nothing = [&](Value v) { return c.type(v).shape == Shape{0}; };
  std::vector<Operand> operands(all.begin(), all.end());
  DType dtype = c.promoted(operands);
  if (!std::ranges::all_of(all, is_nothing)) std::erase_if(all, is_nothing);
  for (Value& v : all) v = c.cast(v, dtype);
  std::int64_t d = c.dim("dim", c.type(all[0]).shape.size(), 0);
  if (all.size() == 1) return all[0];
  return ops::concat(c.at(), all, {{"dim", d}});
}

Returned stack(Call& c) {
  std::vector<Value> all = c.values("tensors");
  if (all.empty()) c.refuse("joins nothing");
  std::vector<Operand> operands(all.begin(), all.end());
  DType dtype = c.promoted(operands);
  std::int64_t d = c.dim("dim", c.type(all[0]).shape.size() + 1, 0);
  for (Value& v : all) {
    Shape shape = c.type(v).shape;
    shape.insert(shape.begin() + d, 1);
    v = c.reshape(c.cast(v, dtype), shape);
  }
  return ops::concat(c.at(), all, {{"dim", d}});
}

Returned repeat(Call& c) {
  Value x = c.value("self");
  Ints times = c.ints(c.row().arguments == "self repeats" ? "repeats" : "dims");
  Shape shape = c.type(x).shape;
  while (times.size() < shape.size()) times.insert(times.begin(), 1);  // `tile` may give fewer
  while (shape.size() < times.size()) shape.insert(shape.begin(), 1);
  Shape apart, wide, all;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] < 0) c.refuse("repeats less than never");
    apart.push_back(1);
    apart.push_back(shape[i]);
    wide.push_back(times[i]);
    wide.push_back(shape[i]);
    all.push_back(times[i] * shape[i]);
  }
  return c.reshape(c.broadcast(c.reshape(x, apart), wide), all);
}

Returned repeat_interleave(Call& c) {
  Value x = c.value("self");
  std::int64_t times = c.integer("repeats");
  if (times < 0) c.refuse("repeats less than never");
  if (!c.has("dim")) x = c.reshape(x, {c.type(x).elements()});
  const Shape shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size(), 0);
  Shape apart = shape, all = shape;
  apart.insert(apart.begin() + d + 1, 1);
  Shape wide = apart;
  wide[static_cast<std::size_t>(d + 1)] = times;
  all[static_cast<std::size_t>(d)] *= times;
  return c.reshape(c.broadcast(c.reshape(x, apart), wide), all);
}

Returned flip(Call& c) {
  Value x = c.value("self");
  if (c.ints("dims").empty() || c.type(x).shape.empty()) return x;
  return c.build(ops::flip, {x}, {{"dims", c.dims("dims", c.type(x).shape.size())}});
}

Returned roll(Call& c) {
  Value x = c.value("self");
  const Shape shape = c.type(x).shape;
  Ints shifts = c.ints("shifts"), dims = c.ints("dims");
  if (dims.empty()) {
    x = c.reshape(x, {c.type(x).elements()});
    dims = {0};
  }
  if (dims.size() != shifts.size()) c.refuse("shifts and dims differ in number");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    auto rank = static_cast<std::int64_t>(c.type(x).shape.size());
    std::int64_t d = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (d < 0 || d >= rank) c.refuse("dimension out of range");
    std::int64_t size = c.type(x).shape[static_cast<std::size_t>(d)];
    if (size == 0) continue;
    std::int64_t shift = (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    Value last = c.slice(x, d, size - shift, size), first = c.slice(x, d, 0, size - shift);
    x = c.build(ops::concat, {last, first}, {{"dim", d}});
  }
  return c.reshape(x, shape);
}

Returned constant_pad(Call& c) {
  Value x = c.value("self");
  const Type& type = c.type(x);
  Ints pads = c.ints("pad");
  std::size_t rank = type.shape.size();
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank) c.refuse("pad does not fit the tensor");
  Ints low(rank, 0), high(rank, 0);
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {  // the last dimension comes first
    low[rank - 1 - i] = pads[2 * i];
    high[rank - 1 - i] = pads[2 * i + 1];
  }
  if (std::ranges::all_of(pads, [](std::int64_t p) { return p == 0; })) return x;
  Value value = c.scalar(type.dtype, c.number("value", Number(std::int64_t{0})));
  return c.build(ops::pad, {x, value}, {{"low", low}, {"high", high}});
}

Returned pad(Call& c) {
  if (std::string mode = c.text("mode", "constant"); mode != "constant")
    return rare::padded_from_itself(c, mode);
  return constant_pad(c);
}

/// A copy of `whole` in which a view of it was replaced by `piece`.
Value replaced(Call& c, Value whole, Value piece, SourceValue (*choose)(Call&, TensorId)) {
  Storages& storages = c.translation().storages;
  TensorId copy = storages.fresh(whole);
  TensorId place = *choose(c, copy).tensor;
  const Type type = storages.type(place);
  storages.write(c.at(), place, c.broadcast(c.cast(piece, type.dtype), type.shape));
  return storages.read(c.at(), copy);
}

SourceValue choose_slice(Call& c, TensorId x) {
  const Shape& shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size(), 0);
  Range r = python_range(c, shape[static_cast<std::size_t>(d)]);
  return part(c, x, d, r.start, r.stop, r.step);
}

SourceValue choose_index(Call& c, TensorId x) {
  return selected(c, x, c.dim("dim", c.type(x).shape.size()), c.integer("index"));
}

SourceValue choose_diagonal(Call& c, TensorId x) {
  const Shape& shape = c.type(x).shape;
  return diagonal_of(c, x, c.integer("offset", 0), c.dim("dim1", shape.size(), 0),
                     c.dim("dim2", shape.size(), 1));
}
Returned diagonal_scatter(Call& c) {
  return replaced(c, c.value("self"), c.value("src"), choose_diagonal);
}

Returned slice_scatter(Call& c) {
  return replaced(c, c.value("self"), c.value("src"), choose_slice);
}
Returned select_scatter(Call& c) {
  return replaced(c, c.value("self"), c.value("src"), choose_index);
}

/// Zeros but for the gradient where the part was taken.
Returned slice_backward(Call& c) {
  Value g = c.value("grad_output");
  Value zeros = c.filled({c.type(g).dtype, false, to_shape(c.ints("input_sizes"))}, 0.0);
  return replaced(c, zeros, g, choose_slice);
}
Returned select_backward(Call& c) {
  Value g = c.value("grad_output");
  Value zeros = c.filled({c.type(g).dtype, false, to_shape(c.ints("input_sizes"))}, 0.0);
  return replaced(c, zeros, g, choose_index);
}

/// Keeps a triangle of the last two dimensions; the comparison of column - row with the diagonal is
/// in the row.
Returned triangle(Call& c) {
  Value x = c.value("self");
  const Type type = c.type(x);
  auto rank = std::ssize(type.shape);
  if (rank < 2) c.refuse("wants at least two dimensions");
  Type plane{
      DType::i64, false, {type.shape[type.shape.size() - 2], type.shape[type.shape.size() - 1]}};
  Value distance = c.build(ops::sub, {c.iota(plane, 1), c.iota(plane, 0)});
  Value kept = c.build(*c.row().op, {distance, c.scalar(DType::i64, c.integer("diagonal", 0))});
  kept = c.broadcast(kept, type.shape);
  return c.build(ops::select, {kept, x, c.scalar(type.dtype, std::int64_t{0})});
}

constexpr Row table[] = {
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
    {"aten.slice.Tensor", "self dim start end step", slice},
    {"aten.narrow.default", "self dim start length", narrow},
    {"aten.select.int", "self dim index", select},
    {"aten.split.Tensor", "self split_size dim", split},
    {"aten.split.sizes", "self split_sizes dim", split_with_sizes},
    {"aten.split_with_sizes.default", "self split_sizes dim", split_with_sizes},
    {"aten.chunk.default", "self chunks dim", chunk},
    {"aten.unbind.int", "self dim", unbind},
    {"aten.unsafe_split.Tensor", "self split_size dim", unsafe_split},
    {"aten.unsafe_split_with_sizes.default", "self split_sizes dim", unsafe_split_with_sizes},
    {"aten.as_strided.default", "self size stride storage_offset", as_strided},
    {"aten.diagonal.default", "self offset dim1 dim2", diagonal},
    {"aten.unfold.default", "self dimension size step", unfold},
    {"aten.broadcast_to.default", "self size", expand},
    {"aten.diagonal_scatter.default", "self src offset dim1 dim2", diagonal_scatter},
    {"aten.alias.default", "self", same},
    {"aten.lift.default", "self", same},
    {"aten.lift_fresh.default", "self", same},
    {"aten.detach.default", "self", detach},
    {"aten.detach_.default", "self", detach_in_place},
    {"aten.contiguous.default", "self memory_format", contiguous},
    {"aten.clone.default", "self memory_format", copy_of_self},
    {"aten.lift_fresh_copy.default", "self", copy_of_self},
    {"aten.cat.default", "tensors dim", cat},
    {"aten.concat.default", "tensors dim", cat},
    {"aten.stack.default", "tensors dim", stack},
    {"aten.repeat.default", "self repeats", repeat},
    {"aten.tile.default", "self dims", repeat},
    {"aten.repeat_interleave.self_int", "self repeats dim output_size", repeat_interleave},
    {"aten.flip.default", "self dims", flip},
    {"aten.roll.default", "self shifts dims", roll},
    {"aten.constant_pad_nd.default", "self pad value", constant_pad},
    {"aten.pad.default", "self pad mode value", pad},
    {"aten.slice_scatter.default", "self src dim start end step", slice_scatter},
    {"aten.select_scatter.default", "self src dim index", select_scatter},
    {"aten.slice_backward.default", "grad_output input_sizes dim start end step", slice_backward},
    {"aten.select_backward.default", "grad_output input_sizes dim index", select_backward},
    {"aten.tril.default", "self diagonal", triangle, &ops::le},
    {"aten.triu.default", "self diagonal", triangle, &ops::ge},
};

}  // namespace

std::span<const Row> shape_rows() { return table; }

}  // namespace hocket::frontend

// Reading and writing by index.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/operator_call.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

struct Indices {
  std::vector<Value> tensors;
  Ints dims;
};

Indices indices(OperatorCall& c, const Shape& shape) {
  const Argument* argument = c.find("indices");
  const List* list = argument == nullptr ? nullptr : argument->as<List>();
  if (list == nullptr) c.refuse("indices are no list");
  if (list->size() > shape.size()) c.refuse("more indices than dimensions");
  Indices all;
  for (std::size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i].none()) continue;
    TensorId t = c.tensor_of((*list)[i], "indices");
    DType dtype = c.type(t).dtype;
    if (dtype == DType::boolean || dtype == DType::u8)
      c.refuse("a mask as an index gives a shape that depends on values");
    all.tensors.push_back(c.cast(c.read(t), DType::i64));
    all.dims.push_back(static_cast<std::int64_t>(i));
  }
  if (all.tensors.empty()) c.refuse("has no index");
  Shape common = c.common_shape(all.tensors);
  for (Value& v : all.tensors) v = c.broadcast(v, common);
  return all;
}

Returned index(OperatorCall& c) {
  Value x = c.value("self");
  Indices i = indices(c, c.type(x).shape);
  return c.build_lists(ops::index, {{x}, i.tensors}, {{"dims", i.dims}})[0];
}

/// Writes one value wherever a mask over the first dimensions holds: the only use of a mask with
/// static shapes.
std::optional<Value> masked_put(OperatorCall& c, Value x) {
  const Argument* argument = c.find("indices");
  const List* list = argument == nullptr ? nullptr : argument->as<List>();
  if (list == nullptr || list->size() != 1 || (*list)[0].none()) return {};
  TensorId mask = c.tensor_of((*list)[0], "indices");
  Value values = c.value("values");
  if (c.type(mask).dtype != DType::boolean || c.type(values).elements() != 1 ||
      c.flag("accumulate", false))
    return {};
  const Type type = c.type(x);
  Shape spread = c.type(mask).shape;
  while (spread.size() < type.shape.size()) spread.push_back(1);
  Value where = c.broadcast(c.reshape(c.read(mask), spread), type.shape);
  return c.build(ops::select, {where, c.reshape(c.cast(values, type.dtype), {}), x});
}

Returned index_put(OperatorCall& c) {
  Value x = c.value("self");
  if (auto masked = masked_put(c, x)) return *masked;
  Indices i = indices(c, c.type(x).shape);
  // The values are broadcast to the shape that reading with these indices would give.
  std::vector<Value> read{x};
  read.insert(read.end(), i.tensors.begin(), i.tensors.end());
  Attributes attributes = Attributes(ops::index, {{"dims", i.dims}})
                              .with_list_sizes({1, static_cast<std::uint32_t>(i.dims.size())});
  Type there =
      c.graph().infer({.op = &ops::index, .inputs = read, .attributes = std::move(attributes)})[0];
  Value values = c.broadcast(c.cast(c.value("values"), c.type(x).dtype), there.shape);
  return c.build_lists(ops::index_put, {{x}, {values}, i.tensors},
                       {{"dims", i.dims}, {"accumulate", c.flag("accumulate", false)}})[0];
}

Returned index_select(OperatorCall& c) {
  Value x = c.value("self"), i = c.value("index");
  std::int64_t d = c.dim_or_first("dim", c.type(x).shape.size());
  if (c.type(x).shape.empty()) return x;
  i = c.reshape(c.cast(i, DType::i64), {c.type(i).elements()});
  return c.build_lists(ops::index, {{x}, {i}}, {{"dims", Ints{d}}})[0];
}

/// Operands for `gather` and `scatter`: an i64 index, and a tensor of rank 1 or more.
struct Along {
  Value x, index;
  std::int64_t dim;
  Shape shape;  // of x as the source sees it
};

Along along(OperatorCall& c) {
  Value x = c.value("self"), i = c.cast(c.value("index"), DType::i64);
  Shape shape = c.type(x).shape;
  std::int64_t d = c.dim_or_first("dim", shape.size());
  if (shape.empty()) x = c.reshape(x, {1});
  if (c.type(i).shape.empty()) i = c.reshape(i, {1});
  return {x, i, d, shape};
}

Returned gather(OperatorCall& c) {
  Along a = along(c);
  Value y = c.build(ops::gather, {a.x, a.index}, {{"dim", a.dim}});
  return c.reshape(y, c.type("index").shape);
}

/// Only as much of the source as the index covers is used.
Value covering(OperatorCall& c, Value source, const Shape& shape) {
  if (c.type(source).shape.empty()) source = c.reshape(source, {1});
  if (c.type(source).shape.size() != shape.size()) c.refuse("source and index differ in rank");
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (c.type(source).shape[d] != shape[d])
      source = c.slice(source, static_cast<std::int64_t>(d), 0, shape[d]);
  return source;
}

/// The values to write: the part of the source that the index covers, or one number for all.
Value scattered(OperatorCall& c, const Along& a) {
  DType dtype = c.type(a.x).dtype;
  const Shape shape = c.type(a.index).shape;
  return c.has("src") ? c.cast(covering(c, c.value("src"), shape), dtype)
                      : c.filled({dtype, false, shape}, c.number("value"));
}

Value scatter_into(OperatorCall& c, const Along& a, Value x, Value source,
                   const std::string& reduce) {
  return c.build(ops::scatter, {x, a.index, source}, {{"dim", a.dim}, {"reduce", reduce}});
}

Returned scatter(OperatorCall& c) {
  Along a = along(c);
  return c.reshape(scatter_into(c, a, a.x, scattered(c, a), "replace"), a.shape);
}

/// The sums divided by the number of summands, rounded down for integers.
Value divided_by_count(OperatorCall& c, const Along& a, Value sum, bool with_self) {
  const Type type = c.type(a.x);
  Value one = c.filled({type.dtype, false, c.type(a.index).shape}, std::int64_t{1});
  Value count = scatter_into(c, a, c.filled(type, std::int64_t{with_self ? 1 : 0}), one, "sum");
  count = c.build(ops::maximum, {count, c.scalar(type.dtype, std::int64_t{1})});
  return c.build(is_float(type.dtype) ? ops::div : ops::floor_div, {sum, count});
}

Returned reduced_into(OperatorCall& c, const std::string& reduce, bool mean = false) {
  Along a = along(c);
  Value source = scattered(c, a), x = a.x;
  bool with_self = c.row().target != "aten.scatter_reduce.two" || c.flag("include_self", true);
  if (!with_self) {
    // The old element must not count: it is replaced by 0, by 1, or by an element of the source.
    Value first = source;
    if (reduce == "sum") first = c.filled(c.type(source), std::int64_t{0});
    if (reduce == "product") first = c.filled(c.type(source), std::int64_t{1});
    x = scatter_into(c, a, x, first, "replace");
  }
  Value y = scatter_into(c, a, x, source, reduce);
  return c.reshape(mean ? divided_by_count(c, a, y, with_self) : y, a.shape);
}

Returned scatter_add(OperatorCall& c) { return reduced_into(c, "sum"); }
Returned scatter_reduce(OperatorCall& c) {
  std::string mode = c.text("reduce");
  if (mode == "mean") return reduced_into(c, "sum", true);
  for (auto [theirs, ours] :
       {std::pair("sum", "sum"), std::pair("add", "sum"), std::pair("prod", "product"),
        std::pair("multiply", "product"), std::pair("amax", "max"), std::pair("amin", "min")})
    if (mode == theirs) return reduced_into(c, ours);
  c.refuse(fmt::format("reduce is '{}'", mode));
}

/// The gradient of a selection, such as a maximum: zero except where the value was taken.
Returned value_selecting_backward(OperatorCall& c) {
  Value g = c.value("grad"), i = c.cast(c.value("indices"), DType::i64);
  Ints sizes = c.ints("sizes");
  if (!count_elements(sizes)) c.refuse(fmt::format("sizes {}", dims_text(sizes)));
  Shape shape{std::span<const std::int64_t>(sizes)}, kept = c.type(g).shape;
  if (shape.empty()) return g;
  std::int64_t d = c.dim("dim", shape.size());
  if (!c.flag("keepdim")) kept.insert(kept.begin() + std::min(d, std::ssize(kept)), 1);
  Value zeros = c.filled({c.type(g).dtype, false, shape}, std::int64_t{0});
  return c.build(ops::scatter, {zeros, c.reshape(i, kept), c.reshape(g, kept)}, {{"dim", d}});
}

/// index_add and index_copy: rows along one dimension.
Returned index_rows_into(OperatorCall& c) {
  Value x = c.value("self"), i = c.cast(c.value("index"), DType::i64);
  Value source = c.cast(c.value("source"), c.type(x).dtype);
  std::int64_t d = c.dim("dim", c.type(x).shape.size());
  bool adds = c.row().op == &ops::add;
  if (adds && c.has("alpha")) source = c.pointwise(ops::mul, {source, c.number("alpha")});
  if (c.type(x).shape.empty()) c.refuse("writes rows into a tensor without dimensions");
  i = c.reshape(i, {c.type(i).elements()});
  return c.build_lists(ops::index_put, {{x}, {source}, {i}},
                       {{"dims", Ints{d}}, {"accumulate", adds}})[0];
}

Returned index_fill(OperatorCall& c) {
  Value x = c.value("self"), i = c.cast(c.value("index"), DType::i64);
  std::int64_t d = c.dim("dim", c.type(x).shape.size());
  i = c.reshape(i, {c.type(i).elements()});
  Shape shape = c.type(x).shape;
  shape[static_cast<std::size_t>(d)] = c.type(i).elements();
  Value fill = c.broadcast(c.plain(c.operand("value"), c.type(x).dtype), shape);
  return c.build_lists(ops::index_put, {{x}, {fill}, {i}}, {{"dims", Ints{d}}})[0];
}

Returned take(OperatorCall& c) {
  Value x = c.value("self"), i = c.cast(c.value("index"), DType::i64);
  x = c.reshape(x, {c.type(x).elements()});
  return c.build_lists(ops::index, {{x}, {i}}, {{"dims", Ints{0}}})[0];
}

Returned take_along_dim(OperatorCall& c) {
  Value x = c.value("self"), i = c.cast(c.value("indices"), DType::i64);
  if (!c.has("dim")) c.refuse("needs a dimension");
  std::int64_t d = c.dim("dim", c.type(x).shape.size());
  // All dimensions except `dim` are broadcast together.
  Shape a = c.type(x).shape, b = c.type(i).shape;
  if (a.size() != b.size()) c.refuse("the index has another rank");
  for (std::size_t k = 0; k < a.size(); ++k)
    if (static_cast<std::int64_t>(k) != d) a[k] = b[k] = std::max(a[k], b[k]);
  return c.build(ops::gather, {c.broadcast(x, a), c.broadcast(i, b)}, {{"dim", d}});
}

Returned one_hot(OperatorCall& c) {
  Value x = c.value("self");
  std::int64_t classes = c.integer("num_classes", -1);
  if (classes < 1) c.refuse("num_classes must be given");
  Shape shape = c.type(x).shape;
  shape.push_back(1);
  Value apart = c.reshape(c.cast(x, DType::i64), shape);
  shape[shape.size() - 1] = classes;
  Value same = c.build(ops::eq, {c.broadcast(apart, shape),
                                 c.iota({DType::i64, false, shape}, std::ssize(shape) - 1)});
  return c.cast(same, DType::i64);
}

/// The number of sorted elements less than each value; with side `right`, less or equal.
Value places(OperatorCall& c, Value sorted, Value v) {
  if (c.has("sorter")) c.refuse("a sorter is not supported");
  bool right = c.flag("right", false) || c.text("side", "left") == "right";
  Shape line = c.type(sorted).shape, point = c.type(v).shape;
  if (line.empty()) c.refuse("wants sorted numbers along a dimension");
  // Each row of sorted numbers has its own values; a single row serves all values.
  if (line.size() > 1) line.insert(line.end() - 1, 1);
  point.push_back(1);
  Value behind =
      c.pointwise(right ? ops::gt : ops::ge, {c.reshape(sorted, line), c.reshape(v, point)});
  Value before = c.cast(c.build(ops::bit_not, {behind}), DType::i64);
  Value count = c.reduce(ops::sum, before, {std::ssize(c.type(before).shape) - 1}, false);
  return c.flag("out_int32", false) ? c.cast(count, DType::i32) : count;
}

Returned bucketize(OperatorCall& c) {
  Value sorted = c.value(c.row().arguments.starts_with("self") ? "boundaries" : "sorted_sequence");
  Operand v = c.operand("self");
  return places(c, sorted, v.value ? v.value : c.scalar(c.type(sorted).dtype, v.number));
}

constexpr Row index_table[] = {
    {"aten.index.Tensor", "self indices", index},
    {"aten._unsafe_index.Tensor", "self indices", index},
    {"aten.index_put.default", "self indices values accumulate", index_put},
    {"aten._unsafe_index_put.default", "self indices values accumulate", index_put},
    {"aten._index_put_impl.default", "self indices values accumulate unsafe", index_put},
    {"aten.index_select.default", "self dim index", index_select},
    {"aten.gather.default", "self dim index sparse_grad", gather},
    {"aten.scatter.src", "self dim index src", scatter},
    {"aten.scatter.value", "self dim index value", scatter},
    {"aten.scatter.reduce", "self dim index src reduce", scatter_reduce},
    {"aten.scatter.value_reduce", "self dim index value reduce", scatter_reduce},
    {"aten.scatter_add.default", "self dim index src", scatter_add},
    {"aten.scatter_reduce.two", "self dim index src reduce include_self", scatter_reduce},
    {"aten.index_add.default", "self dim index source alpha", index_rows_into, &ops::add},
    {"aten.index_copy.default", "self dim index source", index_rows_into},
    {"aten.index_fill.int_Scalar", "self dim index value", index_fill},
    {"aten.index_fill.int_Tensor", "self dim index value", index_fill},
    {"aten.take.default", "self index", take},
    {"aten.take_along_dim.default", "self indices dim", take_along_dim},
    {"aten.one_hot.default", "self num_classes", one_hot},
    {"aten.value_selecting_reduction_backward.default", "grad dim indices sizes keepdim",
     value_selecting_backward},
    {"aten.bucketize.Tensor", "self boundaries out_int32 right", bucketize},
    {"aten.bucketize.Scalar", "self boundaries out_int32 right", bucketize},
    {"aten.searchsorted.Tensor", "sorted_sequence self out_int32 right side sorter", bucketize},
    {"aten.searchsorted.Scalar", "sorted_sequence self out_int32 right side sorter", bucketize},
};

}  // namespace

std::span<const Row> index_rows() { return index_table; }

}  // namespace hocket::frontend

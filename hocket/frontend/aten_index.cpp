// Reading and writing by index.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/call.h"

namespace hocket::frontend {
namespace {

struct Indices {
  std::vector<Value> tensors;
  Ints dims;
};

Indices indices(Call& c, const Shape& shape) {
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

Returned index(Call& c) {
  Value x = c.value("self");
  Indices i = indices(c, c.type(x).shape);
  return c.build_lists(ops::index, {{x}, i.tensors}, {{"dims", i.dims}})[0];
}

Returned index_put(Call& c) {
  Value x = c.value("self");
  Indices i = indices(c, c.type(x).shape);
  // The values take the shape that reading there would have.
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

Returned index_select(Call& c) {
  Value x = c.value("self"), i = c.value("index");
  std::int64_t d = c.dim("dim", c.type(x).shape.size());
  if (c.type(x).shape.empty()) return x;
  i = c.reshape(c.cast(i, DType::i64), {c.type(i).elements()});
  return c.build_lists(ops::index, {{x}, {i}}, {{"dims", Ints{d}}})[0];
}

/// An index as our gather and scatter want it: of i64, and the tensor of rank 1 at least.
struct Along {
  Value x, index;
  std::int64_t dim;
  Shape shape;  // of x as the source sees it
};

Along along(Call& c) {
  Value x = c.value("self"), i = c.cast(c.value("index"), DType::i64);
  Shape shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size());
  if (shape.empty()) x = c.reshape(x, {1});
  if (c.type(i).shape.empty()) i = c.reshape(i, {1});
  return {x, i, d, shape};
}

Returned gather(Call& c) {
  Along a = along(c);
  Value y = c.build(ops::gather, {a.x, a.index}, {{"dim", a.dim}});
  return c.reshape(y, c.type("index").shape);
}

/// Only as much of the source as the index covers is used.
Value covering(Call& c, Value source, const Shape& shape) {
  if (c.type(source).shape.empty()) source = c.reshape(source, {1});
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (c.type(source).shape[d] != shape[d])
      source = c.slice(source, static_cast<std::int64_t>(d), 0, shape[d]);
  return source;
}

Returned scatter_with(Call& c, const std::string& reduce) {
  Along a = along(c);
  DType dtype = c.type(a.x).dtype;
  const Shape shape = c.type(a.index).shape;
  Value source = c.has("src") ? covering(c, c.value("src"), shape)
                              : c.filled({dtype, false, shape}, c.number("value"));
  Value y = c.build(ops::scatter, {a.x, a.index, c.cast(source, dtype)},
                    {{"dim", a.dim}, {"reduce", reduce}});
  return c.reshape(y, a.shape);
}

Returned scatter(Call& c) { return scatter_with(c, "replace"); }
Returned scatter_add(Call& c) { return scatter_with(c, "sum"); }
Returned scatter_reduce(Call& c) {
  std::string mode = c.text("reduce");
  if (!c.flag("include_self", true)) c.refuse("include_self = false");
  for (auto [theirs, ours] :
       {std::pair("sum", "sum"), std::pair("add", "sum"), std::pair("prod", "product"),
        std::pair("multiply", "product"), std::pair("amax", "max"), std::pair("amin", "min")})
    if (mode == theirs) return scatter_with(c, ours);
  c.refuse(fmt::format("reduce is '{}'", mode));
}

/// index_add and index_copy: rows along one dimension.
Returned index_rows_into(Call& c) {
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

Returned index_fill(Call& c) {
  Value x = c.value("self"), i = c.cast(c.value("index"), DType::i64);
  std::int64_t d = c.dim("dim", c.type(x).shape.size());
  i = c.reshape(i, {c.type(i).elements()});
  Shape shape = c.type(x).shape;
  shape[static_cast<std::size_t>(d)] = c.type(i).elements();
  Value fill = c.broadcast(c.plain(c.operand("value"), c.type(x).dtype), shape);
  return c.build_lists(ops::index_put, {{x}, {fill}, {i}}, {{"dims", Ints{d}}})[0];
}

Returned one_hot(Call& c) {
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

constexpr Row table[] = {
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
    {"aten.one_hot.default", "self num_classes", one_hot},
};

}  // namespace

std::span<const Row> index_rows() { return table; }

}  // namespace hocket::frontend

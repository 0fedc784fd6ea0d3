// Views by strides: windows, diagonals, as_strided.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/operators.h"
#include "hocket/frontend/aten/shape.h"

namespace hocket::frontend {
namespace {

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t all = 1;
  for (std::int64_t n : sizes) all *= n;
  return all;
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

/// True if two indices may refer to one element. They cannot if, sorted by size, each stride
/// exceeds the reach of all smaller ones.
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
SourceValue strided(OperatorCall& c, TensorId x, const Ints& flat_dims, const Shape& shape,
                    const Ints& strides, std::int64_t offset) {
  const Shape whole = c.type(x).shape;
  std::int64_t last = offset;
  bool empty = std::ranges::find(shape, 0) != shape.end();
  if (shape.size() != strides.size() || offset < 0) c.refuse("strides do not fit the sizes");
  const std::int64_t elements = c.type(x).elements();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] < 0 || shape[d] < 0) c.refuse("has a negative size or stride");
    if (empty || shape[d] < 2 || strides[d] == 0) continue;
    if (last > elements || shape[d] - 1 > elements / strides[d])
      c.refuse("reaches beyond the tensor");
    last += strides[d] * (shape[d] - 1);
  }
  if (!empty && last >= elements) c.refuse("reaches beyond the tensor");
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

/// Strides of the source refer to memory: that of the whole storage, in the order of its dimensions
/// in memory.
SourceValue strided_over_memory(OperatorCall& c, TensorId x) {
  Shape shape = to_shape(c.ints("size"));
  Ints strides = c.ints("stride");
  if (!count_elements(c.ints("size")) || shape.size() != strides.size())
    c.refuse("strides do not fit the sizes");
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

Returned as_strided(OperatorCall& c) { return strided_over_memory(c, c.tensor("self")); }

/// The copy has the strides of the tensor.
Returned as_strided_scatter(OperatorCall& c) {
  return replaced(c, c.value("self"), c.value("src"), [](OperatorCall& call, TensorId copy) {
    call.translation().storages.set_strides(copy, call.strides(call.tensor("self")));
    return strided_over_memory(call, copy);
  });
}

SourceValue diagonal_of(OperatorCall& c, TensorId x, std::int64_t offset, std::int64_t dim1,
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

/// Windows along a dimension, which become a new last dimension.
struct Windows {
  Shape shape;
  Ints strides;
};

Windows windows(OperatorCall& c, std::string_view dim, const Shape& shape) {
  auto d = static_cast<std::size_t>(c.dim(dim, shape.size()));
  std::int64_t size = c.integer("size"), step = c.integer("step");
  if (shape.empty() || size < 0 || step < 1 || size > shape[d]) c.refuse("windows do not fit");
  Windows w{shape, contiguous_strides(shape)};
  w.shape[d] = (shape[d] - size) / step + 1;
  w.shape.push_back(size);
  w.strides.push_back(w.strides[d]);
  w.strides[d] *= std::min(step, std::max<std::int64_t>(1, shape[d]));
  return w;
}

Returned unfold(OperatorCall& c) {
  TensorId x = c.tensor("self");
  Windows w = windows(c, "dimension", c.type(x).shape);
  return strided(c, x, in_order(c.type(x).shape.size()), w.shape, w.strides, 0);
}

SourceValue choose_diagonal(OperatorCall& c, TensorId x) {
  const Shape& shape = c.type(x).shape;
  return diagonal_of(c, x, c.integer("offset", 0), c.dim("dim1", shape.size(), 0),
                     c.dim("dim2", shape.size(), 1));
}
Returned diagonal(OperatorCall& c) { return choose_diagonal(c, c.tensor("self")); }
Returned diagonal_backward(OperatorCall& c) { return into_zeros(c, choose_diagonal); }
Returned diagonal_scatter(OperatorCall& c) {
  return replaced(c, c.value("self"), c.value("src"), choose_diagonal);
}

/// The last dimension becomes the diagonal of two new ones, which come last by default.
Returned diag_embed(OperatorCall& c) {
  Value x = c.value("self");
  Shape shape = c.type(x).shape;
  if (shape.empty()) c.refuse("wants at least one dimension");
  std::int64_t size = shape[shape.size() - 1] + std::abs(c.integer("offset", 0));
  std::int64_t a = c.dim("dim1", shape.size() + 1, -2), b = c.dim("dim2", shape.size() + 1, -1);
  shape.pop_back();
  shape.insert(shape.begin() + std::min(a, b), size);
  shape.insert(shape.begin() + std::max(a, b), size);
  Value zeros = c.filled({c.type(x).dtype, false, shape}, std::int64_t{0});
  return replaced(c, zeros, x, [](OperatorCall& call, TensorId whole) {
    std::size_t rank = call.type(whole).shape.size();
    return diagonal_of(call, whole, call.integer("offset", 0), call.dim("dim1", rank, -2),
                       call.dim("dim2", rank, -1));
  });
}

/// Sums the elements of all windows that overlap at a position.
Returned unfold_backward(OperatorCall& c) {
  Value g = c.value("grad_in");
  Ints sizes = c.ints("input_sizes");
  if (!count_elements(sizes) || sizes.empty()) c.refuse("sizes do not fit");
  const Type whole{c.type(g).dtype, false, to_shape(sizes)};
  Windows w = windows(c, "dim", whole.shape);
  if (w.shape != c.type(g).shape) c.refuse("windows do not fit the gradient");
  Value zeros = c.filled({whole.dtype, false, {whole.elements()}}, 0.0);
  Value sum =
      c.build_lists(ops::index_put, {{zeros}, {g}, {offsets(c.at(), w.shape, w.strides, 0)}},
                    {{"dims", Ints{0}}, {"accumulate", true}})[0];
  return c.reshape(sum, whole.shape);
}

constexpr Row strided_table[] = {
    {"aten.as_strided.default", "self size stride storage_offset", as_strided},
    {"aten.diagonal.default", "self offset dim1 dim2", diagonal},
    {"aten.unfold.default", "self dimension size step", unfold},
    {"aten.as_strided_scatter.default", "self src size stride storage_offset", as_strided_scatter},
    {"aten.diagonal_scatter.default", "self src offset dim1 dim2", diagonal_scatter},
    {"aten.diagonal_backward.default", "grad_output input_sizes offset dim1 dim2",
     diagonal_backward},
    {"aten.diag_embed.default", "self offset dim1 dim2", diag_embed},
    {"aten.unfold_backward.default", "grad_in input_sizes dim size step", unfold_backward},
};

}  // namespace

std::span<const Row> strided_rows() { return strided_table; }

}  // namespace hocket::frontend

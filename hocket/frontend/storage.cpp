#include "hocket/frontend/storage.h"

#include <algorithm>
#include <utility>

#include "hocket/base/error.h"
#include "hocket/ops/ops.h"

namespace hocket::frontend {

TensorId Storages::add(Tensor t) {
  t.strides = contiguous_strides(t.type.shape);
  tensors_.push_back(std::move(t));
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId Storages::fresh(Value v) {
  auto s = static_cast<std::uint32_t>(storages_.size());
  storages_.push_back({.value = v, .whole = static_cast<TensorId>(tensors_.size())});
  return add({.storage = s, .type = graph_.type(v).ready(), .value = v});
}

TensorId Storages::undefined(const Type& type) {
  auto s = static_cast<std::uint32_t>(storages_.size());
  storages_.push_back(
      {.value = {}, .unwritten = type.elements(), .whole = static_cast<TensorId>(tensors_.size())});
  return add({.storage = s, .type = type, .value = {}});
}

TensorId Storages::view(At at, TensorId of, View step) {
  // The value is read at once where it can be, so that the graph keeps the order of the source; its
  // type is inferred in either case.
  Tensor t{.storage = tensors_[of].storage, .of = of, .step = std::move(step)};
  if (storage(of).value && storage(of).unwritten == 0 && !in_flight(of)) {
    t.value = apply(at, t.step, read(at, of));
    t.version = storage(of).version;
    t.type = graph_.type(t.value);
  } else {
    // The type of the view is inferred in a temporary graph.
    Graph scratch;
    Value in = scratch.add_input(tensors_[of].type, "x");
    Value v = t.step.op != nullptr
                  ? scratch.result(scratch.add(scratch, {.op = t.step.op,
                                                         .inputs = std::span(&in, 1),
                                                         .attributes = t.step.attributes}))
                  : t.step.read(scratch, in);
    t.type = scratch.type(v);
    t.version = storage(of).version - 1;
  }
  return add(std::move(t));
}

Value Storages::apply(At at, const View& step, Value v) {
  if (step.op == nullptr) return step.read(at, v);
  return at.graph->result(at.graph->add(
      at, {.op = step.op, .inputs = std::span(&v, 1), .attributes = step.attributes}));
}

Value Storages::zeros(At at, const Type& type) {
  Attribute zero = is_float(type.dtype)     ? Attribute(0.0)
                   : is_integer(type.dtype) ? Attribute(std::int64_t{0})
                                            : Attribute(false);
  return graph_.result(graph_.add(at, {.op = &ops::full,
                                       .attributes = Attributes(ops::full, {{"value", zero}}),
                                       .types = std::span(&type, 1)}));
}

Value Storages::read(At at, TensorId t) {
  const Storage& s = storage(t);
  if (!s.value && tensors_[t].type.elements() == 0) return zeros(at, tensors_[t].type);
  // A tensor that was just written completely can be read, even if other parts of its storage are
  // undefined.
  bool known = s.unwritten == 0 || (tensors_[t].value && tensors_[t].version == s.version);
  if (!s.value || !known) fail("reads memory that nobody has written yet");
  if (s.unwritten > 0) return tensors_[t].value;
  if (in_flight(t)) fail("reads a value in flight that was not waited for");
  // Walks up to the nearest tensor that is not stale, and down again. Iterative, because chains of
  // views may be long.
  std::vector<TensorId> stale;
  TensorId at_tensor = t;
  while (tensors_[at_tensor].of && tensors_[at_tensor].version != s.version) {
    stale.push_back(at_tensor);
    at_tensor = *tensors_[at_tensor].of;
  }
  Value v = tensors_[at_tensor].of ? tensors_[at_tensor].value : s.value;
  for (auto it = stale.rbegin(); it != stale.rend(); ++it) {
    Tensor& tensor = tensors_[*it];
    v = tensor.value = apply(at, tensor.step, v);
    tensor.version = s.version;
  }
  return v;
}

void Storages::write(At at, TensorId t, Value v) {
  Storage& s = storages_[tensors_[t].storage];
  if (graph_.type(v).ready() != tensors_[t].type)
    fail("writes {} into {}", to_text(graph_.type(v)), to_text(tensors_[t].type));
  if (in_flight(t)) fail("writes into a tensor in flight that was not waited for");
  if (is_pending(v) && tensors_[t].of) {
    s.arriving = {t, v};
    return;
  }
  // A part of unwritten memory is put into zeros, which cannot be read before all parts are
  // written. Parts are assumed to be disjoint.
  std::int64_t elements = tensors_[t].type.elements();
  if (!s.value && tensors_[t].of) s.value = zeros(at, tensors_[s.whole].type);
  std::int64_t left = tensors_[t].of ? std::max<std::int64_t>(0, s.unwritten - elements) : 0;
  s.unwritten = 0;
  // From the part to the whole; each tensor on the way gets its new value.
  std::vector<std::pair<TensorId, Value>> values{{t, v}};
  while (tensors_[t].of) {
    TensorId of = *tensors_[t].of;
    v = put_back(at, tensors_[t].step, read(at, of), v);
    values.emplace_back(t = of, v);
  }
  s.value = v;
  s.unwritten = left;
  ++s.version;
  for (auto [tensor, value] : values) {
    if (left > 0 && tensor != values[0].first) continue;
    tensors_[tensor].value = value;
    tensors_[tensor].version = s.version;
  }
}

void Storages::wait(At at, TensorId t) {
  Storage& s = storages_[tensors_[t].storage];
  if (!in_flight(t)) return;
  if (auto part = std::exchange(s.arriving, std::nullopt)) {
    write(at, part->first, ops::wait(at, part->second));
    return;
  }
  s.value = ops::wait(at, s.value);
  ++s.version;
}

namespace {

/// `whole` with the slice replaced by `part`; slices of the source restrict one dimension.
Value put_slice(At at, Value whole, Value part, const Attributes& attributes) {
  Graph& g = *at.graph;
  const Shape shape = g.type(whole).shape;
  const auto& starts = attribute<Ints>(ops::slice, attributes, "starts");
  const auto& stops = attribute<Ints>(ops::slice, attributes, "stops");
  const auto& steps = attribute<Ints>(ops::slice, attributes, "steps");
  std::size_t d = 0;
  while (d < shape.size() && g.type(part).shape[d] == shape[d]) ++d;
  if (d == shape.size()) return part;
  auto dim = static_cast<std::int64_t>(d);
  if (steps.empty() || steps[d] == 1) {
    auto piece = [&](std::int64_t from, std::int64_t to) {
      Ints first(shape.size(), 0), last(shape.begin(), shape.end());
      first[d] = from;
      last[d] = to;
      return ops::slice(at, {whole}, {{"starts", first}, {"stops", last}});
    };
    std::vector<Value> pieces;
    if (starts[d] > 0) pieces.push_back(piece(0, starts[d]));
    pieces.push_back(part);
    if (stops[d] < shape[d]) pieces.push_back(piece(stops[d], shape[d]));
    return ops::concat(at, pieces, {{"dim", dim}});
  }
  auto make = [&](const Op& op, Named attribute, const Type& type) {
    return g.result(g.add(at, {.op = &op,
                               .attributes = Attributes(op, {std::move(attribute)}),
                               .types = std::span(&type, 1)}));
  };
  Type one{DType::i64, false, {}}, line{DType::i64, false, {g.type(part).shape[d]}};
  Value index = ops::mul(at, make(ops::iota, {"dim", std::int64_t{0}}, line),
                         make(ops::full, {"value", steps[d]}, one));
  index = ops::add(at, index, make(ops::full, {"value", starts[d]}, one));
  Value inputs[] = {whole, part, index};
  return g.result(g.add(
      at, {.op = &ops::index_put,
           .inputs = inputs,
           .attributes =
               Attributes(ops::index_put, {{"dims", Ints{dim}}}).with_list_sizes({1, 1, 1})}));
}

}  // namespace

Value Storages::put_back(At at, const View& step, Value whole, Value part) {
  const Type& type = graph_.type(whole);
  if (step.op == &ops::reshape)
    return ops::reshape(at, {part}, {{"shape", Ints(type.shape.begin(), type.shape.end())}});
  if (step.op == &ops::permute) {
    const auto& dims = attribute<Ints>(ops::permute, step.attributes, "dims");
    Ints back(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i)
      back[static_cast<std::size_t>(dims[i])] = static_cast<std::int64_t>(i);
    return ops::permute(at, {part}, {{"dims", back}});
  }
  if (step.op == &ops::stop_gradient) return part;
  if (step.op == &ops::slice) return put_slice(at, whole, part, step.attributes);
  if (step.op == &ops::broadcast && graph_.type(part).elements() == type.elements())
    return ops::reshape(at, {part}, {{"shape", Ints(type.shape.begin(), type.shape.end())}});
  if (step.op == &ops::broadcast) fail("writes through expand, where elements share their memory");
  if (step.put) return step.put(at, whole, part);
  fail("writes through a view that can only be read");
}

Ints contiguous_strides(const Shape& shape) {
  Ints strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(1, shape[i]);
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Ints& strides) {
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != stride) return false;
    stride *= shape[i];
  }
  return true;
}

bool can_view(const Shape& shape, const Ints& strides, const Shape& wanted) {
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>>
      dims;  // size and stride of those larger than 1
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) dims.emplace_back(shape[i], strides[i]);
  // Adjacent dimensions that are contiguous in memory form a block; every block must be a product
  // of wanted dimensions.
  std::size_t w = wanted.size();
  for (std::size_t i = dims.size(); i > 0;) {
    std::int64_t block = dims[--i].first;
    while (i > 0 && dims[i - 1].second == dims[i].second * dims[i].first) block *= dims[--i].first;
    std::int64_t filled = 1;
    while (w > 0 && filled < block) filled *= wanted[--w];
    if (filled != block) return false;
  }
  return true;
}

}  // namespace hocket::frontend

// The functions of OperatorCall that build values.

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "hocket/base/text.h"
#include "hocket/frontend/aten/operator_call.h"
#include "hocket/ops/constant.h"

namespace hocket::frontend {

void OperatorCall::require_value(Value v) const {
  if (!v) refuse("has an argument that is no tensor");
}

Value OperatorCall::build(const Op& op, std::initializer_list<Value> inputs,
                          std::initializer_list<Named> attributes) {
  for (Value v : inputs) require_value(v);
  return op(at(), inputs, attributes);
}

std::vector<Value> OperatorCall::build_all(const Op& op, std::span<const Value> inputs,
                                           std::initializer_list<Named> attributes) {
  for (Value v : inputs) require_value(v);
  NodeId n =
      graph().add(at(), {.op = &op, .inputs = inputs, .attributes = Attributes(op, attributes)});
  return graph().results(n);
}

std::vector<Value> OperatorCall::build_lists(const Op& op,
                                             std::initializer_list<std::vector<Value>> slots,
                                             std::initializer_list<Named> attributes) {
  std::vector<Value> inputs;
  std::vector<std::uint32_t> sizes;
  for (const std::vector<Value>& slot : slots) {
    inputs.insert(inputs.end(), slot.begin(), slot.end());
    sizes.push_back(static_cast<std::uint32_t>(slot.size()));
  }
  Attributes all(op, attributes);
  if (op.writes_lists()) all = all.with_list_sizes(std::move(sizes));
  return graph().results(graph().add(at(), {.op = &op, .inputs = inputs, .attributes = all}));
}

namespace {

/// The number as an attribute of a value of this dtype; integers wrap, as a cast would.
Attribute attribute_of(DType dtype, const Number& n) {
  if (is_float(dtype)) return as_double(n);
  std::int64_t i = 0;
  if (const double* d = std::get_if<double>(&n))
    i = *d >= -0x1p63 && *d < 0x1p63 ? static_cast<std::int64_t>(*d) : 0;
  else
    i = std::holds_alternative<bool>(n) ? std::int64_t{std::get<bool>(n)}
                                        : std::get<std::int64_t>(n);
  if (dtype == DType::boolean) {
    const double* d = std::get_if<double>(&n);
    return d != nullptr ? *d != 0 : i != 0;
  }
  switch (dtype) {
    case DType::i32:
      return std::int64_t{static_cast<std::int32_t>(i)};
    case DType::i16:
      return std::int64_t{static_cast<std::int16_t>(i)};
    case DType::i8:
      return std::int64_t{static_cast<std::int8_t>(i)};
    case DType::u8:
      return std::int64_t{static_cast<std::uint8_t>(i)};
    default:
      return i;
  }
}

}  // namespace

Value OperatorCall::filled(const Type& type, const Number& n) {
  return graph().result(graph().add(
      at(), {.op = &ops::full,
             .attributes = Attributes(ops::full, {{"value", attribute_of(type.dtype, n)}}),
             .types = std::span(&type, 1)}));
}

Value OperatorCall::scalar(DType dtype, const Number& n) {
  Attribute a = attribute_of(dtype, n);
  std::string key(name(dtype));
  if (const double* d = std::get_if<double>(&a))
    key += std::to_string(std::bit_cast<std::uint64_t>(*d));
  else
    append(key, a);
  auto [it, fresh] = translation_.numbers.try_emplace(key);
  if (fresh) it->second = filled({dtype, false, {}}, n);
  return it->second;
}

Value OperatorCall::constant(const hocket::Tensor& tensor) {
  if (std::optional<Value> v = ops::add_constant(at(), tensor)) return *v;
  std::string ref = node_.name;
  while (translation_.source.constants.contains(ref) || translation_.constants.contains(ref))
    ref += "_";
  translation_.constants.emplace(ref, tensor);
  return graph().result(graph().add(at(), {.op = &ops::constant,
                                           .attributes = Attributes(ops::constant, {{"ref", ref}}),
                                           .types = std::span(&tensor.type(), 1)}));
}

Value OperatorCall::iota(const Type& type, std::int64_t dim) {
  return graph().result(graph().add(at(), {.op = &ops::iota,
                                           .attributes = Attributes(ops::iota, {{"dim", dim}}),
                                           .types = std::span(&type, 1)}));
}

Value OperatorCall::cast(Value v, DType dtype) {
  require_value(v);
  return type(v).dtype == dtype ? v : build(ops::cast, {v}, {{"dtype", dtype}});
}

Value OperatorCall::reshape(Value v, const Shape& shape) {
  if (type(v).shape == shape) return v;
  return build(ops::reshape, {v}, {{"shape", Ints(shape.begin(), shape.end())}});
}

Value OperatorCall::permute(Value v, const Ints& dims) {
  return std::ranges::is_sorted(dims) ? v : build(ops::permute, {v}, {{"dims", dims}});
}

Value OperatorCall::broadcast(Value v, const Shape& shape) {
  if (type(v).shape == shape) return v;
  return build(ops::broadcast, {v}, {{"shape", Ints(shape.begin(), shape.end())}});
}

Value OperatorCall::slice(Value v, std::int64_t dim, std::int64_t start, std::int64_t stop,
                          std::int64_t step) {
  require_value(v);
  const Shape& shape = type(v).shape;
  if (dim < 0 || dim >= std::ssize(shape))
    refuse(fmt::format("takes a part of dimension {} of {}", dim, to_text(type(v))));
  Ints starts(shape.size(), 0), stops(shape.begin(), shape.end()), steps;
  auto d = static_cast<std::size_t>(dim);
  starts[d] = start;
  stops[d] = stop;
  if (step != 1) {
    steps.assign(shape.size(), 1);
    steps[d] = step;
  }
  return build(ops::slice, {v}, {{"starts", starts}, {"stops", stops}, {"steps", steps}});
}

Value OperatorCall::reduce(const Op& op, Value v, const Ints& dims, bool keep) {
  if (type(v).shape.empty()) return v;
  return build(op, {v}, {{"dims", dims}, {"keep", keep}});
}

// ---- promotion

DType promote(DType a, DType b) {
  if (a == b) return a;
  auto rank = [](DType d) { return static_cast<int>(row(d).kind); };  // floats first, bool last
  if (rank(a) != rank(b)) return rank(a) < rank(b) ? a : b;
  if (is_float(a)) {
    if (bytes(a) != bytes(b)) return bytes(a) > bytes(b) ? a : b;
    return DType::f32;  // bf16 with f16
  }
  // u8 with a signed type needs a signed type wider than u8.
  if (a == DType::u8 || b == DType::u8) {
    DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return bytes(a) > bytes(b) ? a : b;
}

DType OperatorCall::promoted(std::span<const Operand> operands) const {
  // Tensors with dimensions determine the dtype; rank 0 and numbers can only raise its kind.
  std::optional<DType> tensors, points, numbers;
  auto join = [](std::optional<DType>& all, DType d) { all = all ? promote(*all, d) : d; };
  for (const Operand& o : operands) {
    if (o.value)
      join(type(o.value).shape.empty() ? points : tensors, type(o.value).dtype);
    else
      join(numbers, std::holds_alternative<bool>(o.number)           ? DType::boolean
                    : std::holds_alternative<std::int64_t>(o.number) ? DType::i64
                                                                     : DType::f32);
  }
  auto combine = [](std::optional<DType> high, std::optional<DType> low) {
    if (!high || !low) return high ? high : low;
    bool raises = hocket::row(*low).kind < hocket::row(*high).kind;
    return raises ? low : high;
  };
  return *combine(tensors, combine(points, numbers));
}

Shape OperatorCall::joined(const Shape& a, const Shape& b) const {
  Shape all = a.size() >= b.size() ? a : b;
  const Shape& less = a.size() >= b.size() ? b : a;
  for (std::size_t i = 0; i < less.size(); ++i) {
    std::int64_t& size = all[all.size() - less.size() + i];
    if (size != less[i] && size != 1 && less[i] != 1)
      refuse(fmt::format("shapes {} and {} do not fit together", dims_text({a.data(), a.size()}),
                         dims_text({b.data(), b.size()})));
    if (size == 1) size = less[i];
  }
  return all;
}

Shape OperatorCall::common_shape(std::span<const Value> values) const {
  Shape shape;
  for (Value v : values) shape = joined(shape, type(v).shape);
  return shape;
}

Value OperatorCall::pointwise(const Op& op, std::span<const Operand> operands, bool to_float) {
  DType dtype = promoted(operands), compute = dtype;
  if (to_float && !is_float(dtype)) dtype = compute = DType::f32;
  // In 16-bit products and quotients a second operand that is a number or has another dtype is not
  // rounded first, only the result is; everywhere else operands are rounded first.
  auto keeps_digits = [&](std::size_t i) {
    return (&op == &ops::mul || &op == &ops::div) && i == 1 && is_float(dtype) &&
           bytes(dtype) == 2 && (!operands[i].value || type(operands[i].value).dtype != dtype);
  };
  if (operands.size() == 2 && keeps_digits(1)) compute = hocket::row(dtype).compute;

  std::vector<Value> values;
  for (const Operand& o : operands)
    if (o.value) values.push_back(o.value);
  Shape shape = common_shape(values);
  SmallVector<Value, 4> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Value v =
        keeps_digits(i) ? plain(operands[i], compute) : cast(plain(operands[i], dtype), compute);
    inputs.push_back(spread(v, shape));
  }
  Value v = op(at(), std::span<const Value>(inputs.data(), inputs.size()), {});
  bool compares = type(v).dtype == DType::boolean;
  v = compares ? v : cast(v, dtype);
  return broadcast(v, shape);
}

}  // namespace hocket::frontend

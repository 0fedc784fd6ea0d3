#include "hocket/frontend/call.h"

#include <algorithm>
#include <bit>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/constant.h"

namespace hocket::frontend {

double as_double(const Number& n) {
  return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

namespace {

/// Arguments that say where a tensor lives or how its memory is made: they have no meaning here.
bool is_placement(std::string_view name) {
  return name == "device" || name == "layout" || name == "memory_format" || name == "pin_memory" ||
         name == "non_blocking" || name == "generator" || name == "requires_grad" ||
         name == "implicit";
}

}  // namespace

namespace {

std::string find_sole_group(const Source& source) {
  std::string sole;
  for (const SourceNode& n : source.nodes) {
    if (!n.target.starts_with("_c10d_functional.") || n.target.ends_with("wait_tensor.default"))
      continue;
    const Argument* last = n.args.empty() ? nullptr : &n.args.back();
    for (const auto& [key, value] : n.kwargs)
      if (key == "group_name") last = &value;
    const std::string* group = last == nullptr ? nullptr : last->as<std::string>();
    if (group == nullptr || (!sole.empty() && sole != *group)) return {};
    sole = *group;
  }
  return sole;
}

}  // namespace

Translation::Translation(const Source& s, Graph& g,
                         std::map<std::string, hocket::Tensor, std::less<>>& c)
    : source(s), graph(g), constants(c), storages(g), sole_group(find_sole_group(s)) {}

Call::Call(Translation& translation, const SourceNode& node, const Row& row)
    : translation_(translation), node_(node), row_(row) {
  std::vector<std::string_view> names;
  for (std::string_view rest = row.arguments; !rest.empty();) {
    std::size_t end = rest.find(' ');
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    if (i >= names.size())
      refuse(fmt::format("has {} arguments, wanted at most {}", node.args.size(), names.size()));
    arguments_.emplace_back(names[i], &node.args[i]);
  }
  // `aten.maximum.out` is `aten.maximum.default` with one argument more.
  if (node.target.ends_with("out")) names.emplace_back("out");
  for (const auto& [name, argument] : node.kwargs) {
    bool known = std::ranges::find(names, name) != names.end();
    if (!known && (is_placement(name) || argument.none() || argument.as<Ignored>() != nullptr))
      continue;
    if (!known) refuse(fmt::format("argument '{}' is not supported", name));
    std::string_view key = name;
    if (std::ranges::any_of(arguments_, [&](const auto& a) { return a.first == key; }))
      refuse(fmt::format("argument '{}' is given twice", name));
    arguments_.emplace_back(name, &argument);
  }
}

void Call::refuse(const std::string& why) const { throw Error(why); }

const Argument* Call::find(std::string_view name) const {
  for (const auto& [n, argument] : arguments_)
    if (n == name) return argument->none() ? nullptr : argument;
  return nullptr;
}

const Argument& Call::required(std::string_view name) const {
  const Argument* a = find(name);
  if (a == nullptr) refuse(fmt::format("argument '{}' is missing", name));
  return *a;
}

void Call::wrong(std::string_view name, std::string_view wanted) const {
  refuse(fmt::format("argument '{}' is no {}", name, wanted));
}

SourceValue Call::resolve(const Argument& a, std::string_view name) const {
  if (const Ref* ref = a.as<Ref>()) {
    const SourceValue& v = translation_.values[ref->node];
    if (ref->result < 0) return v;
    auto i = static_cast<std::size_t>(ref->result);
    if (i >= v.list.size()) wrong(name, "result that exists");
    return v.list[i];
  }
  if (const List* list = a.as<List>()) {
    SourceValue all;
    for (const Argument& item : *list) all.list.push_back(resolve(item, name));
    return all;
  }
  if (a.none()) return {};
  wrong(name, "tensor");
}

TensorId Call::tensor(std::string_view name) { return tensor_of(required(name), name); }

TensorId Call::tensor_of(const Argument& a, std::string_view name) {
  SourceValue v = resolve(a, name);
  if (!v.tensor) wrong(name, "tensor");
  return *v.tensor;
}

bool Call::is_tensor_list(const Argument& a) const {
  if (const List* list = a.as<List>()) return list->empty() || list->front().as<Ref>() != nullptr;
  const Ref* ref = a.as<Ref>();
  if (ref == nullptr) return false;
  const SourceValue& v = translation_.values[ref->node];
  return ref->result < 0 && !v.tensor;
}

std::vector<TensorId> Call::tensors(std::string_view name) {
  std::vector<TensorId> list;
  const Argument* a = find(name);
  if (a == nullptr) return list;
  for (const SourceValue& v : resolve(*a, name).list) {
    if (!v.tensor) wrong(name, "list of tensors");
    list.push_back(*v.tensor);
  }
  return list;
}

std::vector<Value> Call::values(std::string_view name) {
  std::vector<Value> list;
  for (TensorId t : tensors(name)) list.push_back(read(t));
  return list;
}

Operand Call::operand(std::string_view name) {
  if (required(name).as<Ref>() != nullptr) return value(name);
  return number(name);
}

Number Call::number(std::string_view name, std::optional<Number> missing) const {
  const Argument* a = find(name);
  if (a == nullptr && missing) return *missing;
  if (a == nullptr) required(name);
  if (const bool* v = a->as<bool>()) return *v;
  if (const std::int64_t* v = a->as<std::int64_t>()) return *v;
  if (const double* v = a->as<double>()) return *v;
  wrong(name, "number");
}

double Call::real(std::string_view name, std::optional<double> missing) const {
  if (find(name) == nullptr && missing) return *missing;
  return as_double(number(name));
}

std::int64_t Call::integer(std::string_view name, std::optional<std::int64_t> missing) const {
  if (find(name) == nullptr && missing) return *missing;
  Number n = number(name);
  if (const bool* v = std::get_if<bool>(&n)) return *v ? 1 : 0;
  const std::int64_t* v = std::get_if<std::int64_t>(&n);
  if (v == nullptr) wrong(name, "integer");
  return sane(name, *v);
}

std::int64_t Call::position(std::string_view name, std::int64_t missing) const {
  if (find(name) == nullptr) return missing;
  Number n = number(name);
  const std::int64_t* v = std::get_if<std::int64_t>(&n);
  if (v == nullptr) wrong(name, "integer");
  return std::clamp(*v, -largest_size, largest_size);
}

std::int64_t Call::sane(std::string_view name, std::int64_t v) const {
  if (v < -largest_size || v > largest_size) refuse(fmt::format("{} has {}, too large", name, v));
  return v;
}

bool Call::flag(std::string_view name, std::optional<bool> missing) const {
  if (find(name) == nullptr && missing) return *missing;
  if (const bool* v = required(name).as<bool>()) return *v;
  wrong(name, "bool");
}

std::string Call::text(std::string_view name, std::optional<std::string> missing) const {
  if (find(name) == nullptr && missing) return *missing;
  if (const std::string* v = required(name).as<std::string>()) return *v;
  wrong(name, "string");
}

DType Call::dtype(std::string_view name, DType missing) const {
  const Argument* a = find(name);
  if (a == nullptr) return missing;
  if (const DType* v = a->as<DType>()) return *v;
  wrong(name, "dtype");
}

Ints Call::ints(std::string_view name) const {
  const Argument* a = find(name);
  if (a == nullptr) return {};
  if (const std::int64_t* v = a->as<std::int64_t>()) return {sane(name, *v)};
  const List* list = a->as<List>();
  if (list == nullptr) wrong(name, "list of ints");
  Ints all;
  for (const Argument& item : *list) {
    const std::int64_t* v = item.as<std::int64_t>();
    if (v == nullptr) wrong(name, "list of ints");
    all.push_back(sane(name, *v));
  }
  return all;
}

std::vector<Number> Call::numbers(std::string_view name) const {
  const List* list = required(name).as<List>();
  if (list == nullptr) wrong(name, "list of numbers");
  std::vector<Number> all;
  for (const Argument& item : *list) {
    if (const bool* b = item.as<bool>())
      all.emplace_back(*b);
    else if (const std::int64_t* i = item.as<std::int64_t>())
      all.emplace_back(*i);
    else if (const double* d = item.as<double>())
      all.emplace_back(*d);
    else
      wrong(name, "list of numbers");
  }
  return all;
}

std::vector<bool> Call::flags(std::string_view name) const {
  const List* list = required(name).as<List>();
  if (list == nullptr) wrong(name, "list of bools");
  std::vector<bool> all;
  for (const Argument& item : *list) {
    if (item.as<bool>() == nullptr) wrong(name, "list of bools");
    all.push_back(*item.as<bool>());
  }
  return all;
}

std::int64_t Call::dim(std::string_view name, std::size_t rank,
                       std::optional<std::int64_t> missing) const {
  if (rank == 0) refuse(fmt::format("{} of a tensor without dimensions", name));
  return dim_or_first(name, rank, missing);
}

std::int64_t Call::dim_or_first(std::string_view name, std::size_t rank,
                                std::optional<std::int64_t> missing) const {
  std::int64_t d = integer(name, missing);
  auto n = static_cast<std::int64_t>(std::max<std::size_t>(1, rank));
  if (d < -n || d >= n)
    refuse(fmt::format("{} is {}, the tensor has {} dimensions", name, d, rank));
  return d < 0 ? d + n : d;
}

Ints Call::dims(std::string_view name, std::size_t rank) const {
  Ints list = ints(name);
  if (list.empty())
    for (std::size_t i = 0; i < rank; ++i) list.push_back(static_cast<std::int64_t>(i));
  auto n = static_cast<std::int64_t>(std::max<std::size_t>(1, rank));
  for (std::int64_t& d : list) {
    if (d < -n || d >= n)
      refuse(fmt::format("{} has {}, the tensor has {} dimensions", name, d, rank));
    if (d < 0) d += n;
  }
  std::ranges::sort(list);
  if (std::ranges::adjacent_find(list) != list.end())
    refuse(fmt::format("{} names a dimension twice", name));
  if (rank == 0) list.clear();
  return list;
}

SourceValue Call::view(TensorId of, const Op& op, std::initializer_list<Named> attributes) {
  return {
      translation_.storages.view(at(), of, {.op = &op, .attributes = Attributes(op, attributes)}),
      {}};
}

SourceValue Call::reshape_view(TensorId of, const Shape& shape) {
  if (type(of).shape == shape) return alias(of);
  return view(of, ops::reshape, {{"shape", Ints(shape.begin(), shape.end())}});
}

// ---- values

void Call::require_value(Value v) const {
  if (!v) refuse("has an argument that is no tensor");
}

Value Call::build(const Op& op, std::initializer_list<Value> inputs,
                  std::initializer_list<Named> attributes) {
  for (Value v : inputs) require_value(v);
  return op(at(), inputs, attributes);
}

std::vector<Value> Call::build_all(const Op& op, std::span<const Value> inputs,
                                   std::initializer_list<Named> attributes) {
  for (Value v : inputs) require_value(v);
  NodeId n =
      graph().add(at(), {.op = &op, .inputs = inputs, .attributes = Attributes(op, attributes)});
  return graph().results(n);
}

std::vector<Value> Call::build_lists(const Op& op, std::initializer_list<std::vector<Value>> slots,
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

Value Call::filled(const Type& type, const Number& n) {
  return graph().result(graph().add(
      at(), {.op = &ops::full,
             .attributes = Attributes(ops::full, {{"value", attribute_of(type.dtype, n)}}),
             .types = std::span(&type, 1)}));
}

Value Call::scalar(DType dtype, const Number& n) {
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

Value Call::constant(const hocket::Tensor& tensor) {
  if (std::optional<Value> v = ops::add_constant(at(), tensor)) return *v;
  std::string ref = node_.name;
  while (translation_.source.constants.contains(ref) || translation_.constants.contains(ref))
    ref += "_";
  translation_.constants.emplace(ref, tensor);
  return graph().result(graph().add(at(), {.op = &ops::constant,
                                           .attributes = Attributes(ops::constant, {{"ref", ref}}),
                                           .types = std::span(&tensor.type(), 1)}));
}

Value Call::iota(const Type& type, std::int64_t dim) {
  return graph().result(graph().add(at(), {.op = &ops::iota,
                                           .attributes = Attributes(ops::iota, {{"dim", dim}}),
                                           .types = std::span(&type, 1)}));
}

Value Call::cast(Value v, DType dtype) {
  require_value(v);
  return type(v).dtype == dtype ? v : build(ops::cast, {v}, {{"dtype", dtype}});
}

Value Call::reshape(Value v, const Shape& shape) {
  if (type(v).shape == shape) return v;
  return build(ops::reshape, {v}, {{"shape", Ints(shape.begin(), shape.end())}});
}

Value Call::permute(Value v, const Ints& dims) {
  return std::ranges::is_sorted(dims) ? v : build(ops::permute, {v}, {{"dims", dims}});
}

Value Call::broadcast(Value v, const Shape& shape) {
  if (type(v).shape == shape) return v;
  return build(ops::broadcast, {v}, {{"shape", Ints(shape.begin(), shape.end())}});
}

Value Call::slice(Value v, std::int64_t dim, std::int64_t start, std::int64_t stop,
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

Value Call::reduce(const Op& op, Value v, const Ints& dims, bool keep) {
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
  // A byte without sign needs the next wider type with one.
  if (a == DType::u8 || b == DType::u8) {
    DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return bytes(a) > bytes(b) ? a : b;
}

DType Call::promoted(std::span<const Operand> operands) const {
  // Tensors with dimensions decide; those of rank 0 and numbers only raise the kind.
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

Shape Call::joined(const Shape& a, const Shape& b) const {
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

Shape Call::common_shape(std::span<const Value> values) const {
  Shape shape;
  for (Value v : values) shape = joined(shape, type(v).shape);
  return shape;
}

Value Call::pointwise(const Op& op, std::span<const Operand> operands, bool to_float) {
  DType dtype = promoted(operands), compute = dtype;
  if (to_float && !is_float(dtype)) dtype = compute = DType::f32;
  // In 16-bit products and quotients a second operand that is a number or of rank 0 keeps its
  // digits, and only the result is rounded; anywhere else operands are rounded first.
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

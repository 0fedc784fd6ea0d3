#include "hocket/frontend/aten/operator_call.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/constant.h"

namespace hocket::frontend {

double as_double(const Number& n) {
  return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

namespace {

/// Arguments about the device or the memory of a tensor, which are ignored here.
bool is_placement(std::string_view name) {
  return name == "device" || name == "layout" || name == "memory_format" || name == "pin_memory" ||
         name == "non_blocking" || name == "generator" || name == "requires_grad" ||
         name == "implicit";
}

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

OperatorCall::OperatorCall(Translation& translation, const SourceNode& node, const Row& row)
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
  // `aten.maximum.out` is `aten.maximum.default` with one more argument.
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

void OperatorCall::refuse(const std::string& why) const { throw Error(why); }

const Argument* OperatorCall::find(std::string_view name) const {
  for (const auto& [n, argument] : arguments_)
    if (n == name) return argument->none() ? nullptr : argument;
  return nullptr;
}

const Argument& OperatorCall::required(std::string_view name) const {
  const Argument* a = find(name);
  if (a == nullptr) refuse(fmt::format("argument '{}' is missing", name));
  return *a;
}

void OperatorCall::wrong(std::string_view name, std::string_view wanted) const {
  refuse(fmt::format("argument '{}' is no {}", name, wanted));
}

SourceValue OperatorCall::resolve(const Argument& a, std::string_view name) const {
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

TensorId OperatorCall::tensor(std::string_view name) { return tensor_of(required(name), name); }

TensorId OperatorCall::tensor_of(const Argument& a, std::string_view name) {
  SourceValue v = resolve(a, name);
  if (!v.tensor) wrong(name, "tensor");
  return *v.tensor;
}

bool OperatorCall::is_tensor_list(const Argument& a) const {
  if (const List* list = a.as<List>()) return list->empty() || list->front().as<Ref>() != nullptr;
  const Ref* ref = a.as<Ref>();
  if (ref == nullptr) return false;
  const SourceValue& v = translation_.values[ref->node];
  return ref->result < 0 && !v.tensor;
}

std::vector<TensorId> OperatorCall::tensors(std::string_view name) {
  std::vector<TensorId> list;
  const Argument* a = find(name);
  if (a == nullptr) return list;
  for (const SourceValue& v : resolve(*a, name).list) {
    if (!v.tensor) wrong(name, "list of tensors");
    list.push_back(*v.tensor);
  }
  return list;
}

std::vector<Value> OperatorCall::values(std::string_view name) {
  std::vector<Value> list;
  for (TensorId t : tensors(name)) list.push_back(read(t));
  return list;
}

Operand OperatorCall::operand(std::string_view name) {
  if (required(name).as<Ref>() != nullptr) return value(name);
  return number(name);
}

Number OperatorCall::number(std::string_view name, std::optional<Number> missing) const {
  const Argument* a = find(name);
  if (a == nullptr && missing) return *missing;
  if (a == nullptr) required(name);
  if (const bool* v = a->as<bool>()) return *v;
  if (const std::int64_t* v = a->as<std::int64_t>()) return *v;
  if (const double* v = a->as<double>()) return *v;
  wrong(name, "number");
}

double OperatorCall::real(std::string_view name, std::optional<double> missing) const {
  if (find(name) == nullptr && missing) return *missing;
  return as_double(number(name));
}

std::int64_t OperatorCall::integer(std::string_view name,
                                   std::optional<std::int64_t> missing) const {
  if (find(name) == nullptr && missing) return *missing;
  Number n = number(name);
  if (const bool* v = std::get_if<bool>(&n)) return *v ? 1 : 0;
  const std::int64_t* v = std::get_if<std::int64_t>(&n);
  if (v == nullptr) wrong(name, "integer");
  return sane(name, *v);
}

std::int64_t OperatorCall::position(std::string_view name, std::int64_t missing) const {
  if (find(name) == nullptr) return missing;
  Number n = number(name);
  const std::int64_t* v = std::get_if<std::int64_t>(&n);
  if (v == nullptr) wrong(name, "integer");
  return std::clamp(*v, -largest_size, largest_size);
}

std::int64_t OperatorCall::sane(std::string_view name, std::int64_t v) const {
  if (v < -largest_size || v > largest_size) refuse(fmt::format("{} has {}, too large", name, v));
  return v;
}

bool OperatorCall::flag(std::string_view name, std::optional<bool> missing) const {
  if (find(name) == nullptr && missing) return *missing;
  if (const bool* v = required(name).as<bool>()) return *v;
  wrong(name, "bool");
}

std::string OperatorCall::text(std::string_view name, std::optional<std::string> missing) const {
  if (find(name) == nullptr && missing) return *missing;
  if (const std::string* v = required(name).as<std::string>()) return *v;
  wrong(name, "string");
}

DType OperatorCall::dtype(std::string_view name, DType missing) const {
  const Argument* a = find(name);
  if (a == nullptr) return missing;
  if (const DType* v = a->as<DType>()) return *v;
  wrong(name, "dtype");
}

Ints OperatorCall::ints(std::string_view name) const {
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

std::vector<Number> OperatorCall::numbers(std::string_view name) const {
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

std::vector<bool> OperatorCall::flags(std::string_view name) const {
  const List* list = required(name).as<List>();
  if (list == nullptr) wrong(name, "list of bools");
  std::vector<bool> all;
  for (const Argument& item : *list) {
    if (item.as<bool>() == nullptr) wrong(name, "list of bools");
    all.push_back(*item.as<bool>());
  }
  return all;
}

std::int64_t OperatorCall::dim(std::string_view name, std::size_t rank,
                               std::optional<std::int64_t> missing) const {
  if (rank == 0) refuse(fmt::format("{} of a tensor without dimensions", name));
  return dim_or_first(name, rank, missing);
}

std::int64_t OperatorCall::dim_or_first(std::string_view name, std::size_t rank,
                                        std::optional<std::int64_t> missing) const {
  std::int64_t d = integer(name, missing);
  auto n = static_cast<std::int64_t>(std::max<std::size_t>(1, rank));
  if (d < -n || d >= n)
    refuse(fmt::format("{} is {}, the tensor has {} dimensions", name, d, rank));
  return d < 0 ? d + n : d;
}

Ints OperatorCall::dims(std::string_view name, std::size_t rank) const {
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

SourceValue OperatorCall::view(TensorId of, const Op& op, std::initializer_list<Named> attributes) {
  return {
      translation_.storages.view(at(), of, {.op = &op, .attributes = Attributes(op, attributes)}),
      {}};
}

SourceValue OperatorCall::reshape_view(TensorId of, const Shape& shape) {
  if (type(of).shape == shape) return alias(of);
  return view(of, ops::reshape, {{"shape", Ints(shape.begin(), shape.end())}});
}

}  // namespace hocket::frontend

// Ops whose values depend only on attributes, the rank and its groups.

#include <bit>
#include <cmath>
#include <cstring>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/world.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/evaluate.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket::ops {
namespace {

Type written_type(const InferCall& c) {
  if (c.written.size() != 1) fail("{}: found {} results, wanted one", c.op.name, c.written.size());
  if (c.written[0].pending) fail("{}: a constant is never in flight", c.op.name);
  return c.written[0];
}

void require_range(const InferCall& c, DType dtype, std::int64_t value) {
  if (value < row(dtype).lowest || value > row(dtype).highest)
    fail("{}: {} is out of range for {}", c.op.name, value, name(dtype));
}

template <class Integer, class Real, class Flag>
void require_kind(const InferCall& c, DType dtype, const Attribute& value) {
  bool fits = is_float(dtype)     ? std::holds_alternative<Real>(value)
              : is_integer(dtype) ? std::holds_alternative<Integer>(value)
                                  : std::holds_alternative<Flag>(value);
  if (!fits)
    fail("{}: value {} for {}, wanted {}", c.op.name, to_text(value), name(dtype),
         is_float(dtype)     ? "floats, written with a '.'"
         : is_integer(dtype) ? "ints"
                             : "true or false");
}

std::vector<Type> infer_constant(const InferCall& c) {
  Type type = written_type(c);
  const Attribute& value = find_attribute(c.op, c.attributes, "value");
  auto count = std::visit(
      [](const auto& v) -> std::int64_t {
        if constexpr (requires { v.size(); }) return static_cast<std::int64_t>(v.size());
        return 0;
      },
      value);
  if (!c.attr<std::string>("ref").empty()) {
    if (count > 0) fail("constant: has both a value and a ref");
    return {type};
  }
  if (type.elements() != count)
    fail("constant: {} for {}, wanted {}", count_of(count, "element"), to_text(type),
         type.elements());
  if (count > max_written_elements)
    fail("constant: {} written elements, at most {}; use a ref", count, max_written_elements);
  if (count == 0) return {type};
  require_kind<Ints, Floats, Bools>(c, type.dtype, value);
  if (const Ints* list = std::get_if<Ints>(&value))
    for (std::int64_t v : *list) require_range(c, type.dtype, v);
  return {type};
}

std::vector<Type> infer_full(const InferCall& c) {
  Type type = written_type(c);
  const Attribute& value = find_attribute(c.op, c.attributes, "value");
  require_kind<std::int64_t, double, bool>(c, type.dtype, value);
  if (const std::int64_t* v = std::get_if<std::int64_t>(&value)) require_range(c, type.dtype, *v);
  return {type};
}

void run_constant(KernelCall& c) {
  if (const auto& ref = c.attr<std::string>("ref"); !ref.empty())
    fail("constant: the program has no value for {}", quoted(ref));
  const View& out = c.out();
  visit(out.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.as<T>();
    std::visit(
        [&](const auto& list) {
          if constexpr (requires { list.begin(); }) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(list)>, Strings> &&
                          !std::is_same_v<std::decay_t<decltype(list)>, std::string>)
              for (auto v : list) *to++ = store<T>(v);
          }
        },
        find_attribute(c.op, c.attributes, "value"));
  });
}

void run_full(KernelCall& c) {
  const View& out = c.out();
  const Attribute& value = find_attribute(c.op, c.attributes, "value");
  visit(out.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T element{};
    if (const double* v = std::get_if<double>(&value)) element = store<T>(*v);
    if (const std::int64_t* v = std::get_if<std::int64_t>(&value)) element = store<T>(*v);
    if (const bool* v = std::get_if<bool>(&value)) element = store<T>(*v);
    std::fill_n(out.as<T>(), out.type.elements(), element);
  });
}

std::vector<Type> infer_iota(const InferCall& c) {
  Type type = written_type(c);
  auto dim = c.attr<std::int64_t>("dim");
  if (type.dtype == DType::boolean) fail("iota: result is {}, wanted numbers", to_text(type));
  if (dim < 0 || dim >= static_cast<std::int64_t>(type.shape.size()))
    fail("iota: dimension {} of {}", dim, to_text(type));
  return {type};
}

void run_iota(KernelCall& c) {
  const View& out = c.out();
  auto d = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  const Shape& shape = out.type.shape;
  std::int64_t inner = 1;
  for (std::size_t i = d + 1; i < shape.size(); ++i) inner *= shape[i];
  visit(out.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < out.type.elements(); ++i)
      out.as<T>()[i] = store<T>(i / inner % shape[d]);
  });
}

std::vector<Type> infer_rank(const InferCall& c) {
  group_size(c);
  return {{DType::i64, false, {}}};
}

void run_rank(KernelCall& c) { c.out().as<std::int64_t>()[0] = c.place.index; }

std::vector<Type> infer_shard(const InferCall& c) {
  const Type& x = *c.inputs[0];
  std::int64_t size = group_size(c);
  return {{x.dtype, false, {(x.elements() + size - 1) / size}}};
}

void run_shard(KernelCall& c) {
  auto index = static_cast<std::size_t>(c.place.index);
  auto from = c.inputs[0].bytes();
  auto to = c.out().bytes();
  std::size_t start = std::min(index * to.size(), from.size());
  std::size_t here = std::min(to.size(), from.size() - start);
  if (here > 0) std::memcpy(to.data(), from.data() + start, here);
  if (here < to.size()) std::memset(to.data() + here, 0, to.size() - here);
}

}  // namespace

constinit const Op constant{
    .name = "constant",
    .doc =
        "a value fixed in the program; its type is the one written for its "
        "result",
    .attributes = {{"value", AttributeKind::numbers, "up to 16 elements, row-major"},
                   {"ref", AttributeKind::string,
                    "name in the program's table of constants, for larger ones", ""}},
    .infer = infer_constant,
    .kernel = run_constant,
    .typed_by_result = true,
    .moves_data = true,
    .is_view = true};

constinit const Op full{
    .name = "full",
    .doc = "one value everywhere; its type is the one written for its result",
    .attributes = {{"value", AttributeKind::number, "int, float or bool, as the dtype wants"}},
    .infer = infer_full,
    .kernel = run_full,
    .typed_by_result = true,
    .moves_data = true};

constinit const Op iota{
    .name = "iota",
    .doc = "the index along a dimension; its type is the one written for its result",
    .attributes = {{"dim", AttributeKind::integer, "the dimension to count along"}},
    .infer = infer_iota,
    .kernel = run_iota,
    .typed_by_result = true,
    .moves_data = true};

constinit const Op rank{
    .name = "rank",
    .doc = "the index of this rank in its group",
    .attributes = {{"group", AttributeKind::string, "whose ranks are counted", "world", true}},
    .infer = infer_rank,
    .kernel = run_rank,
    .depends_on_rank = true};

constinit const Op shard{
    .name = "shard",
    .doc = "this rank's piece of x flattened, padded with zeros to equal pieces",
    .operands = {{"x"}},
    .attributes = {{"group", AttributeKind::string, "the ranks that share x", "world", true}},
    .infer = infer_shard,
    .kernel = run_shard,
    .depends_on_rank = true};

// ---- constants and tensors

std::optional<Tensor> constant_value(const Graph& graph, Value v) {
  const Node& node = graph[graph.node(v)];
  bool written = node.op == &constant && node.attr<std::string>("ref").empty();
  if (!written && !(node.op == &full && graph.type(v).elements() <= max_written_elements))
    return std::nullopt;
  return evaluate(graph, graph.node(v), {}).front();
}

namespace {

/// The element as an attribute that reads back as exactly these bits; nothing when there is none.
template <class T>
std::optional<Attribute> exact_attribute(T element) {
  auto number = load(element);
  using Number = decltype(number);
  T back;
  Attribute value;
  if constexpr (std::is_floating_point_v<Number>) {
    value = static_cast<double>(number);
    // The value that the text can express: of a NaN only the sign.
    double read = std::isnan(number)
                      ? std::copysign(std::numeric_limits<double>::quiet_NaN(), number)
                      : static_cast<double>(number);
    value = read;
    back = store<T>(read);
  } else if constexpr (std::is_same_v<Number, bool>) {
    value = number;
    back = store<T>(number);
  } else {
    value = static_cast<std::int64_t>(number);
    back = store<T>(number);
  }
  if (std::memcmp(&back, &element, sizeof(T)) != 0) return std::nullopt;
  return value;
}

Attribute list_of(const std::vector<Attribute>& elements) {
  auto collect = [&]<class T>(std::vector<T> list) -> Attribute {
    for (const Attribute& a : elements) list.push_back(std::get<T>(a));
    return list;
  };
  if (elements.empty() || std::holds_alternative<std::int64_t>(elements[0])) return collect(Ints{});
  if (std::holds_alternative<double>(elements[0])) return collect(Floats{});
  return collect(Bools{});
}

}  // namespace

std::optional<Value> add_constant(At at, const Tensor& tensor, std::string_view name) {
  const Type& type = tensor.type();
  std::int64_t count = type.elements();
  auto width = static_cast<std::size_t>(bytes(type.dtype));
  bool even = count > max_written_elements;
  for (std::int64_t i = 1; even && i < count; ++i)
    even = std::memcmp(tensor.bytes().data(),
                       tensor.bytes().data() + static_cast<std::size_t>(i) * width, width) == 0;
  if (count > max_written_elements && !even) return std::nullopt;

  std::vector<Attribute> elements;
  bool exact = visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < (even ? 1 : count); ++i) {
      auto element = exact_attribute(tensor.as<T>()[i]);
      if (!element) return false;
      elements.push_back(std::move(*element));
    }
    return true;
  });
  if (!exact) return std::nullopt;
  const Op& op = even ? full : constant;
  Attribute value = even ? elements[0] : list_of(elements);
  std::string_view names[] = {name};
  Type types[] = {type};
  NodeId n = at.graph->add(at, {.op = &op,
                                .attributes = Attributes(op, {{"value", std::move(value)}}),
                                .names = names,
                                .types = types});
  return at.graph->result(n);
}

}  // namespace hocket::ops

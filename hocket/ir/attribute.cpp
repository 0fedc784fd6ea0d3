#include "hocket/ir/attribute.h"

#include <bit>
#include <optional>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/op.h"

namespace hocket {

std::string_view name(AttributeKind kind) {
  constexpr std::string_view names[] = {"int",  "float",  "bool",  "dtype",   "string", "type",
                                        "ints", "floats", "bools", "strings", "number", "numbers"};
  return names[static_cast<std::size_t>(kind)];
}

namespace {

/// The kind of a value: the index of its alternative.
AttributeKind kind_of(const Attribute& value) { return static_cast<AttributeKind>(value.index()); }

template <class List, class Element>
void append_list(std::string& out, const List& list, Element element) {
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ',';
    first = false;
    element(out, item);
  }
  out += ']';
}

void append_flag(std::string& out, bool flag) { out += flag ? "true" : "false"; }

std::optional<Attribute> default_of(const AttributeSpec& spec) {
  using enum AttributeKind;
  if (spec.kind == ints || spec.kind == numbers) return Ints{};
  if (spec.kind == floats) return Floats{};
  if (spec.kind == bools) return Bools{};
  if (spec.kind == strings) return Strings{};
  return std::visit(
      [](auto v) -> std::optional<Attribute> {
        using T = decltype(v);
        if constexpr (std::is_same_v<T, std::monostate>)
          return std::nullopt;
        else if constexpr (std::is_same_v<T, std::string_view>)
          return Attribute(std::string(v));
        else
          return Attribute(v);
      },
      spec.fallback);
}

}  // namespace

bool fits(const Attribute& value, AttributeKind kind) {
  using enum AttributeKind;
  AttributeKind is = kind_of(value);
  if (kind == number) return is == integer || is == real || is == flag;
  if (kind == numbers) return is == ints || is == floats || is == bools;
  return is == kind;
}

bool same(const Attribute& a, const Attribute& b) {
  auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  if (a.index() != b.index()) return false;
  if (const double* x = std::get_if<double>(&a)) return bits(*x) == bits(std::get<double>(b));
  if (const Floats* x = std::get_if<Floats>(&a)) {
    const Floats& y = std::get<Floats>(b);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(),
                      [&](double p, double q) { return bits(p) == bits(q); });
  }
  return a == b;
}

void append(std::string& out, const Attribute& value) {
  struct Writer {
    std::string& out;
    void operator()(std::int64_t v) const { append_number(out, v); }
    void operator()(double v) const { append_number(out, v); }
    void operator()(bool v) const { append_flag(out, v); }
    void operator()(DType v) const { out += hocket::name(v); }
    void operator()(const std::string& v) const { append_quoted(out, v); }
    void operator()(const Type& v) const { append(out, v); }
    void operator()(const Ints& v) const {
      append_list(out, v, [](std::string& o, std::int64_t x) { append_number(o, x); });
    }
    void operator()(const Floats& v) const {
      append_list(out, v, [](std::string& o, double x) { append_number(o, x); });
    }
    void operator()(const Bools& v) const { append_list(out, v, append_flag); }
    void operator()(const Strings& v) const {
      append_list(out, v, [](std::string& o, const std::string& x) { append_quoted(o, x); });
    }
  };
  std::visit(Writer{out}, value);
}

std::string to_text(const Attribute& value) {
  std::string out;
  append(out, value);
  return out;
}

Attributes::Attributes(const Op& op, std::span<const Named> given) {
  if (op.attributes.empty() && given.empty()) return;
  Data data;
  data.values.reserve(op.attributes.size());
  std::vector<bool> used(given.size());
  for (const AttributeSpec& spec : op.attributes) {
    std::optional<Attribute> value;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].name != spec.name) continue;
      if (value) fail("{}: attribute '{}' given twice", op.name, spec.name);
      used[i] = true;
      value = given[i].value;
      // An empty list has no element that shows its kind, so it gets the kind in the record.
      if (const Ints* list = std::get_if<Ints>(&*value); list && list->empty())
        if (auto empty = default_of(spec)) value = empty;
      if (!fits(*value, spec.kind))
        fail("{}: attribute '{}' is {}, wanted {}{}", op.name, spec.name, to_text(*value),
             hocket::name(spec.kind),
             spec.kind == AttributeKind::real && std::holds_alternative<std::int64_t>(*value)
                 ? " (write it with a '.')"
                 : "");
    }
    if (!value) value = default_of(spec);
    if (!value) fail("{}: attribute '{}' is missing", op.name, spec.name);
    data.values.push_back(std::move(*value));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (used[i]) continue;
    std::vector<std::string_view> known;
    for (const AttributeSpec& spec : op.attributes) known.push_back(spec.name);
    fail("{}: unknown attribute '{}'{}", op.name, given[i].name,
         nearest_hint(given[i].name, known));
  }
  data_ = std::make_shared<const Data>(std::move(data));
}

std::span<const Attribute> Attributes::values() const {
  return data_ ? std::span<const Attribute>(data_->values) : std::span<const Attribute>();
}

std::span<const std::uint32_t> Attributes::list_sizes() const {
  return data_ ? std::span<const std::uint32_t>(data_->list_sizes)
               : std::span<const std::uint32_t>();
}

Attributes Attributes::with(std::size_t index, Attribute value) const {
  Data data = *data_;
  data.values.at(index) = std::move(value);
  Attributes changed;
  changed.data_ = std::make_shared<const Data>(std::move(data));
  return changed;
}

Attributes Attributes::with_list_sizes(std::vector<std::uint32_t> sizes) const {
  Data data = data_ ? *data_ : Data{};
  data.list_sizes = std::move(sizes);
  Attributes changed;
  changed.data_ = std::make_shared<const Data>(std::move(data));
  return changed;
}

const Attribute& find_attribute(const Op& op, const Attributes& attributes, std::string_view name) {
  int i = op.attribute_index(name);
  if (i < 0) internal_fail("op '{}' has no attribute '{}'", op.name, name);
  return attributes.values()[static_cast<std::size_t>(i)];
}

void wrong_attribute_kind(const Op& op, std::string_view name) {
  internal_fail("attribute '{}' of op '{}' read as another kind", name, op.name);
}

int Op::attribute_index(std::string_view attribute) const {
  for (std::size_t i = 0; i < attributes.size(); ++i)
    if (attributes[i].name == attribute) return static_cast<int>(i);
  return -1;
}

bool Op::writes_lists() const {
  if (operands.size() < 2) return false;
  for (const OperandSpec& spec : operands)
    if (spec.count != Count::one) return true;
  return false;
}

}  // namespace hocket

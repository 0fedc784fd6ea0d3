#pragma once
// Attributes: the typed, named constants of a node.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hocket/ir/type.h"

namespace hocket {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;
using Bools = std::vector<bool>;
using Strings = std::vector<std::string>;

/// One value. The alternatives are the kinds the language can write.
using Attribute = std::variant<std::int64_t, double, bool, DType, std::string, Type, Ints, Floats,
                               Bools, Strings>;

/// The alternatives that an op accepts for an attribute. `number` and `numbers` are ints, floats or
/// bools, as the dtype of the node's result requires.
enum class AttributeKind : std::uint8_t {
  integer,
  real,
  flag,
  dtype,
  string,
  type,
  ints,
  floats,
  bools,
  strings,
  number,
  numbers
};

std::string_view name(AttributeKind kind);
bool fits(const Attribute& value, AttributeKind kind);

/// Floats compare by their bits, so that -0 is not 0 and nan is nan.
bool same(const Attribute& a, const Attribute& b);
void append(std::string& out, const Attribute& value);
std::string to_text(const Attribute& value);

/// The declaration of an attribute in the record of its op.
struct AttributeSpec {
  using Default = std::variant<std::monostate, std::int64_t, double, bool, std::string_view, DType>;
  std::string_view name;
  AttributeKind kind = AttributeKind::integer;
  std::string_view doc;
  Default fallback = {};      ///< none: the attribute is required (a list may be left empty)
  bool always_print = false;  ///< printed even when it equals its default
};

struct Named {
  std::string_view name;
  Attribute value;
};

struct Op;

/// The values of all attributes of a node, in the order of its op's record, with the sizes of its
/// operand lists. Immutable and shared: copying costs a counter.
class Attributes {
 public:
  Attributes() = default;
  /// Fills in defaults; throws Error for unknown, repeated, missing or ill-typed ones.
  Attributes(const Op& op, std::span<const Named> given);
  Attributes(const Op& op, std::initializer_list<Named> given)
      : Attributes(op, std::span<const Named>(given.begin(), given.size())) {}

  std::span<const Attribute> values() const;
  /// Lengths of the operand lists of an op whose record has several slots; empty otherwise.
  std::span<const std::uint32_t> list_sizes() const;
  Attributes with(std::size_t index, Attribute value) const;
  Attributes with_list_sizes(std::vector<std::uint32_t> sizes) const;

 private:
  struct Data {
    std::vector<Attribute> values;
    std::vector<std::uint32_t> list_sizes;
  };
  std::shared_ptr<const Data> data_;
};

/// The attribute `name` of a node with this op; InternalError when the op has none or of another
/// kind.
const Attribute& find_attribute(const Op& op, const Attributes& attributes, std::string_view name);
[[noreturn]] void wrong_attribute_kind(const Op& op, std::string_view name);

template <class T>
const T& attribute(const Op& op, const Attributes& attributes, std::string_view name) {
  const T* value = std::get_if<T>(&find_attribute(op, attributes, name));
  if (value == nullptr) wrong_attribute_kind(op, name);
  return *value;
}

}  // namespace hocket

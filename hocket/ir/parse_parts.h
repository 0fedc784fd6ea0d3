#pragma once
// The parts of a statement that programs and plans have in common.

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/ir/attribute.h"
#include "hocket/ir/lexer.h"
#include "hocket/ir/op.h"
#include "hocket/ir/type.h"

namespace hocket {

/// `pending f32[8,4]`
Type parse_type(Lexer& lex);

/// `{key=value, key=value}`, or nothing. The names are parts of the text.
std::vector<Named> parse_attributes(Lexer& lex);

/// `%x`, without the `%`.
std::string_view parse_value_name(Lexer& lex);

/// Ops by name.
class OpNames {
 public:
  explicit OpNames(std::span<const Op* const> ops);
  /// Reads the name of an op; `wanted` describes it for the message.
  const Op& read(Lexer& lex, std::string_view wanted) const;

 private:
  std::span<const Op* const> ops_;
  std::unordered_map<std::string_view, const Op*> by_name_;
};

/// `(a, b)` or `([a, b], c)`, as the op writes it, or nothing where it has no lists; calls `item`
/// for each operand. Returns the length of each slot of an op that writes lists.
template <class Item>
std::vector<std::uint32_t> parse_operands(Lexer& lex, const Op& op, Item item) {
  std::vector<std::uint32_t> sizes;
  std::uint32_t count = 0;
  auto items = [&] {
    do {
      item();
      ++count;
    } while (lex.accept(','));
  };
  if (!op.writes_lists()) {
    if (!lex.accept('(') || lex.accept(')')) return sizes;
    items();
    lex.expect(')', "after the operands");
    return sizes;
  }
  lex.expect('(', "before the operands");
  for (std::size_t s = 0; s < op.operands.size(); ++s) {
    if (s > 0) lex.expect(',', fmt::format("before operand '{}'", op.operands[s].name));
    count = 0;
    if (op.operands[s].count == Count::one) {
      item();
      ++count;
    } else {
      lex.expect('[', fmt::format("before the list '{}'", op.operands[s].name));
      if (!lex.accept(']')) {
        items();
        lex.expect(']', fmt::format("after the list '{}'", op.operands[s].name));
      }
    }
    sizes.push_back(count);
  }
  lex.expect(')', "after the operands");
  return sizes;
}

}  // namespace hocket

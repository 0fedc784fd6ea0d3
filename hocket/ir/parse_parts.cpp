#include "hocket/ir/parse_parts.h"

#include "hocket/base/text.h"

namespace hocket {
namespace {

Type parse_shape(Lexer& lex, DType dtype, bool pending, std::size_t at) {
  Type t{dtype, pending, {}};
  lex.expect('[', "before the dimensions");
  if (!lex.accept(']')) {
    do {
      std::size_t dim_at = lex.position();
      std::int64_t dim = lex.integer("a dimension");
      if (dim < 0) lex.fail_at(dim_at, fmt::format("dimension {}, wanted at least 0", dim));
      t.shape.push_back(dim);
      if (t.shape.size() > max_dims)
        lex.fail_at(dim_at, fmt::format("more than {} dimensions", max_dims));
    } while (lex.accept(','));
    lex.expect(']', "after the dimensions");
  }
  if (!count_elements(t.shape)) lex.fail_at(at, fmt::format("{} is too large", to_text(t)));
  return t;
}

Attribute parse_scalar(Lexer& lex) {
  if (lex.peek() == '"') return lex.string("a string");
  if (lex.starts_number()) {
    Lexer::Number n = lex.number();
    return n.real ? Attribute(n.value) : Attribute(n.integer);
  }
  if (lex.accept_word("true")) return true;
  if (lex.accept_word("false")) return false;
  std::size_t at = lex.position();
  std::string_view word = lex.peek_word();
  if (word == "pending") return parse_type(lex);
  if (auto dtype = find_dtype(word)) {
    lex.accept_word(word);
    if (lex.peek() == '[') return parse_shape(lex, *dtype, false, at);
    return *dtype;
  }
  lex.unexpected("a value: a number, true, false, a dtype, a type, a string or a list");
}

template <class T>
Attribute parse_rest(Lexer& lex, T first) {
  std::vector<T> list{std::move(first)};
  while (lex.accept(',')) {
    std::size_t at = lex.position();
    Attribute item = parse_scalar(lex);
    T* same = std::get_if<T>(&item);
    if (same == nullptr)
      lex.fail_at(at, "a list holds values of one kind; floats are written with a '.'");
    list.push_back(std::move(*same));
  }
  return list;
}

Attribute parse_list(Lexer& lex) {
  if (lex.accept(']')) return Ints{};
  std::size_t start = lex.position();
  Attribute first = parse_scalar(lex);
  Attribute list = std::visit(
      [&](const auto& v) -> Attribute {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
                      std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
          return parse_rest<T>(lex, v);
        else
          lex.fail_at(start, "a list holds ints, floats, bools or strings");
      },
      first);
  lex.expect(']', "after a list");
  return list;
}

}  // namespace

Type parse_type(Lexer& lex) {
  bool pending = lex.accept_word("pending");
  std::size_t at = lex.position();
  std::string_view word = lex.word("a type such as f32[4,4]");
  auto dtype = find_dtype(word);
  if (!dtype) {
    std::vector<std::string_view> known;
    for (const DTypeRow& row : dtype_rows()) known.push_back(row.name);
    lex.fail_at(at, fmt::format("unknown dtype '{}'{}", word, nearest_hint(word, known)));
  }
  return parse_shape(lex, *dtype, pending, at);
}

std::vector<Named> parse_attributes(Lexer& lex) {
  std::vector<Named> list;
  if (!lex.accept('{') || lex.accept('}')) return list;
  do {
    std::string_view name = lex.word("the name of an attribute");
    lex.expect('=', "after the name of an attribute");
    list.push_back({name, lex.accept('[') ? parse_list(lex) : parse_scalar(lex)});
  } while (lex.accept(','));
  lex.expect('}', "after the attributes");
  return list;
}

std::string_view parse_value_name(Lexer& lex) {
  lex.expect('%', "before the name of a value");
  return lex.word("the name of a value");
}

OpNames::OpNames(std::span<const Op* const> ops) : ops_(ops) {
  for (const Op* op : ops) by_name_.emplace(op->name, op);
}

const Op& OpNames::read(Lexer& lex, std::string_view wanted) const {
  std::size_t at = lex.position();
  std::string_view word = lex.word(wanted);
  auto it = by_name_.find(word);
  if (it != by_name_.end()) return *it->second;
  std::vector<std::string_view> known;
  for (const Op* op : ops_) known.push_back(op->name);
  lex.fail_at(at, fmt::format("unknown op '{}'{}", word, nearest_hint(word, known)));
}

}  // namespace hocket

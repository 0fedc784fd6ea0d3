#pragma once
// Splits text into tokens and keeps their offsets for messages. Used by the parsers of programs and
// plans.

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  /// Offset of the next token.
  std::size_t position();
  bool at_end() { return position() == text_.size(); }
  /// First character of the next token; 0 at the end.
  char peek();

  bool accept(char c);
  void expect(char c, std::string_view after);
  /// Consumes the next token and returns true if it is the identifier `word`.
  bool accept_word(std::string_view word);
  /// Reads an identifier; `wanted` describes it in the error message.
  std::string_view word(std::string_view wanted);
  std::string_view peek_word();
  /// Reads identifiers joined by dots, such as `layer.0`.
  std::string_view dotted_word(std::string_view wanted);
  std::int64_t integer(std::string_view wanted);
  std::string string(std::string_view wanted);

  /// A number as written: `real` when it has a point or an exponent, or is inf or nan.
  struct Number {
    bool real = false;
    std::int64_t integer = 0;
    double value = 0;
  };
  bool starts_number();
  Number number();

  /// Throws Error `line 7: message (column 3)`, with the line and column of `offset`.
  [[noreturn]] void fail_at(std::size_t offset, std::string_view message) const;
  /// Throws Error `found X, wanted Y` at the next token.
  [[noreturn]] void unexpected(std::string_view wanted);
  std::string_view text() const { return text_; }
  std::size_t offset() const { return at_; }
  void rewind(std::size_t offset) { at_ = offset; }

 private:
  void skip();
  std::string found();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace hocket

#pragma once
// Splits text into words and knows their places, for messages. Used only by the parser.

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  /// Where the next word starts, as an offset.
  std::size_t position();
  bool at_end() { return position() == text_.size(); }
  /// The character the next word starts with; 0 at the end.
  char peek();

  bool accept(char c);
  void expect(char c, std::string_view after);
  /// Reads the next word and returns true if it is `word`.
  bool accept_word(std::string_view word);
  /// An identifier; `wanted` describes it for the message.
  std::string_view word(std::string_view wanted);
  std::string_view peek_word();
  /// Like word(), with dots inside.
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

  /// `line 7: message (column 3)` for an offset.
  [[noreturn]] void fail_at(std::size_t offset, std::string_view message) const;
  /// `found X, wanted Y` at the next word.
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

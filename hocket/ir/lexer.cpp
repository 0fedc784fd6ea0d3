#include "hocket/ir/lexer.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket {
namespace {

bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Lexer::skip() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

std::size_t Lexer::position() {
  skip();
  return at_;
}

char Lexer::peek() {
  skip();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Lexer::accept(char c) {
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void Lexer::expect(char c, std::string_view after) {
  if (!accept(c)) unexpected(fmt::format("'{}' {}", c, after));
}

std::string_view Lexer::peek_word() {
  skip();
  std::size_t end = at_;
  if (end < text_.size() && is_word_start(text_[end]))
    while (end < text_.size() && is_word(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

bool Lexer::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}

std::string_view Lexer::word(std::string_view wanted) {
  std::string_view word = peek_word();
  if (word.empty()) unexpected(wanted);
  at_ += word.size();
  return word;
}

std::string_view Lexer::dotted_word(std::string_view wanted) {
  std::size_t start = position();
  word(wanted);
  while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
  return text_.substr(start, at_ - start);
}

bool Lexer::starts_number() {
  char c = peek();
  if (is_digit(c) || c == '-') return true;
  std::string_view word = peek_word();
  return word == "inf" || word == "nan";
}

Lexer::Number Lexer::number() {
  std::size_t start = position();
  bool negative = accept('-');
  bool apart = position() != start + (negative ? 1 : 0);
  Number n{.real = true};
  if (!apart && accept_word("inf")) {
    n.value = std::numeric_limits<double>::infinity();
  } else if (!apart && accept_word("nan")) {
    n.value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (apart || at_ == text_.size() || !is_digit(text_[at_])) {
      at_ = start;
      unexpected("a number");
    }
    const char* first = text_.data() + start;
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    n.real = end < text_.size() && (text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E');
    const char* last = text_.data() + text_.size();
    auto [stop, error] =
        n.real ? std::from_chars(first, last, n.value) : std::from_chars(first, last, n.integer);
    if (error != std::errc{}) fail_at(start, "the number is out of range");
    at_ = static_cast<std::size_t>(stop - text_.data());
    return n;
  }
  if (negative) n.value = -n.value;
  return n;
}

std::int64_t Lexer::integer(std::string_view wanted) {
  std::size_t start = position();
  if (char c = peek(); !is_digit(c) && c != '-') unexpected(wanted);
  Number n = number();
  if (n.real) fail_at(start, fmt::format("found a float, wanted {}", wanted));
  return n.integer;
}

std::string Lexer::string(std::string_view wanted) {
  std::size_t start = position();
  if (!accept('"')) unexpected(wanted);
  std::string out;
  while (at_ < text_.size()) {
    char c = text_[at_++];
    if (c == '"') return out;
    if (c == '\n') break;
    if (c != '\\') {
      out += c;
      continue;
    }
    char escape = at_ < text_.size() ? text_[at_++] : '\0';
    if (escape == 'n') {
      out += '\n';
    } else if (escape == '"' || escape == '\\') {
      out += escape;
    } else if (escape == 'x' && at_ + 2 <= text_.size() && hex_digit(text_[at_]) >= 0 &&
               hex_digit(text_[at_ + 1]) >= 0) {
      out += static_cast<char>(hex_digit(text_[at_]) * 16 + hex_digit(text_[at_ + 1]));
      at_ += 2;
    } else {
      fail_at(at_ - 1, R"(unknown escape in a string, wanted \", \\, \n or \xNN)");
    }
  }
  fail_at(start, "the string does not end in its line");
}

void Lexer::fail_at(std::size_t offset, std::string_view message) const {
  std::string_view before = text_.substr(0, offset);
  auto line = std::count(before.begin(), before.end(), '\n') + 1;
  std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  // A message may contain a part of the text of any length.
  fail("line {}: {} (column {})", line, shortened(message), offset - start + 1);
}

std::string Lexer::found() {
  if (at_end()) return "the end of the text";
  std::string_view word = peek_word();
  if (word.empty()) word = text_.substr(at_, 1);
  std::string shown = quoted(word.substr(0, 40));
  return fmt::format("'{}'", std::string_view(shown).substr(1, shown.size() - 2));
}

void Lexer::unexpected(std::string_view wanted) {
  std::size_t at = position();
  fail_at(at, fmt::format("found {}, wanted {}", found(), wanted));
}

}  // namespace hocket

// Finds the first error in a text that the parser refused.

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/formats/json.h"

namespace hocket::frontend {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::string fault() {
    std::string open;  // brackets that are not closed yet
    bool value_next = true, may_close = false;
    for (;;) {
      skip_blanks();
      if (value_next) {
        if (!open.empty() && may_close && take(close_of(open))) {
          open.pop_back();
        } else {
          if (!open.empty() && open.back() == '{' && !key()) return fault_;
          char c = peek();
          if (c == '{' || c == '[') {
            if (open.size() == max_json_depth)
              return fmt::format("byte {}: nested deeper than {}", at_, max_json_depth);
            open += c;
            ++at_;
            may_close = true;
            continue;
          }
          if (!scalar()) return fault_;
        }
        value_next = false;
      } else if (open.empty()) {
        return at_ == text_.size() ? "" : wanted("the end");
      } else if (take(',')) {
        value_next = true;
        may_close = false;
      } else if (take(close_of(open))) {
        open.pop_back();
      } else {
        return wanted(open.back() == '{' ? "',' or '}'" : "',' or ']'");
      }
    }
  }

 private:
  static char close_of(const std::string& open) { return open.back() == '{' ? '}' : ']'; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string::npos)
      ++at_;
  }
  std::string wanted(std::string_view what) const {
    if (at_ >= text_.size()) return fmt::format("ends after {} bytes, wanted {}", at_, what);
    std::size_t length = utf8_length(text_.substr(at_));
    std::string found =
        length == 0 ? fmt::format("0x{:02x}", text_[at_] & 0xff) : shown(text_.substr(at_, length));
    return fmt::format("byte {}: found {}, wanted {}", at_, found, what);
  }
  bool fail_wanted(std::string_view what) {
    fault_ = wanted(what);
    return false;
  }

  bool key() {
    if (peek() != '"') return fail_wanted("a key in quotes");
    if (!string()) return false;
    skip_blanks();
    if (!take(':')) return fail_wanted("':'");
    skip_blanks();
    return true;
  }

  bool scalar() {
    char c = peek();
    if (c == '"') return string();
    if (c == '-' || is_digit(c)) return number();
    for (std::string_view word : {"true", "false", "null"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return true;
      }
    return fail_wanted("a value");
  }

  bool string() {
    for (++at_; !take('"');) {
      if (at_ < text_.size() && text_[at_] == '\\') {
        if (!escape()) return false;
        continue;
      }
      std::size_t length = utf8_length(text_.substr(at_));
      if (length == 0)
        return fail_wanted(at_ >= text_.size() ? "the end of a string" : "utf-8 in a string");
      if (length == 1 && text_[at_] >= 0 && text_[at_] < 0x20)
        return fail_wanted("an escape sequence for it");
      at_ += length;
    }
    return true;
  }

  bool escape() {
    ++at_;
    if (peek() == 'u') {
      int first = hex4(), second = 0;
      if (first < 0) return false;
      if (first >= 0xdc00 && first < 0xe000) return fail_wanted("no half of a character before");
      if (first < 0xd800 || first >= 0xdc00) return true;
      if (!take('\\') || peek() != 'u') return fail_wanted("the other half of a character");
      second = hex4();
      return second >= 0xdc00 && second < 0xe000 ? true
                                                 : fail_wanted("the other half of a character");
    }
    if (at_ >= text_.size() || std::string_view("\"\\/bfnrt").find(peek()) == std::string::npos)
      return fail_wanted("one of \"\\/bfnrtu behind a backslash");
    ++at_;
    return true;
  }

  /// The number after a `u`, or -1.
  int hex4() {
    ++at_;
    int value = 0;
    std::string_view digits = text_.substr(at_, 4);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc{} || end != digits.data() + 4 || digits[0] == '-') {
      fail_wanted("four hexadecimal digits");
      return -1;
    }
    at_ += 4;
    return value;
  }

  bool digits() {
    std::size_t start = at_;
    while (is_digit(peek())) ++at_;
    return at_ > start ? true : fail_wanted("a digit");
  }

  bool number() {
    std::size_t start = at_;
    take('-');
    if (take('0')) {
      if (is_digit(peek())) return fail_wanted("no digit behind a leading 0");
    } else if (!digits()) {
      return false;
    }
    bool whole = true;
    if (take('.')) {
      whole = false;
      if (!digits()) return false;
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('-')) take('+');
      if (!digits()) return false;
    }
    return fits(start, whole);
  }

  bool fits(std::size_t start, bool whole) {
    std::string text(text_.substr(start, at_ - start));
    const char* end = text.data() + text.size();
    std::int64_t i = 0;
    std::uint64_t u = 0;
    bool good = whole ? std::from_chars(text.data(), end, i).ec == std::errc{} ||
                            std::from_chars(text.data(), end, u).ec == std::errc{}
                      : std::isfinite(std::strtod(text.c_str(), nullptr));
    if (good) return true;
    fault_ = fmt::format("byte {}: number {} does not fit into 64 bits", start, shown(text));
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string fault_;
};

}  // namespace

std::string json_fault(std::string_view text) { return Scanner(text).fault(); }

}  // namespace hocket::frontend

#pragma once
// Numbers and strings in the syntax of the language, and suggestions for misspelt words.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// Shortest text that reads back as the same double; always has one of `.`, `e`, `inf`, `nan`.
/// A NaN keeps its sign; other bits of its payload are not written.
void append_number(std::string& out, double value);
void append_number(std::string& out, std::int64_t value);

/// The string in double quotes, with `\"`, `\\`, `\n` and `\xNN` for other control bytes.
void append_quoted(std::string& out, std::string_view text);
std::string quoted(std::string_view text);
/// A name from an input file, for a message: `'name'`, on one line, shortened when long.
std::string shown(std::string_view name);
/// A text of any length for a message: in a long one the middle becomes `...`. Its end stays, since
/// it says what was wanted.
std::string shortened(std::string_view text);

/// Bytes of the UTF-8 character that `text` starts with, 0 when it starts with none.
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

/// The candidate with the smallest edit distance to `word`, or "" when none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);
/// `; nearest is 'x'`, or "" when nothing is near: the end of an "unknown name" message.
std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// The number with its noun, in the plural unless n is 1: `1 result`, `2 results`.
std::string count_of(std::int64_t n, std::string_view noun);

}  // namespace hocket

#include "hocket/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace hocket {

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += std::signbit(value) ? "-nan" : "nan";
    return;
  }
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string_view text(buffer, end - buffer);
  out += text;
  if (text.find_first_of(".ein") == text.npos) out += ".0";
}

void append_number(std::string& out, std::int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

namespace {

bool is_within_character(std::string_view text, std::size_t at) {
  return at < text.size() && (text[at] & 0xc0) == 0x80;
}

/// The last position at or before `at` that is not within a UTF-8 character.
std::size_t cut_near(std::string_view text, std::size_t at) {
  for (std::size_t end = at; end + 4 > at; --end)
    if (!is_within_character(text, end)) return end;
  return at;
}

}  // namespace

std::string shown(std::string_view name) {
  constexpr std::size_t longest = 100;
  std::size_t end = name.size() <= longest ? name.size() : cut_near(name, longest);
  std::string out = quoted(name.substr(0, end));
  if (end < name.size()) out.insert(out.size() - 1, "...");
  out.front() = out.back() = '\'';
  return out;
}

std::string shortened(std::string_view text) {
  constexpr std::size_t head = 300, tail = 200;
  if (text.size() <= head + tail) return std::string(text);
  return fmt::format("{}...{}", text.substr(0, cut_near(text, head)),
                     text.substr(cut_near(text, text.size() - tail)));
}

std::size_t utf8_length(std::string_view text) {
  auto byte = [&](std::size_t i) { return i < text.size() ? text[i] & 0xff : 0; };
  int first = byte(0);
  if (text.empty() || (first >= 0x80 && first < 0xc2) || first > 0xf4) return 0;
  std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Longer than needed, half of a surrogate pair, beyond the last character.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

namespace {

/// Edit distance with swaps of neighbours counted as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (std::string_view c : candidates) {
    std::size_t d = distance(word, c);
    if (d < best_distance && d < std::max(word.size(), c.size())) {
      best = c;
      best_distance = d;
    }
  }
  return best;
}

std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best = nearest(word, candidates);
  if (best.empty()) return "";
  std::string shown = quoted(best);  // names may hold anything; a message is one line
  return fmt::format("; nearest is '{}'", std::string_view(shown).substr(1, shown.size() - 2));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    if (end == text.size()) return parts;
    at = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string count_of(std::int64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

}  // namespace hocket

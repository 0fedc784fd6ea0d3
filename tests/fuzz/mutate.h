#pragma once
// Random edits of byte strings: how a corpus becomes inputs that nobody wrote.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hocket::fuzz {

/// Numbers that depend on the seed alone, on every platform (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()();
  /// 0 to n - 1; 0 when n is 0.
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>((*this)() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  auto& pick(List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::uint64_t state_;
};

/// What edits draw from.
struct Material {
  std::span<const std::string> texts;   ///< other inputs, to splice with; not empty
  std::span<const std::string> tokens;  ///< words of the format; may be empty
};

/// Edits `text` once to a few times. The kinds of edit know bytes, words, numbers, lines and
/// brackets, but no format.
void mutate(std::string& text, const Material& material, Random& random);

/// A smaller input for which `fails` still holds: drops lines, then ever shorter runs of bytes.
/// Calls `fails` at most `attempts` times.
template <class Fails>
std::string minimised(std::string text, Fails fails, int attempts = 3000) {
  auto without = [&](std::size_t at, std::size_t length) {
    std::string shorter = text;
    shorter.erase(at, length);
    if (shorter.size() == text.size() || attempts-- <= 0 || !fails(shorter)) return false;
    text = std::move(shorter);
    return true;
  };
  for (std::size_t before = text.size() + 1; text.size() < before && attempts > 0;) {
    before = text.size();
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      if (!without(at, end - at)) at = end;
    }
    for (std::size_t length = text.size() / 2; length > 0; length /= 2)
      for (std::size_t at = 0; at < text.size();)
        if (!without(at, length)) at += length;
  }
  return text;
}

}  // namespace hocket::fuzz

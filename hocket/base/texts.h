#pragma once
// Interned texts.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/base/not_copied.h"

namespace hocket {

/// Stores each text once and gives it a number, from 0 on in the order of first insertion. One flat
/// table, because a graph may have a million texts, and a heap block for each would cost more than
/// all other work on it. Copies share the characters.
class Texts {
 public:
  static constexpr std::uint32_t none = 0xffffffff;

  std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }
  /// Valid as long as this table or a copy of it lives.
  std::string_view operator[](std::uint32_t i) const { return texts_[i]; }
  /// The number of a text, `none` when it was never added.
  std::uint32_t find(std::string_view text) const;
  /// The number of a text, a new one when it was never added.
  std::uint32_t add(std::string_view text);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t index = none;
  };

  struct Room {
    std::span<char> free;   // what is left of the last block
    std::size_t taken = 0;  // by this table; the next block is as large, within bounds
  };

  /// The slot that holds the text, or the empty one where it belongs.
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow();
  std::string_view keep(std::string_view text);

  std::vector<Slot> slots_;  // a power of two, at least a quarter of them empty
  std::vector<std::string_view> texts_;
  std::vector<std::shared_ptr<char[]>> blocks_;  // of characters
  NotCopied<Room> room_;
};

}  // namespace hocket

#pragma once
// Interned texts.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/base/not_copied.h"

namespace hocket {

/// Stores each text once and gives it an index; indices count up from 0 in the order of insertion.
/// The characters lie in large blocks, because a graph may have a million texts and one heap block
/// per text would cost more than all other work on the graph. Copies of the table share these
/// blocks.
class Texts {
 public:
  static constexpr std::uint32_t none = 0xffffffff;

  std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }
  /// Valid as long as this table or a copy of it lives.
  std::string_view operator[](std::uint32_t i) const { return texts_[i]; }
  /// The index of a text, or `none` if it was never added.
  std::uint32_t find(std::string_view text) const;
  /// The index of a text, which is added if it is new.
  std::uint32_t add(std::string_view text);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t index = none;
  };

  struct Room {
    std::span<char> free;   // unused part of the last block
    std::size_t taken = 0;  // bytes stored so far; the next block gets the same size, within limits
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

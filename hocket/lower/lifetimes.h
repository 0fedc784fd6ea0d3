#pragma once
// Blocks in the order in which they come into use.

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/lower/place_blocks.h"

namespace hocket {

struct Lifetime {
  std::int64_t bytes;         ///< rounded up, never 0
  std::uint32_t first, last;  ///< instructions
  std::uint32_t block;        ///< index among the blocks of the caller
};

struct Lifetimes {
  std::vector<Lifetime> by_first;      ///< ascending; of equal ones the largest comes first
  std::vector<std::uint32_t> by_last;  ///< indices in by_first
};

/// Blocks without bytes are left out. O(n).
Lifetimes lifetimes(std::span<const Block> blocks);

/// The same blocks with time running backwards. O(n).
Lifetimes mirrored(const Lifetimes& blocks);

std::int64_t live_bound(const Lifetimes& blocks);

}  // namespace hocket

#pragma once
// Offsets in an arena for blocks of bytes that are in use for a while.

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

/// Bytes that are in use from instruction `first` to instruction `last`, both included.
struct Block {
  std::int64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
};

struct Placement {
  std::vector<std::int64_t> offsets;  ///< of the blocks, multiples of `plan_alignment`
  std::int64_t bytes = 0;             ///< of the arena
};

/// Blocks that are in use at the same time share no bytes; sizes are rounded up to multiples of
/// `plan_alignment`. To find the smallest arena is NP-hard, so this takes the best of several ways,
/// and for some thousand blocks improves it until it comes near `live_bound`. The same blocks
/// always have the same offsets. O(n log n). Error when all sizes together exceed 2^62.
Placement place_blocks(std::span<const Block> blocks);

/// The largest sum of rounded sizes that are in use at the same time: no arena can be smaller.
/// O(n).
std::int64_t live_bound(std::span<const Block> blocks);

}  // namespace hocket

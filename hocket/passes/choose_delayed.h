#pragma once
// Which updates go into the next iteration, if they may: a guess from places in the list.

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

/// Gradients that are reduced and used together, as positions in the list of nodes.
struct BucketPlace {
  std::uint32_t start = 0;   ///< of its last collective
  std::uint32_t update = 0;  ///< the first wait behind it
  std::uint32_t needed = 0;  ///< what it updates is first read in the next iteration
  std::int64_t bytes = 0;    ///< on their way
};

/// A delay must win this part of the list, a 32nd, to pay for memory in use over the boundary.
inline constexpr std::uint32_t least_part = 32;

/// By bucket: is it to be waited for in the next iteration? `length` is that of the list.
///
/// Transfers pass the link one after the other, as they were started. How fast is unknown here, so
/// we take the speed at which order matters most: all buckets together need just the time from the
/// first start to the end of the list. A faster link hides everything by itself, a slower one
/// nothing. A bucket that arrives behind its update is late. It is delayed when that wins enough of
/// the next iteration. Any answer is right; only time depends on it. O(n log n).
std::vector<bool> choose_delayed(std::span<const BucketPlace> buckets, std::uint32_t length);

}  // namespace hocket

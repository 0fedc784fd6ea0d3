#pragma once
// Which updates go into the next iteration, if they may: a guess from places in the list.

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

/// Gradients that are reduced and used together, as positions on a ruler along the list of nodes.
struct BucketPlace {
  std::uint32_t start = 0;   ///< of its last collective
  std::uint32_t update = 0;  ///< the first wait behind it
  std::uint32_t needed = 0;  ///< what it updates is first read in the next iteration
  double bytes = 0;          ///< that pass the link of each rank
  bool startable = false;    ///< it could be started in the next iteration, too
  bool fixed = false;        ///< another collective, which only takes its time on the link
};

/// What goes into the next iteration: nothing, the wait with the update, or the collective as well.
enum class Delay : std::uint8_t { none, wait, start };

/// A delay must win this part of the list, a 32nd, to pay for memory in use over the boundary.
inline constexpr std::uint32_t least_part = 32;

/// By bucket. `length` is that of the ruler.
///
/// Transfers pass the link one after the other, as they were started. How fast is unknown here, so
/// we take the speed at which order matters most: all of them together need just the time of one
/// iteration. A faster link hides everything by itself, a slower one nothing. Two things can be
/// done. The buckets needed last can start in the next iteration, in the order in which they are
/// needed: that leaves the link to those needed first, which start last. How many of them is tried
/// out, on a clock that walks along the ruler. And what still arrives behind its update is waited
/// for in the next iteration, when that wins enough of it. Any answer is right; only time depends
/// on it. O(n log n).
std::vector<Delay> choose_delayed(std::span<const BucketPlace> buckets, std::uint32_t length);

}  // namespace hocket

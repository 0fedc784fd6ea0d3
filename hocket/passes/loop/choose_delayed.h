#pragma once
// Which updates to delay into the next iteration: a heuristic on positions in the list.

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

/// An update slice, or a collective that cannot move, for the heuristic. Positions are on a time
/// axis on which the length of a node is its work.
struct BucketPlace {
  std::uint32_t start = 0;   ///< position of its last collective
  std::uint32_t update = 0;  ///< the first wait behind it
  std::uint32_t needed = 0;  ///< the first reader of the updated state, in the next iteration
  double bytes = 0;          ///< bytes through the link of each rank
  bool startable = false;    ///< the collective can also be started in the next iteration
  bool fixed = false;        ///< a collective that cannot move but occupies the link
};

/// What is delayed: nothing, the wait with the update, or also the start of the collective.
enum class Delay : std::uint8_t { none, wait, start };

/// A delay must gain at least 1/32 of an iteration, because it keeps memory in use across the
/// iteration boundary.
inline constexpr std::uint32_t least_part = 32;

/// One decision per bucket. `length` is that of the time axis.
///
/// Transfers pass the link in the order in which they start. The speed of the link is unknown here.
/// We assume the speed at which the order matters most: all transfers together take one iteration.
/// (A faster link hides everything in any order, a slower one nothing.) There are two ways to gain
/// time. Buckets that are needed last can start in the next iteration, in the order in which they
/// are needed; that frees the link for buckets that are needed first, which become ready last. How
/// many of them do so is tried out by a simulation along the time axis. And a transfer that still
/// arrives after its update can be waited for in the next iteration, where that saves enough time.
/// Results do not depend on the decision. O(n log n).
std::vector<Delay> choose_delayed(std::span<const BucketPlace> buckets, std::uint32_t length);

}  // namespace hocket

#pragma once
// Which updates to delay into the next iteration: a heuristic on positions in the list.

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

/// Gradients that are reduced and used together. Positions are those of nodes on a time axis on
/// which each node is as long as its work.
struct BucketPlace {
  std::uint32_t start = 0;   ///< of its last collective
  std::uint32_t update = 0;  ///< the first wait behind it
  std::uint32_t needed = 0;  ///< what it updates is first read in the next iteration
  double bytes = 0;          ///< that pass the link of each rank
  bool startable = false;    ///< it could be started in the next iteration, too
  bool fixed = false;        ///< a collective that cannot move, but keeps the link busy
};

/// What is delayed: nothing, the wait with the update, or the collective as well.
enum class Delay : std::uint8_t { none, wait, start };

/// A delay must save at least 1/32 of an iteration: it keeps memory in use over the boundary.
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

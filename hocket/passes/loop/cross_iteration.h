#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/passes/loop/choose_delayed.h"

namespace hocket {

struct CrossIteration {
  std::string move = "none";    ///< collectives to be moved, `%a+%b`; else the pass decides
  std::string before = "none";  ///< the node that they go in front of in the next iteration
  std::string delay = "late";   ///< or `all`: every update that may be delayed
};

using ChooseDelayed =
    std::function<std::vector<Delay>(std::span<const BucketPlace>, std::uint32_t length)>;

/// The last gradients of a backward pass become ready when little computation is left to hide their
/// reduction. This pass waits for them in the next iteration, right before the first reader of what
/// they update, and runs the update there. The collective starts where it did, and its transfer
/// crosses the iteration boundary while the next forward pass runs. For parameters that are read
/// late, the collective itself can start in the next iteration, which frees the link for others.
///
///     iteration          t                        t+1
///     before    forward backward wait,update | forward ...
///     after     forward backward             | forward(1) wait,update forward(2) ...
///
/// Results do not change: `rotate` makes every reader read the same value as before.
///
/// An update slice (update_slices.h) is delayed as a whole or not at all; a remark says why one is
/// not: an output reads it, its gradients are combined with others in a scalar (a norm to clip by,
/// a flag that skips updates), or ranks with another graph do not delay it. Where one collective
/// depends on another, only the last can be delayed. Optimizers are cut so that each slice has its
/// own. `choose` decides among the slices that can be delayed.
///
/// With `move` the collective itself is delayed too, with everything that depends on it. Error when
/// there is no such collective, no update needs it, an output reads its result, the destination
/// does not exist, is delayed itself or stands behind a reader of what is delayed, or ranks with
/// different graphs would start collectives in different orders. O(nodes log nodes).
void cross_iteration(Program& program, const CrossIteration& options, const ChooseDelayed& choose);
void cross_iteration(Program& program, const CrossIteration& options);

}  // namespace hocket

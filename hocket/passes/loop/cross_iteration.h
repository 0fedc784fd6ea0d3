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

/// The last gradients of a backward pass have little left to hide behind. This waits for them in
/// the next iteration, right before the first reader of what they update, and updates there; the
/// collective stays where it is, and what it brings is on its way over the boundary. The next
/// forward pass runs meanwhile as far as it can. Collectives of what is needed late can be left to
/// the next iteration altogether: they start at its front, in the order in which they are needed,
/// and the link is free for the others. Right because `rotate` is: every reader reads the value
/// that it read before, whatever is chosen.
///
/// A share of the graph (gradient_shares.h) moves as a whole, or stays, and a remark says why: an
/// output reads it, its gradients meet others in a single number (a norm to clip by, a flag to
/// skip), or ranks with another graph do not do the same. Of collectives in a row the last one may
/// be delayed. Optimizers are cut by share. `choose` decides among those that can move.
///
/// With `move` the collective itself moves too, with everything that depends on it. Error when
/// there is no such collective, no update needs it, an output does, there is no such destination,
/// it moves itself or stands behind a reader of what is moved, or ranks with different graphs start
/// things in different orders with it. O(nodes log nodes).
void cross_iteration(Program& program, const CrossIteration& options, const ChooseDelayed& choose);
void cross_iteration(Program& program, const CrossIteration& options);

}  // namespace hocket

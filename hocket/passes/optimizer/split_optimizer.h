#pragma once

#include <string>

#include "hocket/ir/program.h"

namespace hocket {

struct SplitOptimizer {
  std::string by = "bucket";       ///< or `parameter`
  std::string gradients = "none";  ///< `%a+%b`: cuts these off; `by` is then ignored
};

/// Cuts an optimizer by bucket. One node for all parameters has to wait for the last gradient; cut
/// into one node per bucket, each starts when its own gradients have arrived, and can be moved on
/// its own, also into the next iteration.
///
///     %r1, %r2 = wait(%h1, %h2)                     %r1, %r2 = wait(%h1, %h2)
///     %r3 = wait(%h3)                          ->   %u1, %u2 = sgd(lr, [%p1, %p2], [%r1, %r2])
///     %u1, %u2, %u3 =                               %r3 = wait(%h3)
///       sgd(lr, [%p1, %p2, %p3], [%r1, %r2, %r3])   %u3 = sgd(lr, [%p3], [%r3])
///
/// Updates of different parameters are independent, so that no bit changes. Step counts are
/// operands like all state, and each part counts as the whole did.
///
/// The collective of a gradient is found by going back through elementwise nodes and nodes that
/// move data to a wait; of several, the one started last counts. The parts take the place of the
/// whole, in the order of their collectives. Gradients without a collective form one more part, in
/// front, since it need not wait. With `gradients` the named ones are cut off and stand behind the
/// rest. Error when a name is a gradient in no graph, when none is named, or when no rest is left
/// anywhere. O(nodes + operands).
void split_optimizer(Program& program, const SplitOptimizer& options);

}  // namespace hocket

#pragma once

#include <string>

#include "hocket/ir/program.h"

namespace hocket {

struct SplitOptimizer {
  std::string by = "bucket";       ///< or `parameter`
  std::string gradients = "none";  ///< `%a+%b`: cut these off, whatever `by` says
};

/// One optimizer node for all parameters waits for the last gradient. Cut into one node per bucket,
/// each starts when its own gradients have come, and can be moved on its own, into the next
/// iteration as well. No parameter sees another one's tensors, so that no bit changes; steps are
/// operands like all state, so that each part counts as the whole did.
///
/// A gradient comes from the collective that is found by going back through elementwise nodes and
/// nodes that move data to a wait; of several the one that was started last. The parts take the
/// place of the whole in the order of their collectives. Those without one are one part more, in
/// front, since it need not wait. With `gradients` the named ones are cut off and stand behind the
/// rest; Error when they are none, or one is a gradient in no graph, or no rest is left anywhere.
/// O(nodes + operands).
void split_optimizer(Program& program, const SplitOptimizer& options);

}  // namespace hocket

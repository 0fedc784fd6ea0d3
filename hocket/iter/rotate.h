#pragma once
// Delays nodes of a loop body to a later iteration (retiming).

#include <span>

#include "hocket/ir/graph.h"

namespace hocket {

struct RotateOptions {
  /// Outputs may lag behind their iteration by the delay of the values that they read.
  bool outputs_may_lag = false;
  /// The node before which the moved nodes go. Default: the first reader of what they update, or
  /// the front of the body if there is none.
  NodeId before = {};
};

/// Makes `nodes` run k iterations later: adds k to their delays, and makes every reader read the
/// value of the same iteration as before. The body remains one iteration of the loop in the steady
/// state.
///
/// With the new delays, every edge u -> v must have `distance + delay(v) - delay(u) >= 0`, where
/// the distance is 1 through a state and 0 otherwise, and an output has delay 0. That is the only
/// rule, and an execution order always exists: a cycle of edges has a distance of at least 1. For a
/// sum of s > 0 a forwarded state with s slots is made (through a state: s - 1 slots, if s > 1),
/// one for all readers of a value; a sum of 0 through a state makes the reader read the new value
/// itself.
///
/// There are two limits: a delay is at most max_delay, and the slots of all forwarded state repeat
/// together after at most max_turns iterations.
///
/// Throws Error, before any edit, with the edge that breaks the rule, the reader for which a limit
/// is exceeded, or the reader that stands before the destination. Timeless nodes (see Lags) are not
/// changed, because they can be read with any delay. O(graph).
void rotate(Graph& g, std::span<const NodeId> nodes, int k = 1, const RotateOptions& options = {});

}  // namespace hocket

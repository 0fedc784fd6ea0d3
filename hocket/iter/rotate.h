#pragma once
// Moving nodes of a loop's body into the next iteration.

#include <span>

#include "hocket/ir/graph.h"

namespace hocket {

struct RotateOptions {
  /// Outputs may come later than the iteration they belong to, by the delay of what they read.
  bool outputs_may_lag = false;
  /// Where the moved nodes go; by default before the first reader of what they update, or to the
  /// front when nothing reads it.
  NodeId before = {};
};

/// Lets `nodes` run k iterations later: adds k to their delays and gives every reader the value of
/// the iteration that it wants. The body stays one iteration of the loop in the steady state.
///
/// With the new delays, every edge u -> v must have `distance + delay(v) - delay(u) >= 0`, where
/// the distance is 1 through a state and 0 otherwise, and an output has delay 0. That is the only
/// rule, and it always leaves an order to run in: a circle of edges has a distance of at least 1.
/// A sum of s > 0 (through a state: s > 1) makes a forwarded state with s slots, one for all
/// readers of a value; a sum of 0 through a state makes the reader read the new value itself.
///
/// Beside the rule there are two limits: a delay is at most max_delay, and the slots of all
/// forwarded state repeat together after at most max_turns iterations.
///
/// Throws Error, before anything is edited, naming the edge that breaks the rule, the reader that
/// comes to a limit, or the one that the destination stands behind. Timeless nodes (see Lags) stay
/// as they are, because anyone may read them at any time. O(graph).
void rotate(Graph& g, std::span<const NodeId> nodes, int k = 1, const RotateOptions& options = {});

}  // namespace hocket

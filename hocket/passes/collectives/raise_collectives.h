#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// The later a transfer starts, the less work is left to hide it, and a source calls its
/// collectives in the order of parameters rather than in the order in which gradients become ready.
/// Puts each collective right behind the last of its operands, at the front when these are inputs;
/// the cheap one-operand nodes in front of it, the division or view, come along. Starting earlier
/// changes no value. Collectives that ranks with another graph take part in keep their order, and
/// none passes a barrier of its group. O(nodes).
void expedite_collectives(Graph& g, const NoOptions& options);

/// The same, but collectives of one group keep their order: each starts as early as its operands
/// and the one before it allow. For what stands in a chosen order already. O(nodes).
void raise_collectives(Graph& g, const NoOptions& options);

}  // namespace hocket

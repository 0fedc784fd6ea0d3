#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Optimizers of a few small tensors each cost more in calls than in arithmetic, and a step that
/// was traced with one node per group of parameters hides that they are alike. Joins the optimizer
/// nodes that have the same op, attributes, operands beside their lists, delay and stage. The
/// joined node stands where the last of them stood, and what reads results of the others moves
/// behind it; no other node moves. No parameter sees another one's tensors, so that no bit changes.
///
/// Nodes are joined only when equally many optimizers lie on the longest way to each of them. Then
/// none depends on another one, and no two joined nodes on each other. O(nodes + operands), and a
/// logarithm for nodes that move.
void fuse_optimizer(Graph& g, const NoOptions& options);

}  // namespace hocket

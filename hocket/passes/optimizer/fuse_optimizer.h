#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Joins optimizers with equal hyper-parameters. An optimizer of a few small tensors costs more in
/// calls than in arithmetic, and a step traced with one node per parameter group has many of them.
///
///     %u1 = sgd(lr, [%p1], [%g1])         %u1, %u2 = sgd(lr, [%p1, %p2], [%g1, %g2])
///     %u2 = sgd(lr, [%p2], [%g2])    ->
///
/// Nodes are joined if they have the same op, attributes, operands outside of lists, delay and
/// stage. The joined node takes the place of the last of them, and readers of the others' results
/// move behind it; no other node moves. Updates of different parameters are independent, so that no
/// bit changes.
///
/// Nodes are joined only if the longest paths to them go through equally many optimizers. Then none
/// depends on another, and no two joined nodes depend on each other. O(nodes + operands), and a
/// logarithm for nodes that move.
void fuse_optimizer(Graph& g, const NoOptions& options);

}  // namespace hocket

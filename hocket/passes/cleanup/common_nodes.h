#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Common subexpression elimination: saves the computation, and the transfer, of values that are
/// computed twice. Two pure nodes with the same op, operands, attributes and delay have the same
/// value, so the first replaces the second. Collectives and waits are merged as well and keep the
/// smaller channel, unless ranks with another graph take part. Nodes with effects and `after` are
/// not merged.
///
///     %a = exp(%x)             %a = exp(%x)
///     %b = exp(%x)        ->
///     %c = neg(%a)             %c = neg(%a)
///     %d = neg(%b)             (readers of %d read %c)
///
/// Walks forward, so that readers of merged nodes can be merged in turn. O(nodes).
void common_nodes(Graph& g, const NoOptions& options);

}  // namespace hocket

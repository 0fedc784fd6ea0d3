#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Two nodes with the same op, operands, attributes and delay have the same value: the first one
/// serves both. Collectives and waits are merged, too, and keep the smaller channel, unless ranks
/// with another graph take part. Nodes with effects and `after` stay apart. Walks forward, so that
/// users of merged nodes can merge in turn. O(nodes).
void common_nodes(Graph& g, const NoOptions& options);

}  // namespace hocket

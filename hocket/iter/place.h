#pragma once
// Where rotated nodes go in the list.

#include <span>

#include "hocket/ir/graph.h"

namespace hocket {

/// Moves `block` before `place`, in the order given. Nodes that it reads and that stand after
/// `place` are moved, too; if `place` itself is one of them, the rest of the block goes after it.
/// No node outside of the block that stands before `place` may read the block. O(nodes moved and
/// their operands).
void place_block(Graph& g, std::span<const NodeId> block, NodeId place);

}  // namespace hocket

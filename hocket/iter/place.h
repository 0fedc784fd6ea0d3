#pragma once
// Moves rotated nodes to their place in the list.

#include <span>

#include "hocket/ir/graph.h"

namespace hocket {

/// Moves `block` before `place`, in the order given. Nodes that the block reads and that stand
/// after `place` are moved, too; if the block reads `place` itself, its readers go after it. No
/// node outside of the block that stands before `place` may read the block. O(nodes moved and their
/// operands).
void place_block(Graph& g, std::span<const NodeId> block, NodeId place);

}  // namespace hocket

#pragma once
// Where rotated nodes go in the list.

#include <span>

#include "hocket/ir/graph.h"

namespace hocket {

/// Moves `block` before `place`, in the order given. What it reads comes along where it stands
/// further back; where that is `place` itself, the rest of the block goes behind it. Nobody outside
/// the block reads it before `place`. O(nodes moved and their operands).
void place_block(Graph& g, std::span<const NodeId> block, NodeId place);

}  // namespace hocket

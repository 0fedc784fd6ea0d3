#pragma once
// Divisions around a bucket.

#include "hocket/ir/graph.h"

namespace hocket {

/// Moves the division by one constant that stands in front of every member of the bucket behind its
/// waits. True when it could; else a remark says why not. Bits change: sums are rounded elsewhere.
/// Nodes may be left in front of their operands (restore_order).
bool divide_after(Graph& g, NodeId bucket);

/// Divisions of members by equal constants become one node: those whose result only the bucket
/// reads, and those of what its waits bring. Bits stay the same. Nodes may be left in front of
/// their operands (restore_order). O(members and their uses).
void merge_divisions(Graph& g, NodeId bucket);

}  // namespace hocket

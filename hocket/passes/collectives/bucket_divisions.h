#pragma once
// Merges and moves the divisions before and after a bucket.

#include "hocket/ir/graph.h"

namespace hocket {

/// If every member of the bucket is divided by one constant before it, moves the division behind
/// the waits. Returns true if it could; otherwise a remark says why not. Bits change, since the sum
/// is rounded at another place. Nodes may be left in front of their operands (restore_order).
bool divide_after(Graph& g, NodeId bucket);

/// Merges divisions of members by equal constants into one node: those whose result only the bucket
/// reads, and those of the results of its waits. Bits stay the same. Nodes may be left in front of
/// their operands (restore_order). O(members and their uses).
void merge_divisions(Graph& g, NodeId bucket);

}  // namespace hocket

#pragma once

#include "hocket/ir/graph.h"

namespace hocket {

/// Puts a graph in order again after edits that made nodes read what is defined later. Such a node
/// is moved behind the last of its operands, and its readers behind it; all others stay where they
/// are. Among nodes moved to one place the old order is kept. The order that no operand tells
/// (fixed_order.h) is kept, and so are, where that is possible, all readers of a state in front of
/// the node that makes its next value, which can then take the state's place in memory.
/// InternalError when nodes read each other in a circle. O(nodes + uses), and a logarithm for each
/// node moved.
void restore_order(Graph& g);

}  // namespace hocket

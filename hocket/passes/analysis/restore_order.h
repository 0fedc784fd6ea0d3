#pragma once

#include "hocket/ir/graph.h"

namespace hocket {

/// Sorts a graph topologically, after edits that made nodes read values defined later. Such a node
/// is moved behind the last of its operands, and its readers behind it; all others stay where they
/// are. Nodes moved to one place keep their old order. All edges of Dependencies are respected
/// afterwards, and soft hold edges where possible. InternalError when the graph has a cycle.
/// O(nodes + uses), and a logarithm for each node moved.
void restore_order(Graph& g);

}  // namespace hocket

#pragma once
// Module paths for graphs whose source has none.

#include "hocket/ir/graph.h"

namespace hocket::frontend {

/// Gives a node the longest common prefix of the parameters that it reads, or whose gradient it
/// makes, without their last component. Near-linear.
void guess_paths(Graph& graph);

}  // namespace hocket::frontend

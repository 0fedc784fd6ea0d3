#pragma once
// Guesses module paths for graphs whose source has none.

#include "hocket/ir/graph.h"

namespace hocket::frontend {

/// Gives each node the longest common prefix of the names, without their last component, of the
/// parameters that it reads or whose gradient it computes. Near-linear.
void guess_paths(Graph& graph);

}  // namespace hocket::frontend

#pragma once
// Nodes as remarks and messages call them.

#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// The value's name as messages write it.
std::string shown(const Graph& g, Value v);
/// The name of a node's first result, or its op where it has none.
std::string shown(const Graph& g, NodeId n);

/// The modules that all paths are in: the longest common beginning in whole words.
std::string common_path(const Graph& g, const std::vector<NodeId>& nodes);

}  // namespace hocket

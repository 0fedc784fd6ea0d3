#pragma once
// Names of nodes and values for remarks and messages.

#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// The name of a value, as in `%x`.
std::string shown(const Graph& g, Value v);
/// The name of a node's first result, or of its op if it has no result.
std::string shown(const Graph& g, NodeId n);

/// The longest common prefix of the paths of all nodes, in whole words.
std::string common_path(const Graph& g, const std::vector<NodeId>& nodes);

}  // namespace hocket

#pragma once
// Copies of some nodes of a graph, in the same graph or another.

#include <span>
#include <unordered_map>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// What stands for a value of the source in the copy.
using ValueMap = std::unordered_map<Value, Value>;

/// Copies `nodes` of `from`, which must be in a topological order, to `at`. A value found in `map`
/// is replaced by its image: put a value there beforehand to substitute it; the results of the
/// copies are added. Other values stay as they are, which is an error when `from` is another graph.
/// Nodes keep names (made unique), attributes, path, delay, stage and region; a copied collective
/// gets a channel of its own. Returns the copies. O(nodes).
std::vector<NodeId> clone_nodes(const Graph& from, std::span<const NodeId> nodes, At at,
                                ValueMap& map);

/// True when nothing outside `nodes` but the return reads a result of theirs.
bool is_leaf_subgraph(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace hocket

#pragma once
// Copies nodes of a graph to the same or another graph.

#include <span>
#include <unordered_map>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Maps values of the source to values of the copy.
using ValueMap = std::unordered_map<Value, Value>;

/// Copies `nodes` of `from`, which must be in a topological order, to `at`. A value found in `map`
/// is replaced by its image: put a value there beforehand to substitute it; the results of the
/// copies are added. Other values stay as they are, which is an error when `from` is another graph.
/// Nodes keep names (made unique), attributes, path, delay, stage and region; a copied collective
/// gets a channel of its own. Returns the copies. O(nodes).
std::vector<NodeId> clone_nodes(const Graph& from, std::span<const NodeId> nodes, At at,
                                ValueMap& map);

/// Copies nodes of a verified graph to another graph of the same world, one by one. Bases of names
/// and paths are translated once, not once per node: a table of all of them is made at the first
/// copy. Neither graph may be assigned to meanwhile.
class Copier {
 public:
  Copier(const Graph& from, Graph& to);

  /// A node like `n` that reads `operands` and has `delay`, with its names (made unique), types,
  /// attributes (including the channel), stage, region and path (that of `at` when it has none).
  /// Types are inferred only where an operand has another one than the original's; Error when the
  /// op refuses it. O(1) amortised.
  NodeId copy(NodeId n, At at, std::span<const Value> operands, int delay);

 private:
  bool same_types(NodeId n, std::span<const Value> operands) const;
  std::uint32_t translated_path(std::uint32_t path);
  Name translated(Name name);

  const Graph& from_;
  Graph& to_;
  std::vector<std::uint32_t> paths_,
      bases_;  // by index in `from`: the index in `to`, plus 1; 0: not translated yet
};

/// True if only `nodes` themselves and the return read the results of `nodes`.
bool is_leaf_subgraph(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace hocket

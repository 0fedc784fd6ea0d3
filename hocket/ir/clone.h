#pragma once
// Copies of some nodes of a graph, in the same graph or another.

#include <span>
#include <unordered_map>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// What stands for a value of the source in the copy.
using ValueMap = std::unordered_map<Value, Value>;

/// Copies nodes one by one, from one graph to another or the same. What they share, the bases of
/// names and the modules, is looked up once and not for each.
class Copier {
 public:
  /// Whether a copied collective meets with the same ones or gets a channel of its own.
  enum class Channels : std::uint8_t { same, fresh };

  Copier(const Graph& from, Graph& to, Channels channels)
      : from_(from), to_(to), channels_(channels) {}

  /// A node like `n` that reads `operands`, with its names (made unique), types, attributes, path,
  /// stage and region. Throws Error when the op refuses the operands. O(1) amortised.
  NodeId copy(NodeId n, At at, std::span<const Value> operands, int delay);

 private:
  bool same_types(NodeId n, std::span<const Value> operands) const;
  std::uint32_t path(std::uint32_t of);
  Name name(Value of);

  const Graph& from_;
  Graph& to_;
  Channels channels_;
  std::vector<std::uint32_t> paths_, bases_;  // by those of `from`, one more than those of `to`
};

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

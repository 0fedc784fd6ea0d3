#pragma once

#include <functional>

#include "hocket/ir/graph.h"

namespace hocket {

struct DeadNodes {
  /// Nodes to keep although nobody reads them, beside those with effects.
  std::function<bool(const Graph&, NodeId)> keep = nullptr;
};

/// Nodes that nobody reads cost time and memory for nothing. Walks backwards, so that the operands
/// of an erased node are seen after it and one sweep is enough. A collective that ranks with
/// another graph take part in stays, with one wait: leaving it out here would leave them waiting.
/// Inputs stay. O(nodes).
void dead_nodes(Graph& g, const DeadNodes& options);

}  // namespace hocket

#pragma once

#include <functional>

#include "hocket/ir/graph.h"

namespace hocket {

struct DeadNodes {
  /// Nodes to keep although nobody reads them, beside those with effects.
  std::function<bool(const Graph&, NodeId)> keep = nullptr;
};

/// Dead code elimination: removes nodes whose results are not read. Walks backwards, so that one
/// sweep also removes what only removed nodes read. Effects and inputs stay. A collective that
/// ranks with another graph take part in stays, together with one wait: without it those ranks
/// would wait for ever.
///
///     %a = exp(%x)
///     %b = neg(%a)        ->
///     %c = relu(%x)            %c = relu(%x)
///     return %c                return %c
///
/// O(nodes).
void dead_nodes(Graph& g, const DeadNodes& options);

}  // namespace hocket

#pragma once

#include <functional>

#include "hocket/ir/graph.h"

namespace hocket {

struct DeadNodes {
  /// Further nodes to keep although no node reads them.
  std::function<bool(const Graph&, NodeId)> keep = nullptr;
};

/// Dead code elimination: removes nodes whose results are not read, which cost time and keep values
/// alive. One backward walk also removes nodes that only removed nodes read. Effects and inputs
/// stay. A collective that ranks with another graph take part in stays, together with one wait;
/// without it those ranks would wait for ever.
///
///     %a = exp(%x)
///     %b = neg(%a)        ->
///     %c = relu(%x)            %c = relu(%x)
///     return %c                return %c
///
/// O(nodes).
void dead_nodes(Graph& g, const DeadNodes& options);

}  // namespace hocket

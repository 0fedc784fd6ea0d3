#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/pass.h"

namespace hocket {

/// A wait placed early stalls for nothing. Walks backwards and moves each wait, and each cheap node
/// that reads one wait and constants alone (the division, view or cast behind it), down to its
/// first reader; readers were moved before, so that one sweep is enough. Waits that end in front of
/// one reader keep their order, each with what follows it. Waiting later changes no value. O(nodes
/// + uses).
void sink_waits(Graph& g, const NoOptions& options);

}  // namespace hocket

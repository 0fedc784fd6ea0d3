#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// A wait placed early stalls for nothing. Moves each wait, and each cheap node that reads one wait
/// and constants alone (the division, view or cast behind it), down to its first reader. Nodes that
/// follow a wait are moved before it is, so that one sweep is enough. Of several waits that end in
/// front of one reader, that of the collective started first comes first, with what follows it.
/// A wait for a state stays in front of what makes its next value. Waiting later changes no value.
/// O(nodes + uses + waits log waits).
void sink_waits(Graph& g, const NoOptions& options);

}  // namespace hocket

#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Moves each wait down to its first reader: a rank that waits earlier than it must is idle.
///
///     %h = all_reduce(%g)             %h = all_reduce(%g)
///     %r = wait(%h)                   %y = matmul(%x, %w)
///     %d = div(%r, %n)          ->    %r = wait(%h)
///     %y = matmul(%x, %w)             %d = div(%r, %n)
///     %z = add(%y, %d)                %z = add(%y, %d)
///
/// Cheap nodes that read one wait and constants (a division, a view, a cast) go with it. Nodes that
/// follow a wait are moved before it is, so that one sweep is enough. Of several waits in front of
/// one reader, the one whose collective was started first comes first, with the nodes that follow
/// it. A wait for a state in flight stays in front of the collective that makes its next value. No
/// value changes. O(nodes + uses + waits log waits).
void sink_waits(Graph& g, const NoOptions& options);

}  // namespace hocket

#pragma once

#include "hocket/ir/graph.h"

namespace hocket {

/// Divides optimizer work and state among the ranks of a data-parallel group, which saves time and
/// memory. Before, every rank updates every parameter and keeps all optimizer state. After, each
/// rank updates its piece of every parameter and keeps the state of that piece, and the pieces are
/// gathered:
///
///     %h = all_reduce(%g)                %h  = reduce_scatter(%g)       sum of this rank's piece
///     %r = wait(%h)                      %r  = wait(%h)
///     %p1, %m1 = sgd(%p, %r, %m)   ->    %q1, %m1 = sgd(shard(%p), %r, %m)
///                                        %k  = all_gather(%q1)          new parameter, whole
///                                        %p1 = wait(%k)
///
/// As many bytes are sent as by the all-reduce. Pieces are flat and padded with zeros to equal
/// lengths. Parameters stay whole between iterations; optimizer state becomes `shard(...)` inputs;
/// scalars such as step counts stay.
///
/// No bit changes: a sum runs over the ranks in the same order for every element, and all nodes on
/// the way to the new value work by element (plan_shards says which nodes do, and what else is
/// refused). Members of a bucket stay together, also in the gather, unless a new parameter is read
/// before the last of them is made. O(nodes + uses) for each group with all-reduces.
void shard_optimizer(Graph& g);

}  // namespace hocket

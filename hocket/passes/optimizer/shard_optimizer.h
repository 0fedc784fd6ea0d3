#pragma once

#include "hocket/ir/graph.h"

namespace hocket {

/// With data parallelism every rank does the whole update of every parameter and keeps all of the
/// optimizer's state. Instead, each rank can get the sum of its piece of a gradient (a
/// reduce-scatter), update its piece of the parameter with its piece of the state, and give the new
/// piece to all (an all-gather): as many bytes travel as in the all-reduce, and work and state are
/// divided by the ranks. Pieces are flat and padded with zeros to equal lengths; parameters stay
/// whole in their carry; state turns into `shard(...)` inputs, single numbers such as steps stay.
///
/// No bit changes: a sum runs over ranks in the same order for every element, and everything on the
/// way to the new value is by element (plan_shards says what is, and what else is refused). Members
/// of a bucket stay together, also in the gather, unless a new parameter is read before the last of
/// them is made. O(nodes + uses) for each group with all-reduces.
void shard_optimizer(Graph& g);

}  // namespace hocket

#pragma once
// State between a program as it came and one whose optimizer works on pieces.

#include <cstddef>
#include <string>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/ir/tensor.h"

namespace hocket {

/// A rank's piece, of this type, of what the ranks of the group hold together: padded with zeros.
Tensor piece_of(const Tensor& whole, const World& world, const std::string& group, std::size_t rank,
                const Type& type);

/// What the inputs of `program`, made from `source` by passes, get when those of `source` would get
/// these: this rank's piece, padded with zeros, where an input has become a shard, else the same
/// tensor, none where there is none. Inputs are known by their names, `%name`. A table may be for
/// more ranks than the world has when that has one: copies.
///
/// Error when ranks of a group start with different values where an input says that they are equal,
/// or where it has become a shard: each rank decides about its piece for all. O(bytes).
InputTables shard_state(const Program& source, const Program& program, const InputTables& tables);

/// The way back: what the inputs of `source` hold when those of `program` hold these. Pieces of all
/// ranks of the group are put together, without the padding. O(bytes).
InputTables unshard_state(const Program& source, const Program& program, const InputTables& tables);

}  // namespace hocket

#pragma once
// Converts state between a program and its version with a sharded optimizer.

#include <cstddef>
#include <string>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/ir/tensor.h"

namespace hocket {

/// A rank's piece, of this type, of a value that is sharded over the group; padded with zeros.
Tensor piece_of(const Tensor& whole, const World& world, const std::string& group, std::size_t rank,
                const Type& type);

/// Converts values for the inputs of `source` to values for those of `program`, which passes made
/// from it: the rank's piece, padded with zeros, where an input was sharded, otherwise the same
/// tensor (empty stays empty). Inputs are matched by their names, `%name`. For a world of one rank
/// there may be tables for several copies.
///
/// Error when ranks of a group have different values for an input that is marked as equal or was
/// sharded: each rank updates its piece for all. O(bytes).
InputTables shard_state(const Program& source, const Program& program, const InputTables& tables);

/// The inverse: values for the inputs of `source` from those of `program`. Joins the pieces of all
/// ranks of the group, without the padding. O(bytes).
InputTables unshard_state(const Program& source, const Program& program, const InputTables& tables);

}  // namespace hocket

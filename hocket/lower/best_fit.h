#pragma once
// Places blocks as an allocator would that runs beside the program.

#include "hocket/lower/lifetimes.h"
#include "hocket/lower/place_blocks.h"

namespace hocket {

/// Goes through time: a block takes the smallest gap that holds it, else bytes behind all others,
/// and gives them back when it ends. Wastes nothing when lifetimes nest or all sizes are equal.
/// `offsets` in the result is as long as `count`, the number of blocks of the caller. O(n).
Placement best_fit(const Lifetimes& blocks, std::size_t count);

}  // namespace hocket

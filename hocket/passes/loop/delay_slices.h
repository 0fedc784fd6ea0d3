#pragma once
// Moves update slices into the next iteration.

#include <cstdint>
#include <vector>

#include "hocket/passes/loop/choose_delayed.h"
#include "hocket/passes/loop/update_slices.h"

namespace hocket {

/// A graph, its update slices, and which of them are delayed.
struct SlicedGraph {
  Graph* graph;
  std::vector<UpdateSlice> slices = {};
  std::vector<Delay> delays = {};          ///< by slice
  std::vector<std::uint32_t> needed = {};  ///< by slice: position of the first reader of its states

  bool moves(std::size_t slice) const { return delays[slice] != Delay::none; }
};

/// Delays slices by one iteration, and moves each in front of the first reader of what it updates:
///
///     before                        after
///     %y  = matmul(%x, %w)          %r  = wait(%late)        delay=1
///     ...                           %w1 = sgd(%w, %r)        delay=1
///     %h  = all_reduce(%g)          %y  = matmul(%x, %w1)
///     %r  = wait(%h)                ...
///     %w1 = sgd(%w, %r)             %h  = all_reduce(%g)
///     next %w = %w1                 next %w = %w1
///                                   next %late = %h          in flight over the boundary
///
/// With Delay::start the collective is delayed as well, and stands at the front of the body, behind
/// loop-invariant nodes. O(nodes log nodes).
void delay_slices(const SlicedGraph& sliced);

}  // namespace hocket

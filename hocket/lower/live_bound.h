#pragma once
// How small an arena could be at best: a bound to judge the memory plan by.

#include <cstdint>

#include "hocket/codegen/backend.h"
#include "hocket/ir/program.h"

namespace hocket {

/// The largest sum of bytes that are alive at one instant of a phase of this graph of a program, in
/// the order of the list, in any plan that lowering could make: never more than the arena. State,
/// values in flight over a boundary, and constants of the table count always; an all-reduce with
/// several members counts as one piece, from the first write of a member to the last read; a result
/// that may take the bytes of a dying operand does, and whatever may lie where a state does, does
/// so while there is room; views, and waits, cost nothing unless they must be copied. Sizes are
/// multiples of plan_alignment. Computed from the steps of the phases, apart from the code that
/// plans memory. Nearly O(n) in the nodes of all phases.
std::int64_t live_bytes_bound(const Program& program, std::size_t graph, Backend* backend);

}  // namespace hocket

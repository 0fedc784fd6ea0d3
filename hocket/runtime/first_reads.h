#pragma once
// Which instructions read what a transfer has brought: for the arrows of a trace.

#include <cstdint>
#include <vector>

#include "hocket/plan/plan.h"

namespace hocket {

/// By instruction of a phase: the transfer of which it is the first to read a result, or -1.
/// O(n log n) in the locations of the phase, and O(instructions) of the others.
std::vector<std::int64_t> first_reads(const Plan& plan, const PlanGraph& graph,
                                      const PlanPhase& phase);

}  // namespace hocket

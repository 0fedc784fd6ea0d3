#include "hocket/plan/plan.h"

#include "hocket/base/error.h"

namespace hocket {

std::size_t Plan::phase_index(Window window) const {
  const std::vector<PlanPhase>& phases = graphs.at(0).phases;
  for (std::size_t i = 0; i < phases.size(); ++i)
    if (phases[i].window == window) return i;
  fail("the plan has no phase for delays {} to {} and turn {}", window.lo, window.hi, window.turn);
}

}  // namespace hocket

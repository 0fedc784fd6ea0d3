#pragma once
// Plans that are simple to make and follow all rules, for tests of what reads, writes and checks
// plans.

#include "hocket/plan/plan.h"
#include "support/random.h"

namespace hocket::testing {

/// Every value has bytes of its own; one kernel for each node, and composites are left to made-up
/// backends. Layouts, workspaces, results in place and transfers that cross phases are drawn at
/// random. Such a plan is valid, but cannot be executed.
Plan naive_plan(const Program& program, Random& random);

/// The same plan with its tables in another order, and with entries that nothing uses.
Plan shuffled(const Plan& plan, Random& random);

}  // namespace hocket::testing

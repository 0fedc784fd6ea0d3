#pragma once
// The rules that make a plan safe to execute. Each has a name, with which its message ends.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hocket/ir/verify.h"
#include "hocket/plan/plan.h"

namespace hocket {

/// All rules, in the order in which they are checked, for documents and for the test that each is
/// tested.
std::span<const Rule> plan_rules();

struct PlanViolation {
  std::string_view rule;
  std::string message;
  // What is at fault, as far as it is one of these.
  std::optional<std::size_t> graph = {}, home = {}, phase = {}, instruction = {};
};

/// The first broken rule. The programs must be verified. Near-linear in the plan.
///
/// A plan without a violation can do no harm to memory, whatever text it was read from: all that an
/// instruction reads and writes lies in the arena, has the type that its op was made for, and is
/// written by one instruction or transfer at a time. Whoever prepares the kernels must still
/// compare what only they know: the layouts of their ports, the size of their workspace, and which
/// operands they may overwrite.
///
/// Not proved, so that results may still be wrong, or ranks wait for each other in vain:
/// - that every byte is written before it is read, and is still what it was when it is read;
/// - that the operands of a transfer keep their values until its wait;
/// - that what is computed is what the program means;
/// - that ranks start matching collectives in compatible orders.
std::optional<PlanViolation> find_violation(const Plan& plan);

/// The rule `form` only, without which a plan cannot even be printed.
std::optional<PlanViolation> find_form_violation(const Plan& plan);

/// `graph step, phase steady, f32[4] @0 = neg(f32[4] @64): what is wrong [rule]`.
std::string describe(const Plan& plan, const PlanViolation& violation);

/// Throws Error for the first violation.
void verify_plan(const Plan& plan);

}  // namespace hocket

#include "hocket/check/check.h"

#include <fmt/core.h>

#include "hocket/base/text.h"
#include "hocket/check/parts.h"
#include "hocket/plan/plan_text.h"

namespace hocket {
namespace {

constexpr Rule rules[] = {
    {"written",
     "Every byte that is read was written before on the same rank: in the same phase, or in an "
     "earlier one where it is part of a home or of a carried transfer."},
    {"torn",
     "A value is read whole: no part of it was overwritten by a value that lies across its "
     "bounds."},
    {"in-flight",
     "From the start of a transfer to its wait nothing else writes its operands, and nothing else "
     "touches its results."},
    {"waits",
     "A transfer is in flight where it is waited for, and not in flight where it is started. Each "
     "one is waited for before the phase ends, a carried one before the run has ended."},
    {"homes",
     "At the end of a phase every state with an initial value is in its home, unless a transfer in "
     "flight writes there."},
    {"matching",
     "The calls that ranks start in a group, or between a pair of ranks, are the same in number, "
     "order, channel, kind, reduction, root and sizes, in every kernel iteration."},
    {"deadlock",
     "No rank waits for a call of a rank that waits for it, directly or through others."},
    {"launch-order",
     "Where a transport completes all transfers of a rank in the order of their starts, ranks that "
     "share two transfers start them in one order, directly or through others."},
};

}  // namespace

std::span<const Rule> safety_rules() { return rules; }

std::optional<Refutation> find_unsafe(const Plan& plan, LaunchOrder order) {
  for (std::size_t g = 0; g < plan.graphs.size(); ++g)
    if (auto f = check::find_in_memory(plan, g)) return f;
  return check::find_between_ranks(plan, order);
}

namespace check {

Range range_of(const Plan& plan, const Location& l) {
  auto [low, high] = plan.layouts[l.layout].bounds();
  std::int64_t size = bytes(plan.types[l.type].dtype);
  return {l.offset + low * size, l.offset + (high + 1) * size};
}

const Instruction& at(const Plan& plan, Place p) {
  return plan.graphs[p.graph].phases[p.phase].instructions[p.instruction];
}

std::string text_of(const Plan& plan, Place p) {
  return fmt::format("{}: {}", window_name(plan.shape, plan.graphs[p.graph].phases[p.phase].window),
                     shortened(instruction_text(plan, p.graph, p.phase, at(plan, p))));
}

std::string graph_text(const Plan& plan, std::size_t graph) {
  return fmt::format("graph {}", plan.program.graphs[graph].name());
}

}  // namespace check
}  // namespace hocket

#include "hocket/plan/verify_plan.h"

#include <iterator>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_parts.h"

namespace hocket {
namespace {

constexpr Rule first_rules[] = {
    {"form",
     "An instruction has the operands, results, attributes and lane of its kind, and every index "
     "is "
     "inside its table."},
    {"words",
     "Backends have names, the first of them `reference`. A label has an op and the name of a "
     "value, or none."},
    {"loop",
     "Depth and turns are those of the program. Every graph has a phase for each window that a run "
     "may need, no others, and all graphs have them in one order."},
    {"arena",
     "All bytes of a value lie inside the arena of its graph, which has at most 2^47 bytes."},
    {"alignment",
     "Offsets are multiples of the element, and of 64 for homes and members of transfers."},
};

constexpr Rule last_rules[] = {
    {"homes",
     "Every slot of a state has one home, of its type; a state in flight may have none. A home of "
     "a constant has its type. Homes do not overlap."},
    {"inputs", "An input is fed, not a state, once, not in a drain, and has its type."},
    {"outputs", "Every output that is due in the window is handed out once, and has its type."},
    {"carried",
     "A carried transfer is started in some phase, with the same results in all. In a run of any "
     "length it is in flight where it is waited for, not in flight where it is started, and ended "
     "when the run has ended."},
    {"in-flight", "From its start to its wait, nothing else touches what a transfer writes."},
    {"channels", "Starts of a phase have different channels, from 0 to 2^40."},
    {"transfers",
     "Every transfer that is not carried is started once in its phase, and waited for once behind "
     "its start; a barrier right behind it. A wait has results of its transfer."},
};

std::optional<PlanViolation> find_in_graph(const Plan& plan, std::size_t g) {
  PlanScope scope(plan, g);
  std::int64_t arena = scope.graph.arena_bytes;
  if (arena < 0 || arena > max_arena_bytes)
    return PlanViolation{"arena", fmt::format("{} bytes, wanted 0 to {}", arena, max_arena_bytes),
                         g};
  if (auto v = find_in_homes(scope)) return v;
  for (std::size_t p = 0; p < scope.graph.phases.size(); ++p)
    if (auto v = find_in_instructions(scope, p)) return v;
  if (auto v = find_in_interface(scope)) return v;
  return find_in_transfers(scope);
}

}  // namespace

std::span<const Rule> plan_rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> list(std::begin(first_rules), std::end(first_rules));
    for (const InstructionRule& rule : instruction_rules()) list.push_back(rule);
    list.insert(list.end(), std::begin(last_rules), std::end(last_rules));
    return list;
  }();
  return all;
}

std::optional<PlanViolation> find_violation(const Plan& plan) {
  if (auto v = find_form_violation(plan)) return v;
  if (auto v = find_in_words(plan)) return v;
  if (auto v = find_in_loop(plan)) return v;
  for (std::size_t g = 0; g < plan.graphs.size(); ++g)
    if (auto v = find_in_graph(plan, g)) return v;
  return std::nullopt;
}

std::string describe(const Plan& plan, const PlanViolation& v) {
  std::string where = "plan";
  if (v.graph) {
    const PlanGraph& graph = plan.graphs[*v.graph];
    where = fmt::format("graph {}", plan.program.graphs[*v.graph].name());
    if (v.home) where += fmt::format(", home {}", home_text(plan, *v.graph, graph.homes[*v.home]));
    if (v.phase)
      where += fmt::format(", phase {}", window_name(plan.shape, graph.phases[*v.phase].window));
    if (v.instruction && v.rule == "form")
      where += fmt::format(", instruction {}", *v.instruction);
    else if (v.instruction)
      where += fmt::format(
          ", {}", shortened(instruction_text(plan, *v.graph, *v.phase,
                                             graph.phases[*v.phase].instructions[*v.instruction])));
  }
  return fmt::format("{}: {} [{}]", where, v.message, v.rule);
}

void verify_plan(const Plan& plan) {
  if (auto v = find_violation(plan)) throw Error(describe(plan, *v));
}

}  // namespace hocket

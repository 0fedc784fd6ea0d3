#include "hocket/plan/verify_carried.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket {

CarriedTransfers::CarriedTransfers(const PlanScope& s)
    : s_(s),
      events_(s.graph.phases.size()),
      starts_(s.graph.carried_transfers),
      in_flight_at_begin_(s.graph.phases.size(), std::vector<bool>(s.graph.carried_transfers)) {}

PlanViolation CarriedTransfers::violation(std::size_t phase, std::size_t n,
                                          std::string message) const {
  return {"carried", std::move(message), s_.number, {}, phase, n};
}

std::optional<PlanViolation> CarriedTransfers::collect() {
  auto same_results = [&](const PlanPhase& a, const Instruction& x, const PlanPhase& b,
                          const Instruction& y) {
    return std::ranges::equal(
        a.results(x), b.results(y),
        [&](const Location& l, const Location& m) { return same_place(s_.plan, l, m); });
  };
  for (std::size_t p = 0; p < s_.graph.phases.size(); ++p) {
    const PlanPhase& phase = s_.graph.phases[p];
    phase_of_.emplace(phase.window, p);
    for (std::size_t n = 0; n < phase.instructions.size(); ++n) {
      const Instruction& i = phase.instructions[n];
      bool starts = i.kind == InstructionKind::start;
      if ((!starts && i.kind != InstructionKind::wait) || i.index >= starts_.size()) continue;
      events_[p].push_back({i.index, n, starts});
      if (!starts) continue;
      auto& [first_phase, first] = starts_[i.index];
      if (first == nullptr) {
        first_phase = &phase;
        first = &i;
      } else if (!same_results(*first_phase, *first, phase, i)) {
        return violation(p, n, fmt::format("transfer {} has other results elsewhere", i.index));
      }
    }
  }
  for (std::size_t t = 0; t < starts_.size(); ++t)
    if (starts_[t].second == nullptr)
      return PlanViolation{
          "carried", fmt::format("transfer {} is carried, but no phase starts it", t), s_.number};
  return std::nullopt;
}

std::optional<PlanViolation> CarriedTransfers::walk() {
  if (starts_.empty()) return std::nullopt;
  LoopShape shape = s_.plan.shape;
  std::vector<bool> now(starts_.size());
  for (int t = 0; t < shape.depth + 2 * shape.turns; ++t) {
    Window last = step_window(shape, t);
    if (auto v = run(last, now)) return v;
    std::vector<bool> drained = now;
    for (int j = 1; j <= shape.depth; ++j)
      if (auto v = run(last = drain_window(shape, t + 1, j), drained)) return v;
    auto left = std::ranges::find(drained, true);
    if (left != drained.end())
      return PlanViolation{"carried",
                           fmt::format("transfer {} is in flight when a run of {} has ended",
                                       left - drained.begin(), count_of(t + 1, "iteration")),
                           s_.number,
                           {},
                           phase_of_.at(last)};
  }
  return std::nullopt;
}

std::optional<PlanViolation> CarriedTransfers::run(Window window, std::vector<bool>& now) {
  std::size_t p = phase_of_.at(window);
  for (std::size_t t = 0; t < now.size(); ++t)
    if (now[t]) in_flight_at_begin_[p][t] = true;
  for (Event e : events_[p]) {
    if (now[e.transfer] == e.starts)
      return violation(p, e.instruction,
                       fmt::format("transfer {} is {} in flight in some run", e.transfer,
                                   e.starts ? "still" : "not"));
    now[e.transfer] = e.starts;
  }
  return std::nullopt;
}

}  // namespace hocket

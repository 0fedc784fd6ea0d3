#pragma once
// The rule about transfers that cross phases.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hocket/plan/verify_parts.h"

namespace hocket {

/// The starts and waits of the transfers of one graph that may cross phases.
class CarriedTransfers {
 public:
  explicit CarriedTransfers(const PlanScope& scope);

  /// Finds starts and waits. Must come first.
  std::optional<PlanViolation> collect();
  /// Follows a run through the prologue and twice through all turns, with a drain after every
  /// iteration. After that everything repeats.
  std::optional<PlanViolation> walk();

  /// By transfer: some run has it in flight when the phase begins.
  const std::vector<bool>& in_flight_at_begin(std::size_t phase) const {
    return in_flight_at_begin_[phase];
  }
  /// One of its starts, with the phase; all have the same results.
  std::pair<const PlanPhase*, const Instruction*> start(std::size_t transfer) const {
    return starts_[transfer];
  }

 private:
  struct Event {
    std::uint32_t transfer;
    std::size_t instruction;
    bool starts;
  };

  PlanViolation violation(std::size_t phase, std::size_t n, std::string message) const;
  std::optional<PlanViolation> run(Window window, std::vector<bool>& now);

  const PlanScope& s_;
  std::map<Window, std::size_t> phase_of_;
  std::vector<std::vector<Event>> events_;                               // by phase
  std::vector<std::pair<const PlanPhase*, const Instruction*>> starts_;  // by transfer
  std::vector<std::vector<bool>> in_flight_at_begin_;                    // by phase
};

}  // namespace hocket

#pragma once
// Whether a plan is safe to run: whatever the ranks' relative speeds, none of them waits in vain,
// and no byte is read before it is written or touched while a transfer uses it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/collective.h"
#include "hocket/ir/verify.h"
#include "hocket/plan/plan.h"

namespace hocket {

/// Why some run of a plan goes wrong.
struct Refutation {
  std::string_view rule;
  std::string message;               ///< one line, with the place
  std::vector<std::string> example;  ///< the instructions that meet, with ranks and phases
};

/// All rules that find_unsafe checks, for documents and for the test that each is tested.
std::span<const Rule> safety_rules();

/// The first reason why a run of some length may hang, race, or read what was not written; none if
/// every run is safe. `verify_plan` must have accepted the plan. Trusts nothing else: it looks at
/// the instructions, and not at how they were made. Ranks of one graph are checked once. O(n log n)
/// in the instructions of a phase, times the phases until bytes and transfers repeat.
std::optional<Refutation> find_unsafe(const Plan& plan, LaunchOrder order = LaunchOrder::per_group);

}  // namespace hocket

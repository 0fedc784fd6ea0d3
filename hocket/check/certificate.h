#pragma once
// What is known of a plan before it runs.

#include <optional>
#include <string>

#include "hocket/check/check.h"
#include "hocket/check/meaning.h"

namespace hocket {

struct Certificate {
  LaunchOrder order = LaunchOrder::per_group;
  std::optional<Refutation> unsafe;
  MeaningReport meaning;  ///< of a safe plan
  double seconds = 0;     ///< of both checks

  bool refuted() const { return unsafe || meaning.verdict == Verdict::different; }
  bool certified() const { return !unsafe && meaning.verdict == Verdict::same; }
};

/// Both checks: find_unsafe, and of a safe plan compare_meaning.
Certificate certify(const Plan& plan, LaunchOrder order = LaunchOrder::per_group);

/// What refutes the plan, one line, and below it the instructions that meet.
std::string refutation_text(const Certificate& certificate);

/// A plan of all ranks whose ranks follow a plan each, all for the same world: rank r is as in plan
/// r. For find_unsafe. Error when the plans do not fit together.
Plan one_per_rank(std::span<const Plan> plans);

}  // namespace hocket

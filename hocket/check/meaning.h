#pragma once
// Whether a plan computes what the program says that it was made from.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/plan/plan.h"

namespace hocket {

enum class Verdict : std::uint8_t {
  same,       ///< every output and every state is that of the source, bit for bit
  different,  ///< some value is computed from other values, or in another way
  undecided,  ///< some value is computed in a way that this check cannot compare
};

std::string_view name(Verdict verdict);

struct MeaningReport {
  Verdict verdict = Verdict::undecided;
  std::string message;  ///< unless it is the same: the value, and where it parts from the source
  /// What `same` takes for granted: `state %w starts equal on the ranks of group "dp"`.
  std::vector<std::string> assumptions;
};

/// Follows the plan and its source with terms in place of numbers, and compares the terms of all
/// outputs and states, in runs of any length. `find_unsafe` must have found nothing. Takes for
/// granted that equal kernels on equal operands give equal bits, and that a reduction over a group
/// has the same bits whatever it is bucketed with. O(n log n) in the instructions and nodes of the
/// phases of a short run.
MeaningReport compare_meaning(const Plan& plan);

}  // namespace hocket

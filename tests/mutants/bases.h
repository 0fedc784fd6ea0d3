#pragma once
// Small plans to make mistakes in.

#include <cstddef>
#include <optional>
#include <string>

#include "hocket/plan/plan.h"
#include "support/random.h"

namespace hocket::testing {

struct Base {
  std::string name;  ///< of the family, with the passes
  Plan plan;
};

/// A plan of a small random program; nothing when it came out large, or has no transfer and
/// `wants_transfers`.
std::optional<Base> random_base(Random& random, bool wants_transfers);

/// A program of one graph as one of several equal ones, a graph for each rank.
Program graph_for_each_rank(const Program& program);

}  // namespace hocket::testing

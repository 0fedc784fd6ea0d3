#pragma once
// Compares the results of two programs.

#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket::testing {

/// Empty when both programs give equal bits, otherwise the first difference. Compares outputs and
/// state after every iteration; the state in the form that it has in `a` (`b` may have sharded it).
/// Both programs get the same inputs.
std::string difference(const Program& a, const Program& b,
                       const std::vector<std::vector<Tensor>>& inputs, int iterations = 1);

}  // namespace hocket::testing

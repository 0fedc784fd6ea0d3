#pragma once
// Whether two programs mean the same.

#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket::testing {

/// Empty when both programs give equal bits, else what differs first: outputs of every iteration,
/// and the state behind it as `a` knows it, whatever pieces `b` keeps of it. All iterations are fed
/// the same.
std::string difference(const Program& a, const Program& b,
                       const std::vector<std::vector<Tensor>>& inputs, int iterations = 1);

}  // namespace hocket::testing

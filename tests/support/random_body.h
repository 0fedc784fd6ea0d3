#pragma once
// Random loop bodies whose nodes have delays, and the same loops without.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

struct RandomBody {
  Program plain;
  Program rotated;  ///< what it gives, delays and all, must be what `plain` gives
};

/// The delayed body is written down node by node, not made by `rotate`: nodes at delays of up to
/// three, handles and values carried over as many iterations, transfers whose results are waited
/// for apart, in different iterations or twice, readers that run ahead of an update, state that is
/// read late, outputs that lag, and nodes in any order that their operands allow.
RandomBody random_body(Random& random);

}  // namespace hocket::testing

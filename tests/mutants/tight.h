#pragma once
// Programs of few instructions in which ranks meet often.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

/// One to three ranks in one or two groups, one graph, or one for each of two ranks that also send
/// to each other. Few small tensors, with collectives in place and out of place, several in flight
/// at once, state and constants.
Program tight_program(Random& random);

}  // namespace hocket::testing

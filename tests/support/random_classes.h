#pragma once
// Random programs of several graphs, whose ranks meet in groups that cut across them.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

/// One graph per coordinate of the axis `pp`, two to four, any ops in each: they send to each other
/// (some are ready to receive long before), and meet in collectives of all of them.
Program random_stages(Random& random);

/// Ranks divided among graphs at random, on three to six ranks. What they have in common are
/// listed groups, made without regard to the graphs, which may leave ranks out.
Program random_classes(Random& random);

}  // namespace hocket::testing

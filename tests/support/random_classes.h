#pragma once
// Random programs of several graphs, with collectives between ranks of different graphs.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

/// One graph for each of the two to four coordinates of the axis `pp`. The graphs contain random
/// ops, send to each other (with some receives posted long before their sends), and share
/// collectives.
Program random_stages(Random& random);

/// Three to six ranks, divided among graphs at random. Graphs communicate over listed groups that
/// are drawn independently of the graphs and may leave ranks out.
Program random_classes(Random& random);

}  // namespace hocket::testing

#pragma once

#include <string_view>

#include "hocket/ir/program.h"

namespace hocket {

/// Rotates the collectives named in `%a+%b` by one iteration, with all that depends on them and
/// what serves that alone, in every graph that takes part; optimizers are cut for it. They go in
/// front of the node `before`, or, where a graph has no such node, where the dataflow says. When
/// `before` is `none`, they go in front of everything if ranks with different graphs would start
/// them in different orders otherwise. Error as cross_iteration says. O(nodes) for each graph.
void move_collectives(Program& program, std::string_view names, std::string_view before);

}  // namespace hocket

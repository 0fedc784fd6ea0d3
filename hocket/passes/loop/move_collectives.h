#pragma once

#include <string_view>

#include "hocket/ir/program.h"

namespace hocket {

/// Delays the collectives named in `%a+%b` by one iteration, with their update slices, in every
/// graph that takes part; optimizers are cut for it. They go in front of the node `before`; where a
/// graph has no such node, in front of their first reader. When `before` is `none`, they go to the
/// front of the body if ranks with different graphs would start them in different orders otherwise.
/// Error as cross_iteration says. O(nodes) for each graph.
void move_collectives(Program& program, std::string_view names, std::string_view before);

}  // namespace hocket

#pragma once

#include <string>

#include "hocket/plan/plan.h"

namespace hocket {

/// A picture of a graph's arena in one phase: instructions from left to right, addresses from
/// bottom to top, a box for each tensor. A box shows its name when the mouse is over it. Boxes too
/// small to be seen are left out.
std::string arena_svg(const Plan& plan, std::size_t graph, std::size_t phase);

}  // namespace hocket

#pragma once
// Programs of two graphs that may disagree about a common collective, which the parser would
// refuse.

#include <string_view>

#include "hocket/ir/program.h"

namespace hocket::testing {

/// A program for mesh(dp=2) with a graph for each rank, `(%x: f32[4]) { ... }` without its name.
/// Each graph is parsed alone, so that the rules between graphs are not checked.
Program two_graphs(std::string_view first, std::string_view second);

}  // namespace hocket::testing

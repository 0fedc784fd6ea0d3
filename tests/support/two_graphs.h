#pragma once
// Programs that the reader of texts refuses: two graphs that disagree about what they meet in.

#include <string_view>

#include "hocket/ir/program.h"

namespace hocket::testing {

/// A program for mesh(dp=2) with a graph for each rank, `(%x: f32[4]) { ... }` without its name.
/// Each is read by itself, so that the rules between graphs are not looked at.
Program two_graphs(std::string_view first, std::string_view second);

}  // namespace hocket::testing

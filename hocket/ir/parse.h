#pragma once
// The one parser of the language.

#include <span>
#include <string_view>

#include "hocket/ir/program.h"

namespace hocket {

/// A deeper nest of regions is an error.
inline constexpr int max_region_depth = 16;

/// Reads a program and verifies it. Errors read `line 7: what was found, what was wanted (column
/// 3)`. Time and memory are linear in the text.
Program parse(std::string_view text, std::span<const Op* const> ops);

}  // namespace hocket

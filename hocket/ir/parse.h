#pragma once
// The parser of the language.

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "hocket/ir/verify.h"

namespace hocket {

/// Regions that are nested deeper are an error.
inline constexpr int max_region_depth = 16;

/// A further check of a program, whose violations are reported with their place in the text.
using ProgramCheck = std::function<std::optional<ProgramViolation>(const Program&)>;

/// Reads a program, verifies it and checks it. Errors read `line 7: what was found, what was wanted
/// (column 3)`. Time and memory, besides those of the check, are linear in the text.
Program parse(std::string_view text, std::span<const Op* const> ops,
              const ProgramCheck& check = nullptr);

}  // namespace hocket

#pragma once
// Plans as text: docs/plan.md.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "hocket/plan/plan.h"

namespace hocket {

/// Canonical text: `parse_plan(to_text(p)) == p` for a plan that find_violation accepts, and
/// `to_text(parse_plan(s)) == s` for canonical s. Plans that are equal have one text. InternalError
/// when an index is outside its table.
std::string to_text(const Plan& plan);
/// An instruction of this graph and phase, without a line break. Indices must be inside tables.
std::string instruction_text(const Plan& plan, std::size_t graph, std::size_t phase,
                             const Instruction& instruction);
/// `%w` or `constant "name"`, as in the line of the home.
std::string home_text(const Plan& plan, std::size_t graph, const Home& home);

/// Reads a plan and verifies it. Tables have their entries in the order in which they are used.
/// Constants have no values. Errors read `line 7: what was found, what was wanted (column 3)`. Time
/// and memory are near-linear in the text, besides those of verifying the plan.
Plan parse_plan(std::string_view text, std::span<const Op* const> ops);

}  // namespace hocket

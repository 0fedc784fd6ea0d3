#pragma once
// Whether the calls that ranks make in one collective agree.

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "hocket/check/parts.h"

namespace hocket::check {

/// Two calls as texts, as far as they differ: `all_reduce of f32[2]`, `all_reduce of f32[3]`.
using Difference = std::optional<std::pair<std::string, std::string>>;

/// Kind, channel, reduction, root, and the elements of all members. A send agrees with its recv.
Difference difference(const Plan& plan, Place a, Place b);

/// The first two of these calls of one all_to_all, in the order of the ranks of the group, of which
/// one sends other rows than the other receives: their indices. O(calls squared); none for other
/// kinds.
std::optional<std::pair<std::size_t, std::size_t>> wrong_rows(const Plan& plan,
                                                              std::span<const Place> calls);

}  // namespace hocket::check

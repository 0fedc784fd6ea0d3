#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// For every value, by index: do all ranks of a set of the group hold the same bits of it? They do
/// when it comes from constants, from state and from what collectives give to all of the set alike.
/// State counts as equal when what replaces it is equal; that it starts so, somebody else has to
/// see to. Fed inputs, pieces by rank and whatever depends on them differ. O(nodes + uses).
std::vector<bool> uniform_values(const Graph& g, std::string_view group);

/// The state that values come from, in this iteration or in earlier ones: they are equal on all
/// ranks if it starts equal. `uniform` is what uniform_values says, also of each of the values.
/// O(nodes + uses).
std::vector<Value> starts_behind(const Graph& g, std::string_view group,
                                 const std::vector<bool>& uniform, std::span<const Value> values);

}  // namespace hocket

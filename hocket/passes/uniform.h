#pragma once

#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// For every value, by index: do all ranks of a set of the group hold the same bits of it? They do
/// when it comes from constants, from state and from what collectives give to all of the set alike.
/// State counts as equal when it starts so, which the caller has to see to, and when what replaces
/// it is equal. Fed inputs, pieces by rank and whatever depends on them differ. O(nodes + uses).
std::vector<bool> uniform_values(const Graph& g, std::string_view group);

}  // namespace hocket

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// For every value, by index: do all ranks of a set of the group hold the same bits of it? They do
/// when it is computed from constants, from state, and from results of collectives that are the
/// same for all of the set. State counts as equal when its next value is equal; whether it is equal
/// at the start has to be checked elsewhere. Fed inputs, `rank`, pieces of sharded values, and
/// values that depend on them may differ. O(nodes + uses).
std::vector<bool> uniform_values(const Graph& g, std::string_view group);

/// The state that `values` are computed from, in this iteration or in earlier ones. They are equal
/// on all ranks if this state is equal at the start. `uniform` is the result of uniform_values,
/// true for each of the values. O(nodes + uses).
std::vector<Value> starts_behind(const Graph& g, std::string_view group,
                                 const std::vector<bool>& uniform, std::span<const Value> values);

}  // namespace hocket

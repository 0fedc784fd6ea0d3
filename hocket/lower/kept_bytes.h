#pragma once
// What must lie somewhere between phases: a part of live_bytes_bound.

#include <cstdint>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/iter/replaced_states.h"

namespace hocket {

/// A multiple of plan_alignment.
std::int64_t rounded(std::int64_t bytes);
inline std::int64_t rounded(const Type& type) { return rounded(type.ready().bytes()); }

/// The operands of a collective that have memory of their own while it is in flight over a
/// boundary: results do not overwrite them, and they are no state.
std::vector<Value> operands_apart(const Graph& g, const ReplacedStates& replaced, NodeId n);

/// The least bytes of states, of transfers over a boundary, and of constants. A state that a
/// transfer brings may lie where that arrives. O(graph).
std::int64_t kept_bytes(const Graph& body);

}  // namespace hocket

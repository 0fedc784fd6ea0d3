#pragma once
// What calls of different graphs must agree on to be one collective.

#include <optional>
#include <string>

#include "hocket/ir/verify.h"

namespace hocket {

/// What two calls disagree about, as `all_reduce of f32[2,6]` against `all_reduce of f32[3,4]`.
struct Mismatch {
  std::string first, second;
};

/// Looks at the op, then at its attributes, then at the types of the operands; of an all_to_all the
/// rows may differ. Of a send and its recv, what is sent is compared with what is received. None
/// when the calls agree.
std::optional<Mismatch> find_mismatch(const Graph& g, NodeId n, const Graph& other, NodeId m);

/// The first two calls of a program that meet and disagree. O(nodes, and ranks for each call in
/// common).
std::optional<ProgramViolation> find_mismatch(const Program& program);

}  // namespace hocket

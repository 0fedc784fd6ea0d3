#pragma once
// Compares the calls of one collective in different graphs.

#include <optional>
#include <string>

#include "hocket/ir/verify.h"

namespace hocket {

/// A difference between two calls, such as `all_reduce of f32[2,6]` and `all_reduce of f32[3,4]`.
struct Mismatch {
  std::string first, second;
};

/// Compares the op, then its attributes, then the types of the operands; the rows of an all_to_all
/// may differ. For a send and its recv, the type sent is compared with the type received. None when
/// the calls agree.
std::optional<Mismatch> find_mismatch(const Graph& g, NodeId n, const Graph& other, NodeId m);

/// The first two matching calls of a program that disagree. O(nodes, and ranks for each shared
/// call).
std::optional<ProgramViolation> find_mismatch(const Program& program);

}  // namespace hocket

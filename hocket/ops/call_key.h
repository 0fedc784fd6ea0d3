#pragma once
// Kinds of calls: what kernels and expansions are prepared for once.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "hocket/base/hash.h"
#include "hocket/ir/attribute.h"
#include "hocket/ir/type.h"

namespace hocket {

class World;

/// A call without its values.
struct KernelSpec {
  const Op& op;
  const Attributes& attributes;
  std::span<const Type> operands;
  std::span<const Type> results;
  const World& world;
  int rank = 0;  ///< of the program: for ops that depend on the rank

  template <class T>
  const T& attr(std::string_view name) const {
    return attribute<T>(op, attributes, name);
  }
};

/// Calls of one kind have equal keys, in any world and on any rank, and other calls others.
using CallKey = std::vector<std::int64_t>;

/// Replaces the key by that of a call: op, attributes, sizes of lists, types and, where the op
/// depends on the rank, its place in the group. O(size of these).
void write_key(CallKey& key, const KernelSpec& spec);

/// What is prepared for each kind of call.
template <class Prepared>
using ByCall = std::unordered_map<CallKey, Prepared, MixedHash>;

}  // namespace hocket

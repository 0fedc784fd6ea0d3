#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hocket/plan/plan.h"

namespace hocket {

/// Bytes that move although the program has no node for it: to a member of a collective, or from
/// one.
struct BucketCopy {
  std::string tensor;  ///< the node whose operand or result is copied
  std::string reason;
  std::int64_t bytes = 0;
};

/// Of one kernel iteration in the steady phase, the largest over its turns, and over the graphs.
/// Derived from the copy instructions that touch members and keep their layout: a change of layout
/// is what a kernel asks for. O(instructions).
std::vector<BucketCopy> bucket_copies(const Plan& plan);
std::int64_t total_bytes(std::span<const BucketCopy> copies);

}  // namespace hocket

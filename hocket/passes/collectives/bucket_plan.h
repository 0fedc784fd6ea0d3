#pragma once
// Which collectives go together.

#include <cstdint>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// A collective that may join others of its key.
struct BucketCandidate {
  NodeId node;
  std::uint32_t key = 0;     ///< members of a bucket have equal keys
  std::uint32_t stream = 0;  ///< several keys may share the small first bucket
  std::int64_t bytes = 0;
};

struct BucketLimits {
  std::int64_t first = 0;  ///< bytes that close the first bucket of a stream
  std::int64_t cap = 0;    ///< and all others
};

struct PlannedBucket {
  std::vector<NodeId> members;  ///< as they become ready; often just one
  std::int64_t bytes = 0;
  std::string why;  ///< it was closed
};

/// Fills buckets with candidates, given in list order, and returns them as they are closed.
///
/// The graph is walked as if it ran. A candidate joins the open bucket of its key when its operands
/// have been computed. A bucket is closed by the member with which it reaches its limit; only then
/// do its members start and can their readers be computed. Readers that stood earlier are computed
/// at that time, others where they stand. When nothing is left to compute, the next candidate of
/// the list depends on an open bucket, which is closed. A member that reaches the cap by itself
/// closes the bucket before it and stays alone.
///
/// So every operand of an open bucket depends on closed ones alone, and merging each bucket into
/// one collective cannot close a circle, directly or through other buckets. O(nodes + uses), and a
/// logarithm for each node that is computed later than it stands.
std::vector<PlannedBucket> plan_buckets(const Graph& g, const std::vector<BucketCandidate>& list,
                                        const BucketLimits& limits);

}  // namespace hocket

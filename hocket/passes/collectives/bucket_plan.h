#pragma once
// Decides which collectives are merged into one bucket.

#include <cstdint>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// A collective that may share a bucket with others of its key.
struct BucketCandidate {
  NodeId node;
  std::uint32_t key = 0;     ///< members of a bucket have equal keys
  std::uint32_t stream = 0;  ///< keys of one stream share one small first bucket
  std::int64_t bytes = 0;
};

struct BucketLimits {
  std::int64_t first = 0;  ///< bytes that close the first bucket of a stream
  std::int64_t cap = 0;    ///< bytes that close any other bucket
};

struct PlannedBucket {
  std::vector<NodeId> members;  ///< in the order in which they become ready; may be a single one
  std::int64_t bytes = 0;
  std::string why;  ///< the reason why it was closed
};

/// Assigns candidates, given in list order, to buckets, and returns the buckets in the order in
/// which they are closed.
///
/// The graph is walked as if it ran. A candidate joins the open bucket of its key when its operands
/// have been computed. The member with which a bucket reaches its limit closes it. Only then do its
/// members start, and only then can their readers be computed: readers that the walk has passed at
/// once, others where they stand. When nothing is left to compute, the next candidate of the list
/// depends on an open bucket, which is closed. A member that reaches the cap by itself closes the
/// open bucket of its key and forms a bucket alone.
///
/// So the operands of an open bucket depend on closed buckets alone, and merging each bucket into
/// one collective cannot close a cycle, directly or through other buckets. O(nodes + uses), and a
/// logarithm for each node that is computed later than it stands.
std::vector<PlannedBucket> plan_buckets(const Graph& g, const std::vector<BucketCandidate>& list,
                                        const BucketLimits& limits);

}  // namespace hocket

#pragma once

#include <string>

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

struct BucketCollectives {
  Bytes first{1 << 20};         ///< closes the first bucket: small, so that it starts early
  Bytes cap{25 << 20};          ///< closes all others
  std::string by = "kind";      ///< or `path`: members also come from one module
  std::string only = "all";     ///< or `gradients`
  std::string divide = "same";  ///< or `after`: divisions in front of a bucket go behind it
};

/// A transfer costs the same latency whatever its size, so that few large ones beat many small
/// ones. Merges collectives of equal op, attributes, dtype, delay and stage into one with several
/// members; plan_buckets says which, and why no circle arises. A bucket stands where the first of
/// its members stood, or behind the last of its operands where that is later. Its waits become one,
/// since a wait for one member waits for the transfer. Divisions by one constant, all in front of a
/// bucket or all behind it, become one `div_each`: no bit changes. An operand brought twice becomes
/// one member.
///
/// With `divide=after` a division in front of every member of a bucket is done once behind it; that
/// rounds elsewhere. Collectives that ranks with another graph take part in stay as they are.
/// O(nodes log nodes).
void bucket_collectives(Graph& g, const BucketCollectives& options);

}  // namespace hocket

#pragma once

#include <string>

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

struct BucketCollectives {
  Bytes first{1 << 20};         ///< closes the first bucket: small, so that it starts early
  Bytes cap{25 << 20};          ///< closes all others
  std::string by = "kind";      ///< or `path`: all members come from one module, too
  std::string only = "all";     ///< or `gradients`
  std::string divide = "same";  ///< or `after`: divisions in front of a bucket go behind it
};

/// Merges small collectives into buckets. Every transfer pays the latency of the link, so few large
/// transfers are faster than many small ones.
///
///     %h1 = all_reduce(%g1)            %h1, %h2 = all_reduce(%g1, %g2)
///     %r1 = wait(%h1)             ->   %r1, %r2 = wait(%h1, %h2)
///     %h2 = all_reduce(%g2)
///     %r2 = wait(%h2)
///
/// Members of a bucket have equal op, attributes, dtype, delay and stage. plan_buckets chooses them
/// and shows that no cycle arises. The bucket takes the place of its first member, or stands behind
/// the last of its operands where that is later. Its waits become one: waiting for one member means
/// waiting for the whole transfer. An operand that occurs twice is sent once. Divisions by one
/// constant, all in front of a bucket or all behind it, become one `div_each`, with the same bits.
///
/// With `divide=after` a division in front of every member is done once behind the bucket; that
/// rounds differently. Collectives that ranks with another graph take part in are not merged.
/// O(nodes log nodes).
void bucket_collectives(Graph& g, const BucketCollectives& options);

}  // namespace hocket

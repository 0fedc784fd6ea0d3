#include "hocket/passes/choose_delayed.h"

#include <algorithm>
#include <numeric>

namespace hocket {

std::vector<bool> choose_delayed(std::span<const BucketPlace> buckets, std::uint32_t length) {
  std::vector<bool> delayed(buckets.size());
  std::vector<std::size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return buckets[i].start; });
  double bytes = 0, first = length;
  for (const BucketPlace& b : buckets) {
    bytes += static_cast<double>(b.bytes);
    first = std::min<double>(first, b.start);
  }
  double nodes_per_byte = bytes > 0 ? (length - first) / bytes : 0, free = 0;
  for (std::size_t i : order) {
    const BucketPlace& b = buckets[i];
    free = std::max<double>(free, b.start) + static_cast<double>(b.bytes) * nodes_per_byte;
    delayed[i] = free > b.update && b.needed > length / least_part;
  }
  return delayed;
}

}  // namespace hocket

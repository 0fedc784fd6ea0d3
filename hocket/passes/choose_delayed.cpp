#include "hocket/passes/choose_delayed.h"

#include <algorithm>
#include <numeric>

namespace hocket {
namespace {

template <class Key>
std::vector<std::size_t> order_by(std::span<const BucketPlace> buckets, Key key) {
  std::vector<std::size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return key(buckets[i]); });
  return order;
}

}  // namespace

std::vector<Delay> choose_delayed(std::span<const BucketPlace> buckets, std::uint32_t length) {
  std::vector<Delay> delays(buckets.size(), Delay::none);
  double bytes = 0, first = length;
  for (const BucketPlace& b : buckets) {
    bytes += static_cast<double>(b.bytes);
    first = std::min<double>(first, b.start);
  }
  double per_byte = bytes > 0 ? length / bytes : 0;  // nodes
  auto time = [&](std::size_t i) { return static_cast<double>(buckets[i].bytes) * per_byte; };

  // Those that start in the next iteration go in the order in which they are needed, so each one
  // taken here goes in front of those taken before. `slack` is what the tightest of them has left.
  double surplus = bytes * per_byte - (length - first), slack = length;
  std::vector<std::size_t> by_need = order_by(buckets, [](const auto& b) { return b.needed; });
  for (auto i = by_need.rbegin(); i != by_need.rend() && surplus > 0; ++i) {
    double left = std::min<double>(buckets[*i].needed, slack) - time(*i);
    if (!buckets[*i].startable || left < 0) continue;
    delays[*i] = Delay::start;
    slack = left;
    surplus -= time(*i);
  }

  double free = 0;
  for (std::size_t i : order_by(buckets, [](const auto& b) { return b.start; })) {
    const BucketPlace& b = buckets[i];
    if (delays[i] == Delay::start) continue;
    free = std::max<double>(free, b.start) + time(i);
    if (free > b.update && b.needed > length / least_part) delays[i] = Delay::wait;
  }
  return delays;
}

}  // namespace hocket

#pragma once
// A hash for arbitrary integers that spreads multiples of a power of two over all buckets.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket {

inline std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ (x >> 33);
}

struct MixedHash {
  std::size_t operator()(std::uint64_t x) const { return mixed(x); }
  std::size_t operator()(const std::vector<std::int64_t>& list) const {
    std::uint64_t hash = list.size();
    for (std::int64_t v : list) hash = mixed(hash ^ static_cast<std::uint64_t>(v));
    return hash;
  }
};

}  // namespace hocket

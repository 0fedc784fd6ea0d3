#pragma once
// A hash for arbitrary integers that spreads multiples of a power of two over all buckets.

#include <cstddef>
#include <cstdint>

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
};

}  // namespace hocket

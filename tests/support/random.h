#pragma once
// Random numbers that are the same on every machine for the same seed.

#include <cstddef>
#include <random>

namespace hocket::testing {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

inline bool chance(Random& random, int percent) {
  return below(random, 100) < static_cast<std::size_t>(percent);
}

}  // namespace hocket::testing

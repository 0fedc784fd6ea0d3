#pragma once
// Philox 4x32-10: random bits as a function of a key and a counter.

#include <array>
#include <cstdint>

namespace hocket {

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Ten rounds on the counter under the key.
PhiloxBlock philox(PhiloxBlock counter, std::array<std::uint32_t, 2> key);

/// The block of element `index` of a draw with (seed, offset).
PhiloxBlock random_block(std::int64_t seed, std::int64_t offset, std::uint64_t index);

/// In [0, 1), with that many bits.
double unit_uniform(const PhiloxBlock& block, int bits);

/// Normally distributed, by the Box-Muller method. Log and cosine are computed here, so the bits
/// are the same on every machine.
double unit_normal(const PhiloxBlock& block);

}  // namespace hocket

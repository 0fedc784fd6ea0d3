#include "bench/fma.h"

#include <array>

namespace hocket::bench {
namespace {

using Vector [[gnu::vector_size(32)]] = float;
// Two units with a latency of four or five cycles need ten; more would not fit the registers.
constexpr int chains = 10;
constexpr int lanes = sizeof(Vector) / sizeof(float);

}  // namespace

std::int64_t multiply_add_flops() { return std::int64_t{2} * chains * lanes; }

float multiply_add(std::int64_t rounds) {
  std::array<Vector, chains> x{};
  Vector scale = Vector{} + 0.999F, step = Vector{} + 0.001F;
  for (std::int64_t i = 0; i < rounds; ++i)
    for (Vector& v : x) v = v * scale + step;
  float total = 0;
  for (const Vector& v : x) total += v[0];
  return total;
}

}  // namespace hocket::bench

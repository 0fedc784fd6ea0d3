#include "bench/kernels.h"

#include <array>

namespace hocket::bench {
namespace {

using Vector [[gnu::vector_size(32)]] = float;
// Two units with a latency of four or five cycles need ten chains; more would not fit into the
// registers.
constexpr int chains = 10;
constexpr int lanes = sizeof(Vector) / sizeof(float);

}  // namespace

std::int64_t multiply_add_flops() { return std::int64_t{2} * chains * lanes; }

float multiply_adds(std::int64_t rounds) {
  std::array<Vector, chains> x{};
  Vector scale = Vector{} + 0.999F, step = Vector{} + 0.001F;
  for (std::int64_t i = 0; i < rounds; ++i)
    for (Vector& v : x) v = v * scale + step;
  float total = 0;
  for (const Vector& v : x) total += v[0];
  return total;
}

std::int64_t integer_add_instructions() { return 18; }

std::uint64_t integer_adds(std::int64_t rounds) {
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  for (std::int64_t i = 0; i < rounds; ++i) {
    auto k = static_cast<std::uint64_t>(i);
    a += b ^ k;
    b += c ^ k;
    c += d ^ k;
    d += e ^ k;
    e += f ^ k;
    f += g ^ k;
    g += h ^ k;
    h += a ^ k;
    // Keeps the compiler from turning this into vector instructions.
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

}  // namespace hocket::bench

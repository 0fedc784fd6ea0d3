#include "hocket/ops/philox.h"

#include <cmath>

namespace hocket {

PhiloxBlock philox(PhiloxBlock c, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

PhiloxBlock random_block(std::int64_t seed, std::int64_t offset, std::uint64_t index) {
  auto s = static_cast<std::uint64_t>(seed), o = static_cast<std::uint64_t>(offset);
  auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  return philox({low(index), high(index), low(o), high(o)}, {low(s), high(s)});
}

double unit_uniform(const PhiloxBlock& block, int bits) {
  std::uint64_t word = (std::uint64_t{block[0]} << 32) | block[1];
  return std::ldexp(static_cast<double>(word >> (64 - bits)), -bits);
}

namespace {

// These functions use only + - * / and exponents, which every machine rounds alike.

/// log of x in (0, 1].
double plain_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // [0.5, 1)
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * 0.69314718055994530942;
}

/// cos(2 pi u) for u in [0, 1).
double plain_cosine(double u) {
  // By symmetry t in [0, 1/4] is enough, where a short series converges.
  double t = u > 0.5 ? 1 - u : u;  // cos(2 pi t), t in [0, 1/2]
  bool negative = t > 0.25;
  if (negative) t = 0.5 - t;  // t in [0, 1/4]
  double x = 6.28318530717958647693 * t, square = x * x, sum = 0;
  for (int k = 11; k >= 1; --k) sum = 1 - square / ((2 * k - 1) * (2 * k)) * (k == 11 ? 1 : sum);
  return negative ? -sum : sum;
}

}  // namespace

double unit_normal(const PhiloxBlock& block) {
  double u = unit_uniform(block, 53), v = unit_uniform({block[2], block[3], 0, 0}, 53);
  return std::sqrt(-2 * plain_log(1 - u)) * plain_cosine(v);
}

}  // namespace hocket

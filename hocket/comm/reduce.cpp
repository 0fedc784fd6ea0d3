#include "hocket/comm/reduce.h"

#include <algorithm>
#include <cstring>

#include "hocket/base/element.h"

namespace hocket::comm {
namespace {

template <Reduce reduce, class Sum>
Sum combine(Sum a, Sum b) {
  if constexpr (reduce == Reduce::min)
    return lesser_of(a, b);
  else if constexpr (reduce == Reduce::max)
    return greater_of(a, b);
  else if constexpr (reduce == Reduce::product)
    return element_product(a, b);
  else
    return element_sum(a, b);
}

template <Reduce reduce, class Sum>
Sum finished(Sum total, Sum ranks) {
  if constexpr (reduce == Reduce::avg) return total / ranks;
  return total;
}

/// The common case of two ranks, without an intermediate buffer. The pragma is valid because x and
/// y are either disjoint from a and b or equal to them.
template <Reduce reduce, class T>
[[gnu::always_inline]] inline void reduce_pair(const T* a, const T* b, T* x, T* y,
                                               std::int64_t count) {
  using Sum = Accumulate<T>;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    Sum total = combine<reduce>(static_cast<Sum>(load(a[i])), static_cast<Sum>(load(b[i])));
    x[i] = y[i] = store<T>(finished<reduce>(total, Sum(2)));
  }
}

/// Any number of operands and results, a block of elements at a time.
template <Reduce reduce, class T>
[[gnu::always_inline]] inline void reduce_blocks(std::span<const void* const> operands,
                                                 std::span<void* const> results,
                                                 std::int64_t count) {
  using Sum = Accumulate<T>;
  constexpr std::int64_t block = 512;
  Sum total[block];
  T rounded[block];
  for (std::int64_t first = 0; first < count; first += block) {
    std::int64_t n = std::min(block, count - first);
    const T* x = static_cast<const T*>(operands[0]) + first;
    for (std::int64_t i = 0; i < n; ++i) total[i] = static_cast<Sum>(load(x[i]));
    for (const void* operand : operands.subspan(1)) {
      x = static_cast<const T*>(operand) + first;
      for (std::int64_t i = 0; i < n; ++i)
        total[i] = combine<reduce>(total[i], static_cast<Sum>(load(x[i])));
    }
    for (std::int64_t i = 0; i < n; ++i)
      rounded[i] = store<T>(finished<reduce>(total[i], static_cast<Sum>(operands.size())));
    for (void* result : results)
      std::memcpy(static_cast<T*>(result) + first, rounded,
                  static_cast<std::size_t>(n) * sizeof(T));
  }
}

template <Reduce reduce, class T>
[[gnu::always_inline]] inline void reduce_any(std::span<const void* const> operands,
                                              std::span<void* const> results, std::int64_t count) {
  if (operands.size() == 2 && results.size() == 2)
    reduce_pair<reduce>(static_cast<const T*>(operands[0]), static_cast<const T*>(operands[1]),
                        static_cast<T*>(results[0]), static_cast<T*>(results[1]), count);
  else
    reduce_blocks<reduce, T>(operands, results, count);
}

// The same code, compiled for wider vectors. Multiplications and additions are not fused, so the
// bits are the same.
#ifdef __x86_64__
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;

template <Reduce reduce, class T>
[[gnu::target("avx2")]] void reduce_wide(std::span<const void* const> operands,
                                         std::span<void* const> results, std::int64_t count) {
  reduce_any<reduce, T>(operands, results, count);
}
#else
constexpr bool has_avx2 = false;

template <Reduce reduce, class T>
void reduce_wide(std::span<const void* const> operands, std::span<void* const> results,
                 std::int64_t count) {
  reduce_any<reduce, T>(operands, results, count);
}
#endif

template <Reduce reduce>
void reduce_as(DType dtype, std::span<const void* const> operands, std::span<void* const> results,
               std::int64_t count) {
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (has_avx2)
      reduce_wide<reduce, T>(operands, results, count);
    else
      reduce_any<reduce, T>(operands, results, count);
  });
}

}  // namespace

void reduce_elements(DType dtype, Reduce reduce, std::span<const void* const> operands,
                     std::span<void* const> results, std::int64_t count) {
  switch (reduce) {
    case Reduce::sum:
      return reduce_as<Reduce::sum>(dtype, operands, results, count);
    case Reduce::avg:
      return reduce_as<Reduce::avg>(dtype, operands, results, count);
    case Reduce::min:
      return reduce_as<Reduce::min>(dtype, operands, results, count);
    case Reduce::max:
      return reduce_as<Reduce::max>(dtype, operands, results, count);
    case Reduce::product:
      return reduce_as<Reduce::product>(dtype, operands, results, count);
  }
}

}  // namespace hocket::comm

#pragma once
// Sums in the accumulate dtype, for kernels that add to the elements of their result one by one.

#include <algorithm>
#include <span>

#include "hocket/base/element.h"
#include "hocket/ops/kernel.h"

namespace hocket::ops {

/// Zeros, one for each element of a row-major result: its own bytes where its dtype sums in itself,
/// else scratch, of which sums_scratch is the size.
template <class T>
std::span<Accumulate<T>> start_sums(KernelCall& c, const View& out) {
  std::int64_t count = out.type.elements();
  std::span<Accumulate<T>> sums;
  if constexpr (std::is_same_v<T, Accumulate<T>>)
    sums = {out.as<T>(), static_cast<std::size_t>(count)};
  else
    sums = c.scratch<Accumulate<T>>(count);
  std::ranges::fill(sums, Accumulate<T>{});
  return sums;
}

/// Rounds the sums into the result.
template <class T>
void store_sums(std::span<const Accumulate<T>> sums, const View& out) {
  if constexpr (!std::is_same_v<T, Accumulate<T>>)
    for (std::size_t i = 0; i < sums.size(); ++i) out.as<T>()[i] = store<T>(sums[i]);
}

inline std::int64_t sums_scratch(const InferCall& c) {
  const Type& out = c.written[0];
  DType wide = row(out.dtype).accumulate;
  return wide == out.dtype ? 0 : out.elements() * bytes(wide);
}

}  // namespace hocket::ops

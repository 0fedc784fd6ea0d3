#pragma once
// What each call must give, written as plainly as it can be.

#include <cmath>
#include <cstring>
#include <vector>

#include "hocket/base/element.h"
#include "hocket/comm/process_group.h"
#include "tests/comm/ranks.h"

namespace hocket::comm {

using Bytes = std::vector<std::byte>;

/// Random elements: floats small, with some infinities, NaNs and zeros, of both signs each.
inline Bytes random_elements(DType dtype, std::int64_t count, std::uint64_t seed) {
  Bytes out(static_cast<std::size_t>(count * bytes(dtype)));
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t bits = mix(seed + static_cast<std::uint64_t>(i) * 977);
      T value = store<T>(static_cast<std::int64_t>(bits));
      if (is_float(dtype)) {
        static const double odd[] = {0.0,       -0.0,         HUGE_VAL,
                                     -HUGE_VAL, std::nan(""), std::copysign(std::nan(""), -1.0)};
        double x = static_cast<double>(bits >> 11) * 0x1p-51 - 2;
        value = store<T>(bits % 64 < 6 ? odd[bits % 64] : x);
      }
      if (dtype == DType::boolean) value = store<T>(static_cast<std::int64_t>(bits & 1));
      std::memcpy(out.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
    }
  });
  return out;
}

/// All operands, element by element, in order. A NaN stays whatever follows.
inline Bytes reduced(DType dtype, Reduce reduce, const std::vector<Bytes>& operands) {
  Bytes out(operands[0].size());
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    for (std::size_t i = 0; i < out.size() / sizeof(T); ++i) {
      Sum total{};
      for (std::size_t r = 0; r < operands.size(); ++r) {
        T x;
        std::memcpy(&x, operands[r].data() + i * sizeof(T), sizeof(T));
        auto v = static_cast<Sum>(load(x));
        if (r == 0)
          total = v;
        else if (reduce == Reduce::min)
          total = lesser_of(total, v);
        else if (reduce == Reduce::max)
          total = greater_of(total, v);
        else if (total == total)
          total = reduce == Reduce::product ? wrapping_mul(total, v) : wrapping_add(total, v);
      }
      if (reduce == Reduce::avg) total = total / static_cast<Sum>(operands.size());
      T y = store<T>(total);
      std::memcpy(out.data() + i * sizeof(T), &y, sizeof(T));
    }
  });
  return out;
}

/// The result of rank `me`; all_to_all with equal shares.
inline Bytes expected(Kind kind, DType dtype, Reduce reduce, int root, std::size_t me,
                      const std::vector<Bytes>& operands) {
  std::size_t ranks = operands.size(), piece = operands[me].size() / ranks;
  auto slice = [&](const Bytes& b, std::size_t i) {
    auto at = b.begin() + static_cast<std::ptrdiff_t>(i * piece);
    return Bytes(at, at + static_cast<std::ptrdiff_t>(piece));
  };
  Bytes out;
  switch (kind) {
    case Kind::all_reduce:
      return reduced(dtype, reduce, operands);
    case Kind::reduce:
      return static_cast<int>(me) == root ? reduced(dtype, reduce, operands) : operands[me];
    case Kind::reduce_scatter:
      return slice(reduced(dtype, reduce, operands), me);
    case Kind::broadcast:
      return operands[static_cast<std::size_t>(root)];
    case Kind::all_gather:
      for (const Bytes& b : operands) out.insert(out.end(), b.begin(), b.end());
      return out;
    case Kind::all_to_all:
      for (const Bytes& b : operands) {
        Bytes part = slice(b, me);
        out.insert(out.end(), part.begin(), part.end());
      }
      return out;
    default:
      return operands[me];
  }
}

}  // namespace hocket::comm

#pragma once
// Elements in memory and in registers, for kernels that are written once for
// all dtypes.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "hocket/base/dtype.h"
#include "hocket/base/error.h"
#include "hocket/base/float16.h"

namespace hocket {

struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};
struct Boolean {
  std::uint8_t bits;
};

// From the dtype in memory to the compute dtype and back, rounding once.
template <class T>
auto load(T v) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return bf16_to_float(v.bits);
  else if constexpr (std::is_same_v<T, Float16>)
    return f16_to_float(v.bits);
  else if constexpr (std::is_same_v<T, Boolean>)
    return v.bits != 0;
  else
    return v;
}

/// Converts as C++ does, but is defined for every input. Integers wrap. A float loses its fraction,
/// and one that i64 cannot hold (NaN too) becomes the lowest i64, which then wraps.
template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    auto wide = v >= From(-0x1p63) && v < From(0x1p63) ? static_cast<std::int64_t>(v) : INT64_MIN;
    return static_cast<To>(wide);
  } else {
    return static_cast<To>(v);
  }
}

template <class T, class From>
T store(From v) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return {float_to_bf16(convert<float>(v))};
  else if constexpr (std::is_same_v<T, Float16>)
    return {float_to_f16(convert<float>(v))};
  else if constexpr (std::is_same_v<T, Boolean>)
    return {static_cast<std::uint8_t>(convert<bool>(v))};
  else
    return convert<T>(v);
}

template <class T>
struct Tag {
  using type = T;
};

/// Calls f with the memory type of a dtype: `visit(d, [&](auto tag) { using T =
/// typename decltype(tag)::type; })`.
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(Tag<double>{});
    case DType::f32:
      return f(Tag<float>{});
    case DType::bf16:
      return f(Tag<BFloat16>{});
    case DType::f16:
      return f(Tag<Float16>{});
    case DType::i64:
      return f(Tag<std::int64_t>{});
    case DType::i32:
      return f(Tag<std::int32_t>{});
    case DType::i16:
      return f(Tag<std::int16_t>{});
    case DType::i8:
      return f(Tag<std::int8_t>{});
    case DType::u8:
      return f(Tag<std::uint8_t>{});
    case DType::boolean:
      return f(Tag<Boolean>{});
  }
  internal_fail("a dtype out of range");
}

/// Like visit, for kernels that only move elements: f gets an unsigned integer
/// of the same size.
template <class F>
decltype(auto) visit_size(DType dtype, F&& f) {
  switch (bytes(dtype)) {
    case 8:
      return f(Tag<std::uint64_t>{});
    case 4:
      return f(Tag<std::uint32_t>{});
    case 2:
      return f(Tag<std::uint16_t>{});
    default:
      return f(Tag<std::uint8_t>{});
  }
}

/// The C++ type that a dtype computes (accumulates) in.
template <class T>
using Compute = decltype(load(T{}));
template <class T>
using Accumulate = std::conditional_t<std::is_integral_v<Compute<T>>, std::int64_t, Compute<T>>;

/// False for integers.
template <class T>
bool is_nan(T a) {
  return a != a;
}

// Integer arithmetic wraps; doing it unsigned keeps it defined.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class T>
T wrapping_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}
template <class T>
T wrapping_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

// Sums and products of elements, whose bits must not depend on the position of an element. Of two
// NaNs the result is the first one: for `a + b` alone the compiler may take either, and it may take
// another one in the vectorised part of a loop than in its remainder. The bits are selected as
// integers, since a selection between floats becomes a branch, which prevents vectorisation.
template <class T>
T first_if_nan(T a, T otherwise) {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  auto mask = static_cast<Word>(-static_cast<Word>(a != a));
  return std::bit_cast<T>((std::bit_cast<Word>(a) & mask) |
                          (std::bit_cast<Word>(otherwise) & ~mask));
}
template <class T>
T element_sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return first_if_nan(a, a + b);
  else
    return wrapping_add(a, b);
}
template <class T>
T element_product(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return first_if_nan(a, a * b);
  else
    return wrapping_mul(a, b);
}

// The larger (smaller) one; NaN if either is NaN.
template <class T>
T greater_of(T a, T b) {
  return a != a || a > b ? a : b;
}
template <class T>
T lesser_of(T a, T b) {
  return a != a || a < b ? a : b;
}

// Division rounded towards minus infinity, and its remainder; an integer divided by zero gives zero
// for both.
template <class T>
T floor_quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    // Computed from the remainder: a / b itself may round up to an integer that is too large.
    if (b == T(0)) return a / b;
    T left = std::fmod(a, b), q = (a - left) / b;
    if (left != T(0) && (left < T(0)) != (b < T(0))) q -= T(1);
    if (q == T(0)) return std::copysign(T(0), a / b);
    T whole = std::floor(q);
    return q - whole > T(0.5) ? whole + T(1) : whole;
  } else {
    if (b == T(0)) return T(0);
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return wrapping_sub(T(0), a);
    T q = static_cast<T>(a / b);
    return static_cast<T>(q * b != a && (a < T(0)) != (b < T(0)) ? q - 1 : q);
  }
}
template <class T>
T floor_remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    T r = std::fmod(a, b);
    return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
  } else {
    if (b == T(0)) return T(0);
    return wrapping_sub(a, wrapping_mul(floor_quotient(a, b), b));
  }
}

// Shifts by any distance; a negative one has the effect of one that is too large.
template <class T>
T shifted_left(T a, T by) {
  constexpr T width = sizeof(T) * 8;
  return by < T(0) || by >= width ? T(0)
                                  : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << by);
}
template <class T>
T shifted_right(T a, T by) {
  constexpr T width = sizeof(T) * 8;
  bool far = by < T(0) || by >= width;
  return far ? (a < T(0) ? static_cast<T>(-1) : T(0)) : static_cast<T>(a >> by);
}

}  // namespace hocket

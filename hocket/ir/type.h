#pragma once
// The type of a value: dtype, static shape, and whether it is still in flight.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hocket/base/dtype.h"
#include "hocket/base/small_vector.h"

namespace hocket {

using Shape = SmallVector<std::int64_t, 4>;

/// No tensor has more elements than this, so that sizes in bytes never overflow.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 56;
inline constexpr std::uint32_t max_dims = 64;

struct Type {
  DType dtype = DType::f32;
  bool pending = false;  ///< the result of a collective that only `wait` may read
  Shape shape;

  std::int64_t elements() const;
  std::int64_t bytes() const { return elements() * hocket::bytes(dtype); }
  /// The type of the same tensor after it has arrived.
  Type ready() const { return {dtype, false, shape}; }
  Type in_flight() const { return {dtype, true, shape}; }

  friend bool operator==(const Type&, const Type&) = default;
};

/// Product of the dimensions, or nothing when one is negative or the product is above max_elements.
std::optional<std::int64_t> count_elements(std::span<const std::int64_t> shape);

void append(std::string& out, const Type& type);
std::string to_text(const Type& type);
std::string dims_text(std::span<const std::int64_t> shape);

}  // namespace hocket

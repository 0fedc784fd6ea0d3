#include "hocket/base/dtype.h"

#include <array>
#include <cstddef>
#include <limits>

namespace hocket {
namespace {

template <class T>
constexpr std::int64_t low = std::numeric_limits<T>::min();
template <class T>
constexpr std::int64_t high = std::numeric_limits<T>::max();

using enum DTypeClass;
constexpr std::array<DTypeRow, 10> rows{{
    {"f64", 64, DType::f64, DType::f64, floating},
    {"f32", 32, DType::f32, DType::f32, floating},
    {"bf16", 16, DType::f32, DType::f32, floating},
    {"f16", 16, DType::f32, DType::f32, floating},
    {"i64", 64, DType::i64, DType::i64, integer, low<std::int64_t>, high<std::int64_t>},
    {"i32", 32, DType::i32, DType::i64, integer, low<std::int32_t>, high<std::int32_t>},
    {"i16", 16, DType::i16, DType::i64, integer, low<std::int16_t>, high<std::int16_t>},
    {"i8", 8, DType::i8, DType::i64, integer, low<std::int8_t>, high<std::int8_t>},
    {"u8", 8, DType::u8, DType::i64, integer, low<std::uint8_t>, high<std::uint8_t>},
    {"bool", 8, DType::boolean, DType::i64, DTypeClass::boolean, 0, 1},
}};

}  // namespace

const DTypeRow& row(DType dtype) { return rows[static_cast<std::size_t>(dtype)]; }

std::span<const DTypeRow> dtype_rows() { return rows; }

std::optional<DType> find_dtype(std::string_view name) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace hocket

#pragma once
// Element types, with a table of their properties.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hocket {

enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, i16, i8, u8, boolean };

enum class DTypeClass : std::uint8_t { floating, integer, boolean };

struct DTypeRow {
  std::string_view name;
  int bits;          ///< size of an element in memory; bool takes a byte
  DType compute;     ///< elementwise bodies run in this dtype and round once at the end
  DType accumulate;  ///< reductions and matrix products sum in this dtype
  DTypeClass kind;
  std::int64_t lowest = 0;  ///< range of the integers, and of bool
  std::int64_t highest = 0;
};

inline constexpr std::array<DTypeRow, 10> dtype_table{{
    {"f64", 64, DType::f64, DType::f64, DTypeClass::floating},
    {"f32", 32, DType::f32, DType::f32, DTypeClass::floating},
    {"bf16", 16, DType::f32, DType::f32, DTypeClass::floating},
    {"f16", 16, DType::f32, DType::f32, DTypeClass::floating},
    {"i64", 64, DType::i64, DType::i64, DTypeClass::integer, INT64_MIN, INT64_MAX},
    {"i32", 32, DType::i32, DType::i64, DTypeClass::integer, INT32_MIN, INT32_MAX},
    {"i16", 16, DType::i16, DType::i64, DTypeClass::integer, INT16_MIN, INT16_MAX},
    {"i8", 8, DType::i8, DType::i64, DTypeClass::integer, INT8_MIN, INT8_MAX},
    {"u8", 8, DType::u8, DType::i64, DTypeClass::integer, 0, UINT8_MAX},
    {"bool", 8, DType::boolean, DType::i64, DTypeClass::boolean, 0, 1},
}};
inline const DTypeRow& row(DType dtype) { return dtype_table[static_cast<std::size_t>(dtype)]; }
inline std::span<const DTypeRow> dtype_rows() { return dtype_table; }
std::optional<DType> find_dtype(std::string_view name);

inline std::string_view name(DType d) { return row(d).name; }
inline std::int64_t bytes(DType d) { return row(d).bits / 8; }
inline bool is_float(DType d) { return row(d).kind == DTypeClass::floating; }
inline bool is_integer(DType d) { return row(d).kind == DTypeClass::integer; }

}  // namespace hocket

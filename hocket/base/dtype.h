#pragma once
// Element types. Everything that depends on one reads its row.

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

const DTypeRow& row(DType dtype);
std::span<const DTypeRow> dtype_rows();
std::optional<DType> find_dtype(std::string_view name);

inline std::string_view name(DType d) { return row(d).name; }
inline std::int64_t bytes(DType d) { return row(d).bits / 8; }
inline bool is_float(DType d) { return row(d).kind == DTypeClass::floating; }
inline bool is_integer(DType d) { return row(d).kind == DTypeClass::integer; }

}  // namespace hocket

#include "hocket/base/dtype.h"

namespace hocket {

std::optional<DType> find_dtype(std::string_view name) {
  for (std::size_t i = 0; i < dtype_table.size(); ++i)
    if (dtype_table[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace hocket

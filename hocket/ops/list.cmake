# Writes the definition of ops::all() from the declarations in ops.h, in their order.
set(header ${CMAKE_CURRENT_SOURCE_DIR}/ops/ops.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(READ ${header} text)
string(REGEX MATCHALL "extern const Op [^;]+" declarations "${text}")
list(TRANSFORM declarations REPLACE "extern const Op|[ \n]" "")
list(JOIN declarations "," names)
string(REGEX REPLACE "([a-z0-9_]+)" "&\\1" addresses "${names}")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/all_ops.cpp @ONLY CONTENT [=[
#include "hocket/ops/ops.h"

namespace hocket::ops {

std::span<const Op* const> all() {
  static constexpr const Op* list[] = {@addresses@};
  return list;
}

}  // namespace hocket::ops
]=])
target_sources(hocket_ops PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/all_ops.cpp)

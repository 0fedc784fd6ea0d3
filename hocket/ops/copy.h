#pragma once
// Copies between layouts.

#include <cstddef>

#include "hocket/ops/layout.h"

namespace hocket {

/// Writes all elements of `from`, of 1, 2, 4 or 8 bytes each, one behind the other in the order of
/// its layout. Runs are copied or filled as a whole; where the inner strides of both sides differ,
/// small squares are turned at a time, so that each line of the cache is read once.
void copy_elements(std::byte* to, const std::byte* from, const Layout& layout,
                   std::int64_t element_bytes);

/// Some of them: `count`, from the one with this number on.
void copy_elements(std::byte* to, const std::byte* from, const Layout& layout,
                   std::int64_t element_bytes, std::int64_t begin, std::int64_t count);

}  // namespace hocket

#pragma once
// The arithmetic of reductions.

#include <cstdint>
#include <span>

#include "hocket/comm/process_group.h"

namespace hocket::comm {

/// Combines `count` elements of all operands, in order and in the accumulate dtype, rounds once and
/// writes the outcome to every result. A result may be the same memory as an operand, but must not
/// overlap one otherwise. Of two NaNs, the first is kept.
void reduce_elements(DType dtype, Reduce reduce, std::span<const void* const> operands,
                     std::span<void* const> results, std::int64_t count);

}  // namespace hocket::comm

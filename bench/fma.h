#pragma once
// The arithmetic of the sentinel, in a file of its own because it is compiled for this machine
// only.

#include <cstdint>

namespace hocket::bench {

/// Floating-point operations in one round of `multiply_add`.
std::int64_t multiply_add_flops();

/// Independent multiply-adds in registers, enough to keep the units of a core busy. The result is
/// of no interest, but must be used.
float multiply_add(std::int64_t rounds);

}  // namespace hocket::bench

#pragma once
// The arithmetic of the sentinel, in a file of its own because it is compiled for this machine
// only. What it returns is of no interest, but must be used.

#include <cstdint>

namespace hocket::bench {

/// Independent multiply-adds in vector registers, enough to keep the units of a core busy.
float multiply_adds(std::int64_t rounds);
/// Floating-point operations in one round.
std::int64_t multiply_add_flops();

/// Independent integer instructions, as many a cycle as the core can issue: what compilers are made
/// of. Another thread on the same physical core takes half of it and may leave the multiply-adds
/// alone.
std::uint64_t integer_adds(std::int64_t rounds);
/// Instructions in one round, about.
std::int64_t integer_add_instructions();

}  // namespace hocket::bench

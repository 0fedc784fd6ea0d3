#pragma once
// The arithmetic of the sentinel. It has a file of its own because it is compiled for the
// instruction set of this machine. Callers must use the returned values, so that the compiler keeps
// the work.

#include <cstdint>

namespace hocket::bench {

/// Independent multiply-adds in vector registers, enough to keep the units of a core busy.
float multiply_adds(std::int64_t rounds);
/// Floating-point operations in one round.
std::int64_t multiply_add_flops();

/// Independent integer instructions, as many per cycle as the core can issue, like the work of a
/// compiler. A thread on the same physical core halves their rate, but not always that of
/// multiply-adds.
std::uint64_t integer_adds(std::int64_t rounds);
/// Approximate number of instructions in one round.
std::int64_t integer_add_instructions();

}  // namespace hocket::bench

#pragma once
// Runs one step of a traced body on a block of elements.

#include <array>
#include <cstddef>

#include "hocket/base/element.h"
#include "hocket/ops/scalar.h"

namespace hocket {

/// The most elements of a block: so many that the choice of a step's loop costs little, so few that
/// the registers of a body stay in the first-level cache.
inline constexpr std::int64_t block_elements = 512;

/// Calls f with the type of the elements of a register of this dtype; bool is a C++ bool there.
template <class F>
void visit_register(DType dtype, F&& f) {
  visit(dtype, [&](auto tag) { f(Tag<Compute<typename decltype(tag)::type>>{}); });
}

/// Any step but an argument. `dtype` is that of its first operand; registers are blocks of
/// elements, and the result may be one of the operands.
void run_step(const ScalarStep& step, DType dtype, std::byte* result,
              const std::array<const std::byte*, 3>& operands, std::int64_t count);

}  // namespace hocket

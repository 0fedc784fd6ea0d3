#pragma once
// Runs elementwise ops by their bodies.

#include <cstddef>
#include <span>

#include "hocket/ops/layout.h"
#include "hocket/ops/scalar.h"

namespace hocket {

/// An operand of an elementwise op. `layout` has as many elements as the result, in the order in
/// which those of the result lie in memory (in_memory_order).
struct ElementwiseOperand {
  const std::byte* data = nullptr;
  Layout layout;
};

/// The body of an op, traced once for operands and a result of these dtypes.
class Elementwise {
 public:
  Elementwise(const Op& op, std::span<const Type> operands, const Type& result);

  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  /// Writes `elements` elements of the result, which is dense, in their order in memory. They may
  /// lie on the bytes of an operand of the same type and layout: every element is read before the
  /// one in its place is written. `scratch` is 64-byte aligned.
  void run(std::span<const ElementwiseOperand> operands, std::byte* result, std::int64_t elements,
           std::span<std::byte> scratch) const;

 private:
  ScalarProgram program_;
  std::vector<DType> operands_;  // as they are in memory
  DType result_;
  std::vector<std::int64_t> registers_;  // of each step, offsets in scratch
  std::int64_t stage_ = 0;               // elements on their way to a register
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace hocket

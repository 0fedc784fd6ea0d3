#pragma once
// Reference kernels on values in random layouts.

#include <functional>
#include <vector>

#include "hocket/codegen/backend.h"
#include "support/random.h"

namespace hocket::testing {

/// Every place of a layout, in row-major order of the elements. Slow and simple.
std::vector<std::int64_t> places_of(const Layout& layout);

/// A layout of a value of this shape, row-major at times. Its axes fit the dimensions or, rarely,
/// do not. Without `dense` it may have gaps and run backwards.
Layout random_layout(Random& random, const Shape& shape, bool dense);

/// A value somewhere in memory, with bytes around it and between its elements that nobody may
/// write.
class PlacedValue {
 public:
  /// Of unspecified elements.
  PlacedValue(const Type& type, Layout layout);
  PlacedValue(const Tensor& row_major, Layout layout);
  View view();
  ConstView read() { return {type_, layout_, view().data}; }
  Tensor row_major();
  /// Whether all other bytes are as they were.
  bool intact() const;

 private:
  Type type_;
  Layout layout_;
  std::vector<std::int64_t> places_;
  std::int64_t low_;
  Tensor bytes_;
};

/// Runs every node but composites by its reference kernel, on operands and results that lie as its
/// ports allow. InternalError when a kernel writes bytes that it must not.
class AnyLayout final : public Backend {
 public:
  /// `run` is given each bound kernel to run.
  explicit AnyLayout(std::uint64_t seed, bool only_row_major = false,
                     std::function<void(const Op&, BoundKernel&)> run = nullptr);
  std::string_view name() const override { return "any layout"; }
  std::string numerics() const override { return "any layout"; }
  std::shared_ptr<const Kernel> prepare(const KernelSpec& spec) override;

  int moved = 0;  ///< operands and results that were not row-major

 private:
  class Moved;
  Random random_;
  bool only_row_major_;
  std::function<void(const Op&, BoundKernel&)> run_;
};

}  // namespace hocket::testing

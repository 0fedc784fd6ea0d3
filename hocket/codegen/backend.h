#pragma once
// A faster way to run nodes than the plain kernels, which stay the measure of what is right.

#include <string>
#include <string_view>

#include "hocket/ops/kernel.h"

namespace hocket {

/// An object serves one thread at a time and keeps what it compiled for the next call; ranks that
/// are threads have one each, and those may run at once. Results are bits that depend on op,
/// attributes, types, operand bits and `numerics()` alone.
class Backend {
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual std::string_view name() const = 0;
  /// What else decides the bits: versions, instruction set, threads. One line for the plan.
  virtual std::string numerics() const = 0;
  /// Fills the results and returns true, or returns false and leaves the call to the plain kernel
  /// or, for a composite, to its expansion, whose nodes are offered in turn. The answer depends on
  /// op, attributes and types alone. Operands are only read.
  virtual bool run(KernelCall& call) = 0;

 protected:
  Backend() = default;
};

}  // namespace hocket

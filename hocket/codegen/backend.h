#pragma once
// A faster way to run nodes than the reference kernels, which define the correct results.

#include <string>
#include <string_view>

#include "hocket/ops/kernel.h"

namespace hocket {

/// An object serves one thread at a time and caches what it has compiled. Ranks that are threads
/// have one object each, and these may run at once. The bits of the results depend only on op,
/// attributes, types, operand bits and `numerics()`.
class Backend {
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual std::string_view name() const = 0;
  /// What else the bits depend on: versions, instruction set, threads. One line.
  virtual std::string numerics() const = 0;
  /// Fills the results and returns true, or returns false and leaves the call to the reference
  /// kernel or, for a composite, to its expansion, for whose nodes this is called in turn. Whether
  /// it returns true depends only on op, attributes and types. Operands are only read.
  virtual bool run(KernelCall& call) = 0;

 protected:
  Backend() = default;
};

}  // namespace hocket

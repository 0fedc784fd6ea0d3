#pragma once
// Kernels: how a node is run. A backend prepares a kernel for a node once; the kernel is then bound
// to addresses, and the bound kernel is run any number of times.
//
//     prepare(op, attributes, types)    once for each kind of call (call_key.h)
//     bind(addresses)                   once for each instruction of a plan
//     run()                             every step: no allocation, no look-up

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ops/call_key.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/layout.h"

namespace hocket {

/// What a kernel wants of one operand or result.
struct Port {
  /// The layout that it must have; not used where any will do.
  Layout layout;
  /// An operand may lie in any layout, a result in any dense one. Where the kernel cannot walk that
  /// one, a bound reference kernel has a row-major copy of its own.
  bool any = false;
};

/// A kernel with its operands, results and workspace, for the thread that bound it.
class BoundKernel {
 public:
  virtual ~BoundKernel() = default;
  BoundKernel(const BoundKernel&) = delete;
  BoundKernel& operator=(const BoundKernel&) = delete;
  /// Throws Error for operands that have no result, such as an index out of range.
  virtual void run() = 0;

 protected:
  BoundKernel() = default;
};

/// What a backend has prepared for a spec. It must not outlive its backend.
class Kernel {
 public:
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  std::vector<Port> operands, results;
  /// 64-byte aligned bytes that a run overwrites; not kept from one run to the next.
  std::int64_t workspace_bytes = 0;
  /// By result: the operands whose bytes it may take, when type and layout are the same. Such an
  /// operand is overwritten.
  std::vector<std::vector<std::uint32_t>> may_overwrite;

  /// Addresses have the alignment of their dtype at least; results do not overlap operands but as
  /// may_overwrite says. `workspace` has workspace_bytes; binding may write there, and nowhere
  /// else.
  virtual std::unique_ptr<BoundKernel> bind(std::span<const ConstView> operands,
                                            std::span<const View> results,
                                            std::span<std::byte> workspace) const = 0;

 protected:
  Kernel() = default;
};

/// An object serves one thread at a time and caches what it has prepared. Ranks that are threads
/// have one object each, and these may run at once. The bits of the results depend only on op,
/// attributes, types, operand bits and `numerics()`; never on layouts of `any` ports.
class Backend {
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual std::string_view name() const = 0;
  /// What else the bits depend on: versions, instruction set, threads. One line.
  virtual std::string numerics() const = 0;
  /// Null where it declines: then the reference kernel is used or, for a composite, its expansion,
  /// for whose nodes this is called in turn. Whether it declines depends only on op, attributes and
  /// types. Shared by all equal specs.
  virtual std::shared_ptr<const Kernel> prepare(const KernelSpec& spec) = 0;
  /// Copies the bits of a value of this dtype to a dense layout. Never null.
  virtual std::shared_ptr<const Kernel> prepare_copy(DType dtype, const Layout& from,
                                                     const Layout& to);

 protected:
  Backend() = default;
};

/// The kernel of an op that is neither a composite, a collective, a wait nor a call: its body, its
/// view or its reference kernel (ops). Threads may share it.
std::shared_ptr<const Kernel> prepare_reference(const KernelSpec& spec);

/// Reference kernels, prepared once for each kind of call. Serves any number of threads.
class ReferenceKernels {
 public:
  /// As prepare_reference.
  std::shared_ptr<const Kernel> prepare(const KernelSpec& spec);

 private:
  std::mutex mutex_;
  ByCall<std::shared_ptr<const Kernel>> prepared_;
};

}  // namespace hocket

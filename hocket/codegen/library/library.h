#pragma once
// Matrix products and convolutions by oneDNN.

#include <cstdint>
#include <memory>

#include "hocket/codegen/backend.h"

namespace hocket {

namespace library {
struct Engine;
}  // namespace library

/// Runs `matmul`, `conv` and the gradients of `conv`: f32, and bf16 where the processor has it.
/// Declines tensors without elements, other dtypes, and calls for which oneDNN has no fast
/// implementation. Matrix products are row-major, convolutions mostly in blocks of channels, as
/// fast as oneDNN has them; copies between the two are oneDNN's. To prepare a kernel costs 0.05 to
/// 0.4 ms, the first of a process some 15 ms; a run less than a microsecond on top of the
/// arithmetic.
class Library final : public Backend {
 public:
  /// `threads` is exact for every call and part of the numerics. With 1 no thread is made; with
  /// more, OpenMP makes and keeps them for the calling thread, and a process must not fork then.
  explicit Library(int threads = 1);
  ~Library() override;

  std::string_view name() const override { return "library"; }
  /// Such as `library: oneDNN 2.6.3, avx2, 1 thread`.
  std::string numerics() const override;
  std::shared_ptr<const Kernel> prepare(const KernelSpec& spec) override;
  std::shared_ptr<const Kernel> prepare_copy(DType dtype, const Layout& from,
                                             const Layout& to) override;

 private:
  template <class Prepare>
  std::shared_ptr<const Kernel> cached(std::string_view name, Prepare prepare);

  std::unique_ptr<library::Engine> engine_;
  /// Null for calls that oneDNN cannot run, so that it is queried only once.
  ByCall<std::shared_ptr<const Kernel>> prepared_;
  CallKey key_;  // of the call, or copy, at hand
};

}  // namespace hocket

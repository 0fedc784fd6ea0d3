#pragma once
// Matrix products and convolutions by oneDNN.

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "hocket/codegen/backend.h"

namespace hocket {

namespace library {
struct Engine;
class Prepared;
}  // namespace library

/// Runs `matmul`, `conv` and the gradients of `conv`: f32, and bf16 where the processor has it.
/// Declines tensors without elements, other dtypes, and calls for which oneDNN has no fast
/// implementation. A call costs about a microsecond on top of the arithmetic, the first of its kind
/// 0.05 to 0.4 ms, the first of a process some 15 ms.
class Library final : public Backend {
 public:
  /// `threads` is exact for every call and part of the numerics. With 1 no thread is made; with
  /// more, OpenMP makes and keeps them for the calling thread, and a process must not fork then.
  explicit Library(int threads = 1);
  ~Library() override;

  std::string_view name() const override { return "library"; }
  /// Such as `library: oneDNN 2.6.3, avx2, 1 thread`.
  std::string numerics() const override;
  bool run(KernelCall& call) override;

 private:
  /// A call without its values: op, attributes and types as numbers.
  using Key = std::vector<std::int64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  int threads_;
  Key key_;  // of the current call; a member to reuse its memory
  std::unique_ptr<library::Engine> engine_;
  /// Null for calls that oneDNN cannot run, so that it is queried only once.
  std::unordered_map<Key, std::unique_ptr<library::Prepared>, KeyHash> prepared_;
  Tensor workspace_;  // as large as the largest call needs; shared by all of them
};

}  // namespace hocket

#pragma once
// Whoever runs iterations of programs on ranks of a world.

#include <span>
#include <string>
#include <vector>

#include "hocket/codegen/reference/frame.h"

namespace hocket {

/// One object is for one loop: what is in flight between two steps stays with it, so that a
/// forwarded state in flight may be given and handed on as an empty tensor.
class Executor {
 public:
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// The ranks that are run here, ascending; others of the world may be run elsewhere. Inputs and
  /// results are in this order.
  virtual std::span<const int> ranks() const = 0;

  /// Says what the next step is, for traces: an iteration, or the `drain`th step behind it that
  /// does what is late. Otherwise steps are counted.
  virtual void announce(std::int64_t iteration, int drain) { (void)iteration, (void)drain; }

  /// One iteration of these ranks, each with a tensor for every input of its graph.
  virtual std::vector<RankResult> step(const Program& program,
                                       std::span<const std::vector<Tensor>> inputs) = 0;

 protected:
  Executor() = default;
};

/// What bits depend on besides the program, with this backend; null: the plain kernels.
inline std::string numerics_of(const Backend* backend) {
  return backend != nullptr ? backend->numerics() : "reference: plain kernels";
}

}  // namespace hocket

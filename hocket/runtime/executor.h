#pragma once
// Whoever runs iterations of programs on ranks of a world.

#include <span>
#include <string>
#include <vector>

#include "hocket/codegen/reference/frame.h"

namespace hocket {

/// What one step runs: a plain program, such as a phase of a loop.
struct StepProgram {
  const Program& program;
  /// By graph and input: the slot that keeps its value between steps, the same in all phases of a
  /// loop. Empty: input i has slot i.
  std::span<const std::vector<std::size_t>> slots = {};

  StepProgram(const Program& run) : program(run) {}  // NOLINT: a program is a step by itself
  StepProgram(const Program& run, std::span<const std::vector<std::size_t>> kept)
      : program(run), slots(kept) {}
  std::size_t slot(std::size_t graph, std::size_t input) const {
    return slots.empty() ? input : slots[graph][input];
  }
};

/// One object is for one loop: what is in flight between two steps stays with it, in the slot of
/// its input, so that a forwarded state in flight may be given and handed on as an empty tensor.
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
  virtual std::vector<RankResult> step(const StepProgram& what,
                                       std::span<const std::vector<Tensor>> inputs) = 0;

 protected:
  Executor() = default;
};

/// What bits depend on besides the program, with this backend; null: the plain kernels.
inline std::string numerics_of(const Backend* backend) {
  return backend != nullptr ? backend->numerics() : "reference: plain kernels";
}

}  // namespace hocket

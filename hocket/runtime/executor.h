#pragma once
// The interface for running iterations of programs on ranks of a world.

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

  StepProgram(const Program& run) : program(run) {}  // NOLINT: implicit
  StepProgram(const Program& run, std::span<const std::vector<std::size_t>> kept)
      : program(run), slots(kept) {}
  std::size_t slot(std::size_t graph, std::size_t input) const {
    return slots.empty() ? input : slots[graph][input];
  }
};

/// One object serves one loop. It keeps transfers in flight between two steps, in the slot of their
/// input, so forwarded state in flight may be passed and returned as an empty tensor.
class Executor {
 public:
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// The ranks that this object runs, ascending; others of the world may run elsewhere. Inputs and
  /// results are in this order.
  virtual std::span<const int> ranks() const = 0;

  /// Names the next step for traces: an iteration, or the `drain`th drain step after it. Without
  /// this call steps are counted.
  virtual void announce(std::int64_t iteration, int drain) { (void)iteration, (void)drain; }

  /// One iteration of these ranks, each with a tensor for every input of its graph.
  virtual std::vector<RankResult> step(const StepProgram& what,
                                       std::span<const std::vector<Tensor>> inputs) = 0;

 protected:
  Executor() = default;
};

/// What the bits depend on besides the program, with this backend; null: the reference kernels.
inline std::string numerics_of(const Backend* backend) {
  return backend != nullptr ? backend->numerics() : "reference: plain kernels";
}

}  // namespace hocket

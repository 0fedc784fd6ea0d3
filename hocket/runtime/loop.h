#pragma once
// A training loop: a body whose nodes may be delayed, run phase by phase.

#include <map>
#include <string>
#include <vector>

#include "hocket/iter/phases.h"
#include "hocket/runtime/executor.h"

namespace hocket {

/// Drives prologue, steady phase and drain. After a drain, outputs and state are bit for bit those
/// of the body without delays, run as many iterations; a loop without delays has nothing to drain.
class Loop {
 public:
  /// Values by name: `w` for the input `%w`.
  using Named = std::map<std::string, Tensor, std::less<>>;
  /// An output of an iteration, which comes later than its step where it lags.
  struct Produced {
    std::int64_t iteration = 0;
    int rank = 0;            ///< its number in the world
    std::size_t output = 0;  ///< index among the outputs of the rank's graph
    Tensor value;
  };

  /// `state` is what the first iteration starts from, by rank of the executor, as batches and
  /// results are. Program and executor must outlive this, and the program is fixed from now on: a
  /// step after an edit, such as one more rotation, is an error. Error when delays and forwarded
  /// state do not fit together.
  Loop(const Program& program, Executor& executor, std::vector<Named> state);

  /// One iteration, on a batch for each rank. How many will follow need not be known.
  std::vector<Produced> step(std::span<const Named> batch);
  /// Runs what is delayed, so that state() is whole. Steps may follow: they fill the loop again.
  std::vector<Produced> drain();
  /// The last drain: no step may follow.
  std::vector<Produced> finish();

  /// Of each rank. Error while work is delayed: drain first.
  const std::vector<Named>& state() const;
  /// Iterations so far.
  std::int64_t iterations() const { return begin_ + step_; }
  /// `prologue` or `steady`: of the step that comes next.
  std::string_view phase_name() const { return step_ < shape_.depth ? "prologue" : "steady"; }
  std::int64_t peak_bytes() const { return peak_; }

 private:
  void require_unchanged() const;
  const std::vector<int>& lags_of(int rank) const;
  const Program& phase_for(Window window);
  std::vector<Produced> kernel_iteration(std::int64_t t, Window window,
                                         std::span<const Named> batch);

  const Program& program_;
  std::vector<std::uint64_t> edits_;  // of the program's graphs, when this was made
  Executor& executor_;
  bool rotated_ = false;  // else phases are the program itself
  LoopShape shape_;
  std::map<const Graph*, std::vector<int>> lags_;  // of the outputs of the program's graphs
  std::map<Window, Program> phases_;
  std::vector<Named> state_, forwarded_;
  std::int64_t begin_ = 0;  // iterations before the last drain
  std::int64_t step_ = 0;   // iterations since
  std::int64_t peak_ = 0;
  bool finished_ = false;
};

}  // namespace hocket

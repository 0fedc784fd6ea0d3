#pragma once
// A training loop: a body whose nodes may be delayed, run phase by phase.

#include <span>
#include <string_view>
#include <vector>

#include "hocket/runtime/executor.h"

namespace hocket {

/// Drives prologue, steady phase and drain. After a drain, outputs and state are bit for bit those
/// of the body without delays after as many iterations. Without delays there is nothing to drain.
/// The executor's program is the body; see Executor for tables of values.
class Loop {
 public:
  /// An output that lags is returned by a later step than its iteration.
  using Produced = hocket::Produced;

  /// `state` is what the first iteration starts from. The executor must outlive this.
  Loop(Executor& executor, const InputTables& state);

  /// One iteration, on a batch for each rank. How many will follow need not be known. What is
  /// returned is valid until the next call; a tensor that somebody copied stays as it is.
  std::span<const Produced> step(const InputTables& batch);
  /// Runs the delayed nodes, so that state() is complete. Steps may follow, which fill the loop
  /// again.
  std::span<const Produced> drain();
  /// The last drain: no step may follow.
  std::span<const Produced> finish();

  /// Of each rank. Error before a drain if nodes are delayed.
  InputTables state() const;
  /// Iterations so far.
  std::int64_t iterations() const { return begin_ + step_; }
  /// `prologue` or `steady`, for the next step.
  std::string_view phase_name() const { return step_ < shape_.depth ? "prologue" : "steady"; }
  std::int64_t peak_bytes() const { return executor_.peak_bytes(); }

 private:
  std::span<Produced> kernel_iteration(std::int64_t t, Window window, const InputTables& batch);

  Executor& executor_;
  LoopShape shape_;
  std::vector<std::vector<int>> lags_;  // of outputs, by rank of the executor
  std::vector<Produced> drained_;
  std::int64_t begin_ = 0;  // iterations up to the last drain
  std::int64_t step_ = 0;   // iterations since
  bool finished_ = false;
};

}  // namespace hocket

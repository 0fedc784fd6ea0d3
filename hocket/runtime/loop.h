#pragma once
// A training loop: a body whose nodes may be delayed, run phase by phase.

#include <map>
#include <optional>
#include <vector>

#include "hocket/iter/phases.h"
#include "hocket/runtime/executor.h"

namespace hocket {

/// Drives prologue, steady phase and drain. After a drain, outputs and state are bit for bit those
/// of the body without delays after as many iterations. Without delays there is nothing to drain.
///
/// Tables of values are by rank of the executor, in its order, and by input of the rank's graph in
/// the program: of state, or of fed inputs. Other inputs are ignored and may be empty; a row may
/// leave out the forwarded state at its end.
class Loop {
 public:
  /// An output of an iteration; one that lags is returned by a later step.
  struct Produced {
    std::int64_t iteration = 0;
    int rank = 0;            ///< its number in the world
    std::size_t output = 0;  ///< index among the outputs of the rank's graph
    Tensor value;
  };

  /// `state` is what the first iteration starts from. Program and executor must outlive this, and
  /// the program must not change: a step after an edit, such as one more rotation, is an error.
  /// Error when delays and forwarded state do not fit together.
  Loop(const Program& program, Executor& executor, const InputTables& state);

  /// One iteration, on a batch for each rank. How many will follow need not be known.
  std::vector<Produced> step(const InputTables& batch);
  /// Runs the delayed nodes, so that state() is complete. Steps may follow, which fill the loop
  /// again.
  std::vector<Produced> drain();
  /// The last drain: no step may follow.
  std::vector<Produced> finish();

  /// Of each rank. Error before a drain if nodes are delayed.
  InputTables state() const;
  /// Iterations so far.
  std::int64_t iterations() const { return begin_ + step_; }
  /// `prologue` or `steady`, for the next step.
  std::string_view phase_name() const { return step_ < shape_.depth ? "prologue" : "steady"; }
  std::int64_t peak_bytes() const { return peak_; }

 private:
  /// What a kernel iteration runs. By graph and input of the phase: the input of the body that it
  /// stands for, and the slot that keeps it.
  struct Phase {
    std::optional<Program> derived;  // none: the program itself
    std::vector<std::vector<std::size_t>> inputs, slots;
  };

  void assign_slots();
  void require_table(const InputTables& table, std::string_view what) const;
  void require_unchanged() const;
  const Phase& phase_for(Window window);
  std::vector<Tensor> gather_inputs(const Phase& phase, std::size_t i, const InputTables& batch);
  std::vector<Produced> kernel_iteration(std::int64_t t, Window window, const InputTables& batch);

  const Program& program_;
  std::vector<std::uint64_t> edits_;  // of the program's graphs, when this was made
  Executor& executor_;
  bool rotated_ = false;  // otherwise the program is the only phase
  LoopShape shape_;
  std::vector<std::vector<int>> lags_;                // of outputs, by graph
  std::vector<std::vector<std::size_t>> first_slot_;  // by graph and input; last: their number
  std::map<Window, Phase> phases_;
  InputTables kept_;        // state by rank and slot
  std::int64_t begin_ = 0;  // iterations up to the last drain
  std::int64_t step_ = 0;   // iterations since
  std::int64_t peak_ = 0;
  bool finished_ = false;
};

}  // namespace hocket

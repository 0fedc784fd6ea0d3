#pragma once
// All ranks of a program in one thread, in turn, by the interpreter: the reference for ranks that
// run at once.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "hocket/ops/evaluate.h"
#include "hocket/runtime/executor.h"

namespace hocket {

/// Derives the graphs of a window when it is first asked for. There is no time in it, and no
/// memory plan: peak_bytes() is that of live tensors.
class InOrder final : public Executor {
 public:
  /// For a program of this many ranks, or this many copies of a program for one rank. Without a
  /// backend the reference kernels run everything. Error when delays and forwarded state do not fit
  /// together.
  InOrder(const Program& program, int ranks, std::unique_ptr<Backend> backend = nullptr);

  const Program& program() const override { return program_; }
  std::span<const int> ranks() const override { return ranks_; }
  void load(const InputTables& state) override;
  std::span<Produced> run(Window window, const InputTables& batch) override;
  InputTables state() const override;
  std::int64_t peak_bytes() const override { return peak_; }

 private:
  /// By graph and input of the phase: the input of the body that it stands for, and the slot that
  /// keeps it.
  struct Phase {
    std::optional<Program> derived;  // none: the program itself
    std::vector<std::vector<std::size_t>> inputs, slots;
    std::vector<std::vector<std::size_t>> outputs;  // by graph and output of the phase: of the body
  };

  const Phase& phase_for(Window window);
  std::vector<Tensor> gather_inputs(const Phase& phase, std::size_t i, const InputTables& batch);

  Program program_;
  std::vector<int> ranks_;
  std::unique_ptr<Backend> backend_;
  Evaluator evaluator_;                               // of all steps
  bool rotated_;                                      // otherwise the program is the only phase
  std::vector<std::vector<std::size_t>> first_slot_;  // by graph and input; last: their number
  std::map<Window, Phase> phases_;
  InputTables kept_;  // state by rank and slot
  std::vector<Produced> produced_;
  std::int64_t peak_ = 0;
};

}  // namespace hocket

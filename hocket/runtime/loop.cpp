#include "hocket/runtime/loop.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/iter/lags.h"

namespace hocket {

Loop::Loop(Executor& executor, const InputTables& state) : executor_(executor) {
  const Program& program = executor.program();
  bool rotated = std::ranges::any_of(program.graphs, is_rotated);
  if (rotated) shape_ = loop_shape(program);
  std::vector<std::vector<int>> lags;
  for (const Graph& g : program.graphs)
    lags.push_back(rotated ? output_lags(g) : std::vector<int>(g.outputs().size()));
  for (int rank : executor.ranks()) lags_.push_back(lags[program.graph_index(rank)]);
  executor_.load(state);
}

std::span<const Produced> Loop::step(const InputTables& batch) {
  if (finished_) fail("the loop is finished: no step may follow");
  drained_.clear();
  executor_.announce(begin_ + step_, 0);
  std::span<Produced> all = kernel_iteration(step_, step_window(shape_, step_), batch);
  ++step_;
  return all;
}

std::span<const Produced> Loop::drain() {
  drained_.clear();
  for (int j = 1; j <= shape_.depth && step_ > 0; ++j) {
    Window window = drain_window(shape_, step_, j);
    if (window.lo > window.hi) continue;
    executor_.announce(begin_ + step_ - 1, j);
    std::span<Produced> some = kernel_iteration(step_ - 1 + j, window, {});
    drained_.insert(drained_.end(), some.begin(), some.end());
  }
  begin_ += step_;
  step_ = 0;
  return drained_;
}

std::span<const Produced> Loop::finish() {
  std::span<const Produced> all = drain();
  finished_ = true;
  return all;
}

InputTables Loop::state() const {
  if (step_ > 0 && shape_.depth > 0) fail("the state of a loop with delayed work: drain it first");
  return executor_.state();
}

/// Runs kernel iteration t since the last drain.
std::span<Produced> Loop::kernel_iteration(std::int64_t t, Window window,
                                           const InputTables& batch) {
  std::span<Produced> all = executor_.run(window, batch);
  std::span<const int> ranks = executor_.ranks();
  std::size_t i = 0;
  for (Produced& p : all) {
    while (ranks[i] != p.rank) ++i;
    p.iteration = begin_ + t - lags_[i][p.output];
  }
  return all;
}

}  // namespace hocket

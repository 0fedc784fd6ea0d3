#include "hocket/runtime/loop.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"

namespace hocket {

Loop::Loop(const Program& program, Executor& executor, std::vector<Named> state)
    : program_(program), executor_(executor), state_(std::move(state)), forwarded_(state_.size()) {
  if (state_.size() != executor.ranks().size())
    fail("state for {}, wanted {}", count_of(std::ssize(state_), "rank"), executor.ranks().size());
  for (const Graph& g : program.graphs) {
    edits_.push_back(g.edits());
    lags_.emplace(&g, std::vector<int>(g.outputs().size()));
  }
  rotated_ = std::ranges::any_of(program.graphs, is_rotated);
  if (!rotated_) return;
  verify(program);  // phases take types and order from it as they are
  shape_ = loop_shape(program);
  check_seams(program);
  if (shape_ == LoopShape{}) return;
  for (auto& [graph, lags] : lags_) lags = output_lags(*graph);
}

void Loop::require_unchanged() const {
  if (!std::ranges::equal(program_.graphs, edits_, {}, &Graph::edits))
    fail("the program was edited after its loop was made: drain before, and make a new loop");
}

const std::vector<int>& Loop::lags_of(int rank) const { return lags_.at(&program_.graph_of(rank)); }

const Program& Loop::phase_for(Window window) {
  if (!rotated_) return program_;
  auto found = phases_.find(window);
  if (found == phases_.end()) found = phases_.emplace(window, phase(program_, window)).first;
  return found->second;
}

std::vector<Loop::Produced> Loop::step(std::span<const Named> batch) {
  if (finished_) fail("the loop is finished: no step may follow");
  require_unchanged();
  if (batch.size() != state_.size())
    fail("a batch for {}, wanted {}", count_of(std::ssize(batch), "rank"), state_.size());
  executor_.announce(begin_ + step_, 0);
  std::vector<Produced> all = kernel_iteration(step_, step_window(shape_, step_), batch);
  ++step_;
  return all;
}

std::vector<Loop::Produced> Loop::drain() {
  require_unchanged();
  std::vector<Produced> all;
  for (int j = 1; j <= shape_.depth && step_ > 0; ++j) {
    Window window = drain_window(shape_, step_, j);
    if (window.lo > window.hi) continue;
    executor_.announce(begin_ + step_ - 1, j);
    for (Produced& p : kernel_iteration(step_ - 1 + j, window, {})) all.push_back(std::move(p));
  }
  begin_ += step_;
  step_ = 0;
  return all;
}

std::vector<Loop::Produced> Loop::finish() {
  std::vector<Produced> all = drain();
  finished_ = true;
  return all;
}

const std::vector<Loop::Named>& Loop::state() const {
  if (step_ > 0 && shape_.depth > 0) fail("the state of a loop with delayed work: drain it first");
  return state_;
}

/// The kernel iteration t since the last drain.
std::vector<Loop::Produced> Loop::kernel_iteration(std::int64_t t, Window window,
                                                   std::span<const Named> batch) {
  const Program& program = phase_for(window);
  auto graph = [&](std::size_t r) -> const Graph& {
    return program.graph_of(executor_.ranks()[r]);
  };
  std::vector<std::vector<Tensor>> inputs(state_.size());
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    const Graph& g = graph(r);
    for (const Input& in : g.inputs()) {
      bool forwarded = is_forwarded(g, in.value);
      const Named& from = forwarded ? forwarded_[r] : in.state ? state_[r] : batch[r];
      auto found = from.find(g.name(in.value));
      // Forwarded state may be unread here, or in flight inside the executor.
      if (found == from.end() && !forwarded)
        fail("rank {}: no value for %{}", executor_.ranks()[r], g.name(in.value));
      inputs[r].push_back(found == from.end() ? Tensor{} : found->second);
    }
  }
  std::vector<RankResult> results = executor_.step(program, inputs);

  std::vector<Produced> all;
  for (std::size_t r = 0; r < results.size(); ++r) {
    const Graph& g = graph(r);
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      if (!in.state) continue;
      Named& table = is_forwarded(g, in.value) ? forwarded_[r] : state_[r];
      std::string name = g.name(in.value);
      if (results[r].state[i])
        table.insert_or_assign(std::move(name), std::move(results[r].state[i]));
      else
        table.erase(name);
    }
    peak_ = std::max(peak_, results[r].peak_bytes);
    const std::vector<int>& lags = lags_of(executor_.ranks()[r]);
    std::size_t seen = 0;
    for (std::size_t o = 0; o < lags.size(); ++o)
      if (window.lo <= lags[o] && lags[o] <= window.hi)
        all.push_back({begin_ + t - lags[o], executor_.ranks()[r], o,
                       std::move(results[r].outputs.at(seen++))});
  }
  return all;
}

}  // namespace hocket

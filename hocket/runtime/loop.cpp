#include "hocket/runtime/loop.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"

namespace hocket {

Loop::Loop(const Program& program, Executor& executor, const InputTables& state)
    : program_(program), executor_(executor) {
  require_table(state, "state");
  for (const Graph& g : program.graphs) {
    edits_.push_back(g.edits());
    lags_.emplace_back(g.outputs().size());
  }
  rotated_ = std::ranges::any_of(program.graphs, is_rotated);
  if (rotated_) {
    verify(program);  // phases take over its types and order
    shape_ = loop_shape(program);
    check_seams(program);
    if (shape_ != LoopShape{})
      for (std::size_t g = 0; g < lags_.size(); ++g) lags_[g] = output_lags(program.graphs[g]);
  }
  assign_slots();
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::size_t graph = program.graph_index(executor.ranks()[i]);
    const std::vector<std::size_t>& slots = first_slot_[graph];
    auto& kept = kept_.emplace_back(slots.back());
    auto inputs = program.graphs[graph].inputs();
    for (std::size_t k = 0; k < state[i].size(); ++k)
      if (inputs[k].state) kept[slots[k]] = state[i][k];
  }
}

/// One slot for each input, several for forwarded state that is kept for several iterations.
void Loop::assign_slots() {
  for (const Graph& g : program_.graphs) {
    auto& first = first_slot_.emplace_back(1, std::size_t{0});
    for (const Input& in : g.inputs()) {
      int slots = is_forwarded(g, in.value) ? in.slots : 1;
      first.push_back(first.back() + static_cast<std::size_t>(slots));
    }
  }
}

void Loop::require_table(const InputTables& table, std::string_view what) const {
  std::span<const int> ranks = executor_.ranks();
  if (table.size() != ranks.size())
    fail("{} for {}, wanted {}", what, count_of(std::ssize(table), "rank"), ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (auto most = program_.graph_of(ranks[i]).inputs().size(); table[i].size() > most)
      fail("rank {}: {} of {}, wanted at most {}", ranks[i], what,
           count_of(std::ssize(table[i]), "input"), most);
}

void Loop::require_unchanged() const {
  if (!std::ranges::equal(program_.graphs, edits_, {}, &Graph::edits))
    fail("the program was edited after its loop was made: drain before, and make a new loop");
}

const Loop::Phase& Loop::phase_for(Window window) {
  if (!rotated_) window = {};
  auto found = phases_.find(window);
  if (found != phases_.end()) return found->second;
  Phase made;
  if (rotated_) made.derived = phase(program_, window);
  for (std::size_t g = 0; g < program_.graphs.size(); ++g) {
    const Graph& body = program_.graphs[g];
    auto& inputs = made.inputs.emplace_back();
    auto& slots = made.slots.emplace_back();
    for (auto [input, slot] :
         phase_inputs(body, rotated_ ? made.derived->graphs[g] : body, window)) {
      inputs.push_back(input);
      slots.push_back(first_slot_[g][input] + static_cast<std::size_t>(slot));
    }
  }
  return phases_.emplace(window, std::move(made)).first->second;
}

std::vector<Loop::Produced> Loop::step(const InputTables& batch) {
  if (finished_) fail("the loop is finished: no step may follow");
  require_unchanged();
  require_table(batch, "a batch");
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

InputTables Loop::state() const {
  if (step_ > 0 && shape_.depth > 0) fail("the state of a loop with delayed work: drain it first");
  InputTables all;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    std::size_t graph = program_.graph_index(executor_.ranks()[i]);
    const Graph& g = program_.graphs[graph];
    auto& mine = all.emplace_back(g.inputs().size());
    for (std::size_t k = 0; k < mine.size(); ++k)
      if (!is_forwarded(g, g.inputs()[k].value)) mine[k] = kept_[i][first_slot_[graph][k]];
  }
  return all;
}

/// The inputs of the i-th rank.
std::vector<Tensor> Loop::gather_inputs(const Phase& phase, std::size_t i,
                                        const InputTables& batch) {
  const Program& program = phase.derived ? *phase.derived : program_;
  int rank = executor_.ranks()[i];
  std::size_t graph = program.graph_index(rank);
  const Graph& g = program.graphs[graph];
  std::vector<Tensor> inputs;
  for (std::size_t k = 0; k < g.inputs().size(); ++k) {
    const Input& in = g.inputs()[k];
    std::size_t input = phase.inputs[graph][k];
    Tensor value;
    if (in.state)
      value = kept_[i][phase.slots[graph][k]];
    else if (input < batch.at(i).size())
      value = batch[i][input];
    // Forwarded state may have no reader in this phase, or be in flight inside the executor.
    if (!value && !is_forwarded(g, in.value))
      fail("rank {}: no value for %{}", rank, g.name(in.value));
    inputs.push_back(std::move(value));
  }
  return inputs;
}

/// Runs kernel iteration t since the last drain.
std::vector<Loop::Produced> Loop::kernel_iteration(std::int64_t t, Window window,
                                                   const InputTables& batch) {
  const Phase& phase = phase_for(window);
  const Program& program = phase.derived ? *phase.derived : program_;
  std::span<const int> ranks = executor_.ranks();
  InputTables inputs;
  for (std::size_t i = 0; i < ranks.size(); ++i) inputs.push_back(gather_inputs(phase, i, batch));
  std::vector<RankResult> results = executor_.step({program, phase.slots}, inputs);

  std::vector<Produced> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::size_t graph = program.graph_index(ranks[i]);
    auto declared = program.graphs[graph].inputs();
    for (std::size_t k = 0; k < declared.size(); ++k)
      if (declared[k].state) kept_[i][phase.slots[graph][k]] = std::move(results[i].state[k]);
    peak_ = std::max(peak_, results[i].peak_bytes);
    const std::vector<int>& lags = lags_[graph];
    std::size_t seen = 0;
    for (std::size_t o = 0; o < lags.size(); ++o)
      if (window.lo <= lags[o] && lags[o] <= window.hi)
        all.push_back(
            {begin_ + t - lags[o], ranks[i], o, std::move(results[i].outputs.at(seen++))});
  }
  return all;
}

}  // namespace hocket

#include "hocket/runtime/in_order.h"

#include <algorithm>
#include <numeric>

#include "hocket/codegen/reference/interpret.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"

namespace hocket {

InOrder::InOrder(const Program& program, int ranks, std::unique_ptr<Backend> backend)
    : program_(program),
      ranks_(static_cast<std::size_t>(ranks)),
      backend_(std::move(backend)),
      evaluator_(make_evaluator(backend_.get())),
      rotated_(std::ranges::any_of(program.graphs, is_rotated)) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
  if (rotated_) {
    verify(program);  // phases take over its types and order
    check_seams(program);
  }
  for (const Graph& g : program_.graphs) {
    auto& first = first_slot_.emplace_back(1, std::size_t{0});
    for (const Input& in : g.inputs()) {
      int slots = is_forwarded(g, in.value) ? in.slots : 1;
      first.push_back(first.back() + static_cast<std::size_t>(slots));
    }
  }
}

void InOrder::load(const InputTables& state) {
  require_state(program_, ranks_, state);
  kept_.clear();
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    std::size_t graph = program_.graph_index(ranks_[r]);
    auto inputs = program_.graphs[graph].inputs();
    auto& kept = kept_.emplace_back(first_slot_[graph].back());
    for (std::size_t i = 0; i < state[r].size(); ++i)
      if (inputs[i].state && !is_forwarded(program_.graphs[graph], inputs[i].value))
        kept[first_slot_[graph][i]] = state[r][i];
  }
}

const InOrder::Phase& InOrder::phase_for(Window window) {
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
    auto& outputs = made.outputs.emplace_back();
    std::vector<int> lags = rotated_ ? output_lags(body) : std::vector<int>(body.outputs().size());
    for (std::size_t o = 0; o < lags.size(); ++o)
      if (window.lo <= lags[o] && lags[o] <= window.hi) outputs.push_back(o);
  }
  return phases_.emplace(window, std::move(made)).first->second;
}

/// The inputs of the i-th rank. Forwarded state that its phase does not read may be empty.
std::vector<Tensor> InOrder::gather_inputs(const Phase& phase, std::size_t i,
                                           const InputTables& batch) {
  const Program& program = phase.derived ? *phase.derived : program_;
  std::size_t graph = program.graph_index(ranks_[i]);
  std::span<const Input> declared = program.graphs[graph].inputs();
  std::vector<Tensor> inputs;
  for (std::size_t k = 0; k < declared.size(); ++k)
    inputs.push_back(declared[k].state ? kept_[i][phase.slots[graph][k]]
                                       : batch[i][phase.inputs[graph][k]]);
  return inputs;
}

std::span<Produced> InOrder::run(Window window, const InputTables& batch) {
  if (window.lo == 0) require_batch(program_, ranks_, batch);
  const Phase& phase = phase_for(window);
  const Program& program = phase.derived ? *phase.derived : program_;
  InputTables inputs;
  for (std::size_t i = 0; i < ranks_.size(); ++i) inputs.push_back(gather_inputs(phase, i, batch));
  std::vector<RankResult> results;
  InterpretOptions options{.evaluator = &evaluator_};
  if (program.world->ranks() > 1)
    results = interpret(program, inputs, options);
  else
    for (const std::vector<Tensor>& mine : inputs)  // copies
      results.push_back(std::move(interpret(program, std::span(&mine, 1), options)[0]));

  produced_.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::size_t graph = program.graph_index(ranks_[i]);
    auto declared = program.graphs[graph].inputs();
    for (std::size_t k = 0; k < declared.size(); ++k)
      if (declared[k].state) kept_[i][phase.slots[graph][k]] = std::move(results[i].state[k]);
    peak_ = std::max(peak_, results[i].peak_bytes);
    for (std::size_t o = 0; o < results[i].outputs.size(); ++o)
      produced_.push_back(
          {0, ranks_[i], phase.outputs[graph].at(o), std::move(results[i].outputs[o])});
  }
  return produced_;
}

InputTables InOrder::state() const {
  InputTables all;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    std::size_t graph = program_.graph_index(ranks_[i]);
    const Graph& g = program_.graphs[graph];
    auto& mine = all.emplace_back(g.inputs().size());
    for (std::size_t k = 0; k < mine.size(); ++k)
      if (!is_forwarded(g, g.inputs()[k].value)) mine[k] = kept_[i][first_slot_[graph][k]];
  }
  return all;
}

}  // namespace hocket

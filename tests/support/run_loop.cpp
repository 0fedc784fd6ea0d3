#include "support/run_loop.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/driver/shards.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/phases.h"

namespace hocket::testing {
namespace {

bool has_delays(const Program& program) { return std::ranges::any_of(program.graphs, is_rotated); }

class Loop {
 public:
  Loop(const Program& program, const LoopInputs& inputs, const LoopHook& hook, Backend* backend)
      : program_(program),
        inputs_(inputs),
        hook_(hook),
        evaluator_(make_evaluator(backend)),
        state_(inputs.state) {
    forwarded_.resize(state_.size());
    if (has_delays(program)) shape_ = loop_shape(program);
    for (const Graph& g : program.graphs) lags_[&g] = output_lags(g);
  }

  LoopResult run(const std::set<int>& drain_after) {
    auto iterations = static_cast<int>(inputs_.batches.size());
    for (int i = 0; i < iterations; ++i) {
      auto& ranks = result_.outputs.emplace_back();
      for (std::size_t r = 0; r < state_.size(); ++r)
        ranks.emplace_back(program_.graph_of(static_cast<int>(r)).outputs().size());
    }
    for (int i = 0; i < iterations; ++i) {
      result_.phases.emplace_back(step_ < shape_.depth ? "prologue" : "steady");
      kernel_iteration(step_window(shape_, step_), &inputs_.batches[static_cast<std::size_t>(i)]);
      if (i + 1 == iterations || drain_after.contains(i + 1)) drain();
    }
    return std::move(result_);
  }

 private:
  void drain() {
    int steps = step_;
    for (int j = 1; j <= shape_.depth; ++j) {
      Window w = drain_window(shape_, steps, j);
      if (w.lo > w.hi) continue;
      result_.phases.emplace_back("drain");
      step_ = steps - 1 + j;
      kernel_iteration(w, nullptr);
    }
    for (const Named& left : forwarded_)
      for (const auto& entry : left)
        if (read_.contains(entry.first)) fail("%{} is left after the drain", entry.first);
    begin_ += steps;
    step_ = 0;
    result_.states.push_back(state_);
  }

  const Program& phase_for(Window w) {
    if (!has_delays(program_)) return program_;
    auto found = phases_.find(w);
    if (found != phases_.end()) return found->second;
    const Program& made = phases_.emplace(w, phase(program_, w)).first->second;
    verify(made);
    return made;
  }

  void kernel_iteration(Window w, const std::vector<Named>* batch) {
    const Program& p = phase_for(w);
    std::vector<std::vector<Tensor>> given(state_.size());
    for (std::size_t r = 0; r < given.size(); ++r) {
      const Graph& g = p.graph_of(static_cast<int>(r));
      for (const Input& in : g.inputs()) {
        const Named& from = is_forwarded(g, in.value) ? forwarded_[r]
                            : in.state                ? state_[r]
                                                      : batch->at(r);
        auto it = from.find(g.name(in.value));
        bool dead = is_forwarded(g, in.value) && g.uses(in.value).empty();
        if (is_forwarded(g, in.value) && !dead) read_.insert(g.name(in.value));
        given[r].push_back(it == from.end() || dead ? Tensor{} : it->second);
      }
    }
    InterpretOptions options{.evaluator = &evaluator_};
    if (hook_)
      options.hook = [&](int rank, const Graph& g, NodeId n, std::span<const Tensor>) {
        hook_(rank, g, n);
      };
    auto results = interpret(p, given, options);
    for (std::size_t r = 0; r < results.size(); ++r) keep(w, r, results[r], p);
    ++step_;
  }

  void keep(Window w, std::size_t rank, const RankResult& result, const Program& p) {
    const Graph& g = p.graph_of(static_cast<int>(rank));
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      if (!in.state) continue;
      Named& table = is_forwarded(g, in.value) ? forwarded_[rank] : state_[rank];
      std::string name = g.name(in.value);
      if (result.state[i])
        table.insert_or_assign(name, result.state[i]);
      else
        table.erase(name);
    }
    std::size_t seen = 0;
    const std::vector<int>& lags = lags_.at(&program_.graph_of(static_cast<int>(rank)));
    for (std::size_t o = 0; o < lags.size(); ++o)
      if (w.lo <= lags[o] && lags[o] <= w.hi)
        result_.outputs.at(static_cast<std::size_t>(begin_ + step_ - lags[o]))[rank][o] =
            result.outputs.at(seen++);
    if (seen != result.outputs.size()) fail("{} outputs, wanted {}", result.outputs.size(), seen);
  }

  const Program& program_;
  const LoopInputs& inputs_;
  const LoopHook& hook_;
  Evaluator evaluator_;
  LoopShape shape_;
  std::map<const Graph*, std::vector<int>> lags_;
  std::map<Window, Program> phases_;
  std::vector<Named> state_, forwarded_;
  std::set<std::string, std::less<>> read_;  // forwarded state that some phase reads
  int begin_ = 0,
      step_ = 0;  // the first iteration after the last drain; kernel iterations since then
  LoopResult result_;
};

}  // namespace

LoopResult run_loop(const Program& program, const LoopInputs& inputs,
                    const std::set<int>& drain_after, const LoopHook& hook, Backend* backend) {
  return Loop(program, inputs, hook, backend).run(drain_after);
}

LoopInputs random_loop_inputs(Random& random, const Program& program, int iterations) {
  LoopInputs inputs;
  for (int i = 0; i <= iterations; ++i) {
    auto values = random_inputs(random, program);
    std::vector<Named> batch(values.size());
    if (i == 0) inputs.state.resize(values.size());
    for (std::size_t r = 0; r < values.size(); ++r) {
      const Graph& g = program.graph_of(static_cast<int>(r));
      for (std::size_t k = 0; k < values[r].size(); ++k) {
        const Input& in = g.inputs()[k];
        if (in.state && i == 0) inputs.state[r][g.name(in.value)] = values[r][k];
        if (!in.state) batch[r][g.name(in.value)] = values[r][k];
      }
    }
    if (i > 0) inputs.batches.push_back(std::move(batch));
  }
  return inputs;
}

namespace {

/// Converts named state from the form of one program to that of another (sharded or whole).
std::vector<Named> convert(const Program& source, const Program& program,
                           const std::vector<Named>& state, decltype(shard_state)& between,
                           const Program& to) {
  const Program& from = &to == &source ? program : source;
  InputTables tables;
  for (std::size_t r = 0; r < state.size(); ++r) {
    const Graph& g = from.graph_of(static_cast<int>(r));
    auto& row = tables.emplace_back();
    for (const Input& in : g.inputs()) {
      auto it = state[r].find(g.name(in.value));
      row.push_back(it == state[r].end() ? Tensor{} : it->second);
    }
  }
  tables = between(source, program, tables);
  std::vector<Named> result(state.size());
  for (std::size_t r = 0; r < state.size(); ++r) {
    const Graph& g = to.graph_of(static_cast<int>(r));
    for (std::size_t i = 0; i < tables[r].size(); ++i)
      if (tables[r][i]) result[r][g.name(g.inputs()[i].value)] = tables[r][i];
  }
  return result;
}

}  // namespace

std::string loop_difference(const Program& a, const Program& b, const LoopInputs& inputs,
                            const std::set<int>& drain_after, Backend* backend) {
  LoopInputs pieces = inputs;
  pieces.state = convert(a, b, inputs.state, shard_state, b);
  LoopResult x = run_loop(a, inputs, drain_after, nullptr, backend);
  LoopResult y = run_loop(b, pieces, drain_after, nullptr, backend);
  for (auto& state : y.states) state = convert(a, b, state, unshard_state, a);
  for (std::size_t i = 0; i < x.outputs.size(); ++i)
    for (std::size_t r = 0; r < x.outputs[i].size(); ++r)
      for (std::size_t o = 0; o < x.outputs[i][r].size(); ++o) {
        const Tensor &p = x.outputs[i][r][o], &q = y.outputs[i][r].at(o);
        if (!p || !q || !same_bits(p, q))
          return fmt::format("iteration {}, rank {}: output {} differs", i, r, o);
      }
  for (std::size_t d = 0; d < x.states.size(); ++d)
    for (std::size_t r = 0; r < x.states[d].size(); ++r)
      for (const auto& [name, value] : x.states[d][r])
        if (!same_bits(value, y.states.at(d)[r].at(name)))
          return fmt::format("drain {}, rank {}: state %{} differs", d, r, name);
  return "";
}

}  // namespace hocket::testing

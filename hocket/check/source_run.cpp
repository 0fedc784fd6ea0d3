#include "hocket/check/source_run.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/iter/lags.h"

namespace hocket::check {

std::string Makers::text_of(TermId t) const {
  const Maker& m = makers_[terms_.maker_of(t)];
  if (m.graph == nullptr) return fmt::format("`{}`", check::text_of(plan_, m.place));
  return fmt::format("`{}` of iteration {}", m.graph->describe(m.node), m.iteration);
}

/// A graph while it runs.
struct SourceRun::Walk {
  const Graph* graph;
  std::size_t number;             // of the graph
  std::int64_t batch, iteration;  // the latter has a number of its own in every run
  NodeId at;
  std::vector<Elements> values;                                       // by value
  std::map<Value, std::pair<Exchange::CallId, std::uint32_t>> calls;  // results in flight
};

SourceRun::SourceRun(const Program& program, Evaluator& evaluator, Exchange& exchange,
                     Makers& makers)
    : program_(program),
      e_(evaluator),
      exchange_(exchange),
      makers_(makers),
      rotated_(std::ranges::any_of(program.graphs, is_rotated)) {
  if (rotated_) shape_ = loop_shape(program);
}

SourceRun::Result SourceRun::run(const States& state, std::int64_t first, int iterations) {
  std::vector<Slots> kept(state.size());
  for (std::size_t g = 0; g < state.size(); ++g)
    for (std::size_t i = 0; i < state[g].size(); ++i)
      if (const Input& in = program_.graphs[g].inputs()[i];
          in.state && !is_forwarded(program_.graphs[g], in.value))
        kept[g][{i, 0}] = {state[g][i]};
  Result result;
  result.outputs.resize(static_cast<std::size_t>(iterations), States(state.size()));
  for (std::size_t k = 0; k < result.outputs.size(); ++k)
    for (std::size_t g = 0; g < state.size(); ++g)
      result.outputs[k][g].resize(program_.graphs[g].outputs().size());
  for (int t = 0; t < iterations; ++t)
    run_phase(step_window(shape_, t), t, kept, result.outputs, first);
  for (int j = 1; j <= shape_.depth; ++j)
    if (Window w = drain_window(shape_, iterations, j); w.lo <= w.hi)
      run_phase(w, iterations - 1 + j, kept, result.outputs, first);
  result.state.resize(state.size());
  for (std::size_t g = 0; g < state.size(); ++g) {
    result.state[g].resize(state[g].size());
    for (std::size_t i = 0; i < state[g].size(); ++i)
      if (auto it = kept[g].find({i, 0}); it != kept[g].end())
        result.state[g][i] = it->second.value;
  }
  return result;
}

void SourceRun::run_phase(Window window, std::int64_t t, std::vector<Slots>& kept,
                          std::vector<States>& outputs, std::int64_t first) {
  auto [derived, fresh] = phases_.try_emplace(window);
  if (fresh && rotated_)
    for (const Graph& body : program_.graphs) derived->second.push_back(phase(body, window));
  const std::vector<Graph>& graphs = rotated_ ? derived->second : program_.graphs;
  std::vector<Walk> walks(graphs.size());
  std::vector<std::vector<PhaseInput>> inputs;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const Graph& graph = graphs[g];
    Walk& w = walks[g] = {&graph, g, first + t, next_iteration_, graph.first_node(), {}, {}};
    w.values.resize(graph.value_bound());
    inputs.push_back(phase_inputs(program_.graphs[g], graph, window));
    for (std::size_t i = 0; i < inputs[g].size(); ++i) {
      const Input& in = graph.inputs()[i];
      auto [input, slot] = inputs[g][i];
      if (!in.state) {
        w.values[in.value.index] = e_.input(g, input, graph.type(in.value), first + t);
        continue;
      }
      auto known = kept[g].find({input, slot});
      if (known == kept[g].end()) continue;
      w.values[in.value.index] = known->second.value;
      if (known->second.in_flight) w.calls[in.value] = {known->second.call, known->second.result};
    }
  }
  ++next_iteration_;
  for (bool moved = true; moved;) {
    moved = false;
    for (Walk& w : walks) moved |= advance(w);
  }
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    Walk& w = walks[g];
    const Graph& graph = graphs[g];
    if (w.at != graph.return_node())
      fail("graph {}: {} waits for a call that never comes", graph.name(), graph.describe(w.at));
    Slots next;
    for (std::size_t i = 0; i < inputs[g].size(); ++i) {
      const Input& in = graph.inputs()[i];
      Value v = in.state ? graph.next(in.value) : Value{};
      if (!v) continue;
      Kept& k = next[{inputs[g][i].input, inputs[g][i].slot}];
      k.value = w.values[v.index];
      if (auto call = w.calls.find(v); call != w.calls.end())
        k = {{}, call->second.first, call->second.second, true};
    }
    for (auto& [slot, k] : next) kept[g][slot] = std::move(k);
    std::vector<int> lags =
        rotated_ ? output_lags(program_.graphs[g]) : std::vector<int>(graph.outputs().size());
    std::vector<Output> given = graph.outputs();
    std::size_t o = 0;
    for (std::size_t i = 0; i < lags.size(); ++i) {
      if (lags[i] < window.lo || lags[i] > window.hi) continue;
      auto k = static_cast<std::size_t>(t - lags[i]);
      outputs.at(k)[g][i] = w.values[given[o++].value.index];
    }
  }
}

/// Goes on until a wait for a call that has not been made everywhere. True when any node ran.
bool SourceRun::advance(Walk& w) {
  const Graph& g = *w.graph;
  bool moved = false;
  for (; w.at != g.return_node(); w.at = g.following(w.at)) {
    const Node& node = g[w.at];
    if (node.op->is_wait) {
      for (std::uint32_t i = 0; i < node.inputs.size(); ++i) {
        auto call = w.calls.find(node.inputs[i]);
        if (call == w.calls.end()) {  // it has arrived in an earlier iteration
          w.values[node.first_result + i] = w.values[node.inputs[i].index];
          continue;
        }
        if (!exchange_.arrived(call->second.first)) return moved;
        makers_.node(g, w.at, w.batch);
        w.values[node.first_result + i] =
            exchange_.results(call->second.first)[call->second.second];
      }
    } else {
      evaluate(w, w.at);
    }
    moved = true;
  }
  return moved;
}

void SourceRun::evaluate(Walk& w, NodeId n) {
  const Graph& g = *w.graph;
  const Node& node = g[n];
  makers_.node(g, n, w.batch);
  if (node.op->collective != nullptr) {
    std::vector<Elements> operands;
    std::vector<const Type*> types, results;
    for (Value v : node.inputs) {
      operands.push_back(w.values[v.index]);
      types.push_back(&g.type(v));
    }
    for (std::uint32_t i = 0; i < node.result_count; ++i)
      results.push_back(&g.type(g.result(n, i)));
    Exchange::CallId id = exchange_.post(w.number, w.iteration, *node.op, node.attributes,
                                         std::move(operands), std::move(types), std::move(results));
    for (std::uint32_t i = 0; i < node.result_count; ++i) w.calls[g.result(n, i)] = {id, i};
    return;
  }
  SmallVector<const Elements*, 4> operands;
  for (Value v : node.inputs) operands.push_back(&w.values[v.index]);
  apply(g, n, {operands.data(), operands.size()},
        std::span(w.values).subspan(node.first_result, node.result_count), w.number);
}

void SourceRun::apply(const Graph& g, NodeId n, std::span<const Elements* const> operands,
                      std::span<Elements> results, std::size_t graph) {
  const Node& node = g[n];
  if (node.region) {
    std::vector<Value> parameters, inner;
    for (const Input& in : node.region->inputs()) parameters.push_back(in.value);
    for (const Output& o : node.region->outputs()) inner.push_back(o.value);
    return evaluate_body(*node.region, parameters, inner, operands, results, graph);
  }
  SmallVector<const Type*, 4> types, result_types;
  for (Value v : node.inputs) types.push_back(&g.type(v));
  for (std::uint32_t i = 0; i < node.result_count; ++i)
    result_types.push_back(&g.type(g.result(n, i)));
  EvaluateCall call{*node.op,
                    node.attributes,
                    {types.data(), types.size()},
                    {result_types.data(), result_types.size()},
                    graph};
  if (const Expansion* parts = e_.expansion(call))
    return evaluate_body(parts->graph, parts->parameters, parts->results, operands, results, graph);
  e_.apply(call, operands, results);
}

void SourceRun::evaluate_body(const Graph& body, std::span<const Value> parameters,
                              std::span<const Value> body_results,
                              std::span<const Elements* const> operands,
                              std::span<Elements> results, std::size_t graph) {
  std::vector<Elements> values(body.value_bound());
  for (std::size_t i = 0; i < parameters.size(); ++i) values[parameters[i].index] = *operands[i];
  for (NodeId n : body.nodes()) {
    const Node& node = body[n];
    SmallVector<const Elements*, 4> list;
    for (Value v : node.inputs) list.push_back(&values[v.index]);
    apply(body, n, {list.data(), list.size()},
          std::span(values).subspan(node.first_result, node.result_count), graph);
  }
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = values[body_results[i].index];
}

}  // namespace hocket::check

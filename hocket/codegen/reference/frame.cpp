#include "hocket/codegen/reference/frame.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// The value of a `constant` in the program's table, none for other nodes.
const Tensor* named_constant(const Program& program, const Graph& g, NodeId n) {
  const std::string* ref = constant_ref(g[n]);
  auto held = ref != nullptr ? program.constants.find(*ref) : program.constants.end();
  if (held == program.constants.end()) return nullptr;
  if (held->second.type() != g.type(g.result(n)))
    fail("constant: the table has {} for {}", to_text(held->second.type()), quoted(*ref));
  return &held->second;
}

std::vector<Tensor> run_region(const Program& program, const Graph& region,
                               std::vector<Tensor> inputs, int rank, Evaluator& evaluator);

/// Runs a node whose results depend only on its operands.
std::vector<Tensor> run_pure(const Program& program, const Graph& g, NodeId n,
                             std::vector<Tensor> operands, int rank, Evaluator& evaluator) {
  if (g[n].region) return run_region(program, *g[n].region, std::move(operands), rank, evaluator);
  if (const Tensor* named = named_constant(program, g, n)) return {*named};
  return evaluator.run(g, n, operands, rank);
}

std::vector<Tensor> run_region(const Program& program, const Graph& region,
                               std::vector<Tensor> inputs, int rank, Evaluator& evaluator) {
  std::vector<Tensor> values(region.value_bound());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[region.inputs()[i].value.index] = std::move(inputs[i]);
  for (NodeId n : region.nodes()) {
    std::vector<Tensor> operands;
    for (Value v : region[n].inputs) operands.push_back(values[v.index]);
    std::vector<Tensor> results =
        run_pure(program, region, n, std::move(operands), rank, evaluator);
    for (std::uint32_t i = 0; i < results.size(); ++i)
      values[region.result(n, i).index] = std::move(results[i]);
  }
  std::vector<Tensor> outputs;
  for (const Output& o : region.outputs()) outputs.push_back(values[o.value.index]);
  return outputs;
}

}  // namespace

void require_inputs(const Graph& graph, int rank, std::span<const Tensor> inputs, bool in_flight) {
  auto specs = graph.inputs();
  if (inputs.size() != specs.size())
    fail("rank {}: {} inputs given, graph {} wants {}", rank, inputs.size(), graph.name(),
         specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Value v = specs[i].value;
    // A value in flight may be kept elsewhere, and forwarded state that a phase does not read need
    // not be given.
    bool forwarded = specs[i].state && specs[i].kind == StateKind::forwarded;
    bool elsewhere = in_flight && graph.type(v).pending;
    if (forwarded && !inputs[i] && (elsewhere || graph.uses(v).empty())) continue;
    Type wanted = graph.type(v).ready();
    if (!inputs[i] || inputs[i].type() != wanted)
      fail("rank {}: input %{} is {}, wanted {}{}", rank, graph.name(v),
           inputs[i] ? to_text(inputs[i].type()) : "missing", to_text(wanted),
           forwarded ? ", which an earlier phase makes" : "");
  }
}

Frame::Frame(const Program& program, const Graph& graph, int rank, std::span<const Tensor> inputs,
             Evaluator& evaluator, Options options)
    : program_(program),
      graph_(graph),
      rank_(rank),
      evaluator_(evaluator),
      options_(options),
      values_(graph.value_bound()),
      readers_(graph.value_bound()) {
  for (std::uint32_t i = 1; i < graph.value_bound(); ++i)
    readers_[i] = static_cast<std::uint32_t>(graph.uses(Value{i}).size());
  require_inputs(graph, rank, inputs, options.in_flight);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const Input& in = graph.inputs()[i];
    if (in.state && in.kind != StateKind::forwarded) initial_[in.value] = inputs[i];
    define(in.value, inputs[i]);
  }
}

void Frame::hold(std::int64_t bytes) {
  live_ += bytes;
  peak_ = std::max(peak_, live_);
}

void Frame::define(Value v, Tensor t) {
  if (readers_[v.index] == 0 && !options_.keep_values) return;
  const Type& type = graph_.type(v);
  hold(type.pending ? 0 : type.bytes());
  values_[v.index] = std::move(t);
}

void Frame::release(Value v) {
  if (--readers_[v.index] > 0 || options_.keep_values) return;
  const Type& type = graph_.type(v);
  hold(type.pending ? 0 : -type.bytes());
  values_[v.index] = Tensor{};
}

std::vector<Tensor> Frame::operands(NodeId n) {
  std::vector<Tensor> list;
  list.reserve(graph_[n].inputs.size());
  for (Value v : graph_[n].inputs)
    list.push_back(last_reader(v) ? std::move(values_[v.index]) : values_[v.index]);
  return list;
}

std::vector<Tensor> Frame::run(NodeId n) {
  return run_pure(program_, graph_, n, operands(n), rank_, evaluator_);
}

void Frame::finish(NodeId n, std::vector<Tensor> results) {
  const Node& node = graph_[n];
  for (std::uint32_t i = 0; i < node.result_count; ++i)
    define(graph_.result(n, i), std::move(results[i]));
  for (Value v : node.inputs) release(v);
}

RankResult Frame::result() const {
  RankResult r;
  for (const Output& o : graph_.outputs()) r.outputs.push_back(values_[o.value.index]);
  for (const Input& in : graph_.inputs()) {
    Value next = in.state ? graph_.next(in.value) : Value{};
    auto kept = initial_.find(in.value);
    r.state.push_back(next                     ? values_[next.index]
                      : kept != initial_.end() ? kept->second
                                               : Tensor{});
  }
  if (options_.keep_values)
    for (std::uint32_t i = 1; i < values_.size(); ++i)
      if (values_[i]) r.values.emplace(Value{i}, values_[i]);
  r.peak_bytes = peak_;
  return r;
}

}  // namespace hocket

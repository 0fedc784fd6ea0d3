#include "hocket/base/error.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/kernel.h"

namespace hocket {
namespace {

/// Builds the expansion by itself and runs it, node by node.
std::vector<Tensor> run_expansion(const Graph& graph, NodeId n, std::span<const Tensor> inputs,
                                  int rank) {
  const Node& node = graph[n];
  Graph body("expansion", graph.shared_world());
  std::vector<Value> operands;
  for (const Tensor& t : inputs) operands.push_back(body.add_input(t.type(), "x"));
  std::vector<Type> types;
  for (Value v : graph.results(n)) types.push_back(graph.type(v));
  ExpandCall call{At(body), *node.op, node.attributes, operands, types};
  std::vector<Value> outputs = node.op->expand(call);
  std::vector<Tensor> values(body.value_bound());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[operands[i].index] = inputs[i];
  for (NodeId m : std::as_const(body).nodes()) {
    std::vector<Tensor> arguments;
    for (Value v : body[m].inputs) arguments.push_back(values[v.index]);
    std::vector<Tensor> results = evaluate(body, m, arguments, rank);
    for (std::uint32_t i = 0; i < results.size(); ++i)
      values[body.result(m, i).index] = std::move(results[i]);
  }
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(values[outputs[i].index]);
    if (results[i].type() != types[i])
      internal_fail("{}: its expansion gives other types", graph.describe(n));
  }
  return results;
}

}  // namespace

std::vector<Tensor> evaluate(const Graph& graph, NodeId n, std::span<const Tensor> inputs,
                             int rank) {
  const Node& node = graph[n];
  if (node.op->expand != nullptr) return run_expansion(graph, n, inputs, rank);
  std::vector<Type> types;
  for (Value v : graph.results(n)) types.push_back(graph.type(v));
  std::vector<Tensor> results(types.size());
  KernelCall call{*node.op, node.attributes, inputs, types, results, graph.world(), rank};
  if (node.op->body != nullptr)
    run_elementwise(call);
  else if (node.op->kernel != nullptr)
    node.op->kernel(call);
  else
    internal_fail("{}: no kernel", graph.describe(n));
  return results;
}

}  // namespace hocket

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/kernel.h"

namespace hocket {
namespace {

/// Builds the expansion in a graph of its own and runs it node by node.
void run_expansion(const Graph& graph, KernelCall& c, const RunInstead& instead) {
  Graph body("expansion", graph.shared_world());
  std::vector<Value> operands;
  for (const Tensor& t : c.inputs) operands.push_back(body.add_input(t.type(), "x"));
  ExpandCall call{At(body), c.op, c.attributes, operands, c.types};
  std::vector<Value> outputs = c.op.expand(call);
  std::vector<Tensor> values(body.value_bound());
  for (std::size_t i = 0; i < c.inputs.size(); ++i) values[operands[i].index] = c.inputs[i];
  for (NodeId m : std::as_const(body).nodes()) {
    std::vector<Tensor> arguments;
    for (Value v : body[m].inputs) arguments.push_back(values[v.index]);
    std::vector<Tensor> results = evaluate(body, m, arguments, c.rank, instead);
    for (std::uint32_t i = 0; i < results.size(); ++i)
      values[body.result(m, i).index] = std::move(results[i]);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    c.results[i] = values[outputs[i].index];
    if (c.results[i].type() != c.types[i])
      internal_fail("{}: its expansion gives other types", c.op.name);
  }
}

}  // namespace

std::vector<Tensor> evaluate(const Graph& graph, NodeId n, std::span<const Tensor> inputs, int rank,
                             const RunInstead& instead) {
  const Node& node = graph[n];
  std::vector<Type> types;
  for (Value v : graph.results(n)) types.push_back(graph.type(v));
  std::vector<Tensor> results(types.size());
  // All results are empty: no kernel must walk over operands, whose other dimensions may be huge.
  if (std::ranges::all_of(types, [](const Type& t) { return t.elements() == 0; })) {
    for (std::size_t i = 0; i < types.size(); ++i) results[i] = Tensor(types[i]);
    return results;
  }
  KernelCall call{*node.op, node.attributes, inputs, types, results, graph.world(), rank};
  if (instead && instead(call)) return results;
  if (node.op->expand != nullptr)
    run_expansion(graph, call, instead);
  else if (node.op->body != nullptr)
    run_elementwise(call);
  else if (node.op->kernel != nullptr)
    node.op->kernel(call);
  else
    internal_fail("{}: no kernel", graph.describe(n));
  return results;
}

}  // namespace hocket

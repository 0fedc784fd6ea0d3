#include "hocket/base/error.h"
#include "hocket/ops/kernel.h"

namespace hocket {

std::vector<Tensor> evaluate(const Graph& graph, NodeId n, std::span<const Tensor> inputs,
                             int rank) {
  const Node& node = graph[n];
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

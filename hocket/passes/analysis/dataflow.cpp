#include "hocket/passes/analysis/dataflow.h"

#include <algorithm>

#include "hocket/ops/ops.h"

namespace hocket {

bool is_constant(const Graph& g, Value v) {
  const Node& node = g[g.node(v)];
  return node.op != &input_op && node.inputs.empty() && node.op->pure() && !node.op->is_collective;
}

NodeId only_source(const Graph& g, NodeId n) {
  NodeId source;
  for (Value v : g[n].inputs) {
    if (is_constant(g, v)) continue;
    if (source && source != g.node(v)) return {};
    source = g.node(v);
  }
  return source;
}

NodeId maker_of_next(const Graph& g, Value input) {
  Value next = g.input(input).state ? g.next(input) : Value{};
  return next && !g.is_input(g.node(next)) ? g.node(next) : NodeId{};
}

std::vector<NodeId> readers_of(const Graph& g, NodeId n) {
  std::vector<NodeId> readers;
  for (Value v : g.results(n))
    for (Use use : g.uses(v))
      if (use.node != g.return_node()) readers.push_back(use.node);
  std::sort(readers.begin(), readers.end(), [&](NodeId a, NodeId b) { return g.before(a, b); });
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  return readers;
}

bool is_cheap(const Op& op) {
  if (!op.pure() || op.is_collective || op.is_wait || op.has_region) return false;
  return op.body != nullptr || op.is_view || op.moves_data || &op == &ops::div_each;
}

}  // namespace hocket

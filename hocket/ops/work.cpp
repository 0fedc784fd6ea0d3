#include "hocket/ops/work.h"

#include <limits>

#include "hocket/ops/expand.h"
#include "hocket/ops/scalar.h"

namespace hocket {
namespace {

double body_flops(const Graph& g, NodeId n) {
  std::vector<DType> operands;
  for (Value v : g[n].inputs) operands.push_back(g.type(v).dtype);
  const Type& result = g.type(g.result(n));
  double steps = 0;
  for (const ScalarStep& s : trace(*g[n].op, operands, result.dtype).steps)
    steps += s.code > ScalarCode::convert ? 1 : 0;
  return steps * static_cast<double>(result.elements());
}

double total_flops(const Graph& g) {
  double total = 0;
  for (NodeId n : g.nodes()) total += flops(g, n);
  return total;
}

double expansion_flops(const Graph& g, NodeId n) {
  Graph body("expansion", g.shared_world());
  std::vector<Value> operands;
  for (Value v : g[n].inputs) operands.push_back(body.add_input(g.type(v), "x"));
  std::vector<Type> types;
  for (Value v : g.results(n)) types.push_back(g.type(v));
  ExpandCall call{At(body), *g[n].op, g[n].attributes, operands, types};
  g[n].op->expand(call);
  return total_flops(body);
}

}  // namespace

double flops(const Graph& g, NodeId n) {
  const Node& node = g[n];
  if (node.region) return total_flops(*node.region);
  if (node.op->body != nullptr) return body_flops(g, n);
  if (node.op->expand != nullptr) return expansion_flops(g, n);
  if (node.op->flops == nullptr) return 0;
  std::vector<const Type*> inputs;
  for (Value v : node.inputs) inputs.push_back(&g.type(v));
  std::vector<Type> types;
  for (Value v : g.results(n)) types.push_back(g.type(v));
  return node.op->flops({*node.op, inputs, node.attributes, g.world(), types, nullptr});
}

double bytes_moved(const Graph& g, NodeId n) {
  const Node& node = g[n];
  if (node.op->is_view) return 0;
  double total = 0;
  for (Value v : node.inputs) total += static_cast<double>(g.type(v).bytes());
  for (Value v : g.results(n)) total += static_cast<double>(g.type(v).bytes());
  return total;
}

double link_bytes(const Graph& g, NodeId n) {
  const Node& node = g[n];
  CollectiveKind kind = node.op->collective->kind;
  std::int64_t size = g.world().group_size(node.attr<std::string>("group")).value_or(1);
  std::int64_t bytes = kind == CollectiveKind::recv ? result_bytes(g, n) : operand_bytes(g, n);
  return link_bytes(kind, size, static_cast<double>(bytes));
}

std::int64_t sum_of_bytes(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

std::int64_t operand_bytes(const Graph& g, NodeId n) {
  std::int64_t bytes = 0;
  for (Value v : g[n].inputs) bytes = sum_of_bytes(bytes, g.type(v).bytes());
  return bytes;
}

std::int64_t result_bytes(const Graph& g, NodeId n) {
  std::int64_t bytes = 0;
  for (Value v : g.results(n)) bytes = sum_of_bytes(bytes, g.type(v).bytes());
  return bytes;
}

}  // namespace hocket

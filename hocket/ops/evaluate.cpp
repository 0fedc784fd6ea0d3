#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/reference_call.h"

namespace hocket {
namespace {

/// Builds the expansion in a graph of its own and runs it node by node.
std::vector<Tensor> run_expansion(const Graph& graph, NodeId n, std::span<const Tensor> inputs,
                                  int rank, const RunInstead& instead) {
  const Node& node = graph[n];
  std::vector<Type> types;
  for (Value v : graph.results(n)) types.push_back(graph.type(v));
  Graph body("expansion", graph.shared_world());
  std::vector<Value> operands;
  for (const Tensor& t : inputs) operands.push_back(body.add_input(t.type(), "x"));
  ExpandCall call{At(body), *node.op, node.attributes, operands, types};
  std::vector<Value> outputs = node.op->expand(call);
  std::vector<Tensor> values(body.value_bound()), results;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[operands[i].index] = inputs[i];
  for (NodeId m : std::as_const(body).nodes()) {
    std::vector<Tensor> arguments;
    for (Value v : body[m].inputs) arguments.push_back(values[v.index]);
    std::vector<Tensor> made = evaluate(body, m, arguments, rank, instead);
    for (std::uint32_t i = 0; i < made.size(); ++i)
      values[body.result(m, i).index] = std::move(made[i]);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(values[outputs[i].index]);
    if (results[i].type() != types[i])
      internal_fail("{}: its expansion gives other types", node.op->name);
  }
  return results;
}

/// The result of a view of a row-major operand that is row-major itself: the same bytes.
std::optional<Tensor> alias(const ReferenceOp& op, std::span<const Tensor> inputs) {
  if (op.op().view == nullptr) return std::nullopt;
  const Type& type = op.results()[0];
  std::optional<ViewOf> view = op.view(Layout::row_major(inputs[0].type().elements()));
  bool same = view->layout.is_row_major() && type.elements() == inputs[0].type().elements();
  return same ? std::optional(Tensor(type, inputs[0])) : std::nullopt;
}

/// The bytes of an operand that nobody else holds, where the result of a body can take them; else
/// new memory, which costs more than the arithmetic.
Tensor result_of(const ReferenceOp& op, std::size_t i, std::span<const Tensor> inputs) {
  const Type& type = op.results()[i];
  if (op.body() != nullptr)
    for (const Tensor& t : inputs)
      if (t.type() == type && t.unique()) return t;
  return Tensor(type);
}

}  // namespace

std::vector<Tensor> run_reference(const Op& op, const Attributes& attributes,
                                  std::span<const Tensor> inputs, std::span<const Type> types,
                                  const World& world, int rank) {
  std::vector<Type> operands;
  for (const Tensor& t : inputs) operands.push_back(t.type());
  auto prepared = std::make_shared<ReferenceOp>(op, attributes, operands, types, world, rank);
  if (auto same = alias(*prepared, inputs)) return {*same};
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < types.size(); ++i) results.push_back(result_of(*prepared, i, inputs));
  std::vector<ConstView> from;
  std::vector<View> to;
  for (const Tensor& t : inputs) from.push_back(view_of(t));
  for (Tensor& t : results) to.push_back(view_of(t));
  Tensor scratch(Type{DType::u8, false, {prepared->scratch_bytes()}});
  ReferenceCall(prepared, from, to, scratch.bytes()).run();
  return results;
}

std::vector<Tensor> evaluate(const Graph& graph, NodeId n, std::span<const Tensor> inputs, int rank,
                             const RunInstead& instead) {
  const Node& node = graph[n];
  std::vector<Type> types;
  for (Value v : graph.results(n)) types.push_back(graph.type(v));
  // All results are empty: no kernel must walk over operands, whose other dimensions may be huge.
  if (std::ranges::all_of(types, [](const Type& t) { return t.elements() == 0; })) {
    std::vector<Tensor> results;
    for (const Type& t : types) results.emplace_back(t);
    return results;
  }
  if (instead) {
    std::vector<Tensor> results = instead(graph, n, inputs);
    if (!results.empty()) return results;
  }
  if (node.op->expand != nullptr) return run_expansion(graph, n, inputs, rank, instead);
  return run_reference(*node.op, node.attributes, inputs, types, graph.world(), rank);
}

}  // namespace hocket

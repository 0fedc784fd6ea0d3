#include "hocket/ops/evaluate.h"

#include <algorithm>

#include "hocket/ops/reference_call.h"

namespace hocket {
namespace {

/// Whether the result of a view of a row-major operand is row-major itself: the same bytes.
bool has_same_bytes(const ReferenceOp& op) {
  if (op.op().view == nullptr) return false;
  std::int64_t elements = op.operands()[0].elements();
  std::optional<ViewOf> view = op.view(Layout::row_major(elements));
  return view->layout.is_row_major() && op.results()[0].elements() == elements;
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

std::vector<Tensor> run_prepared(const std::shared_ptr<const ReferenceOp>& op, bool same_bytes,
                                 std::span<const Tensor> inputs) {
  if (same_bytes) return {Tensor(op->results()[0], inputs[0])};
  std::vector<Tensor> results;
  results.reserve(op->results().size());
  for (std::size_t i = 0; i < op->results().size(); ++i)
    results.push_back(result_of(*op, i, inputs));
  std::vector<ConstView> from;
  std::vector<View> to;
  from.reserve(inputs.size());
  to.reserve(results.size());
  for (const Tensor& t : inputs) from.push_back(view_of(t));
  for (Tensor& t : results) to.push_back(view_of(t));
  Tensor scratch(Type{DType::u8, false, {op->scratch_bytes()}});
  ReferenceCall(op, from, to, scratch.bytes()).run();
  return results;
}

}  // namespace

std::vector<Tensor> run_reference(const Op& op, const Attributes& attributes,
                                  std::span<const Tensor> inputs, std::span<const Type> types,
                                  const World& world, int rank) {
  std::vector<Type> operands;
  for (const Tensor& t : inputs) operands.push_back(t.type());
  auto prepared =
      std::make_shared<ReferenceOp>(KernelSpec{op, attributes, operands, types, world, rank});
  return run_prepared(prepared, has_same_bytes(*prepared), inputs);
}

Evaluator::Evaluator(RunInstead instead) : instead_(std::move(instead)) {}

Evaluator::~Evaluator() = default;

const Evaluator::Prepared& Evaluator::prepared(const KernelSpec& spec, const Graph& graph) {
  write_key(key_, spec);
  auto found = known_.find(key_);
  if (found != known_.end()) return found->second;
  Prepared made;
  if (spec.op.expand != nullptr) {
    made.expansion = expand(spec, graph.shared_world());
  } else {
    made.op = std::make_shared<ReferenceOp>(spec);
    made.same_bytes = has_same_bytes(*made.op);
  }
  return known_.emplace(key_, std::move(made)).first->second;
}

std::vector<Tensor> Evaluator::run_expansion(const Expansion& expansion,
                                             std::span<const Tensor> inputs, int rank) {
  const Graph& body = *expansion.body;
  std::vector<Tensor> values(body.value_bound()), results;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[expansion.parameters[i].index] = inputs[i];
  for (NodeId m : body.nodes()) {
    std::vector<Tensor> arguments;
    for (Value v : body[m].inputs) arguments.push_back(values[v.index]);
    std::vector<Tensor> made = run(body, m, arguments, rank);
    for (std::uint32_t i = 0; i < made.size(); ++i)
      values[body.result(m, i).index] = std::move(made[i]);
  }
  for (Value v : expansion.results) results.push_back(values[v.index]);
  return results;
}

std::vector<Tensor> Evaluator::run(const Graph& graph, NodeId n, std::span<const Tensor> inputs,
                                   int rank) {
  const Node& node = graph[n];
  std::vector<Type> operands, types;
  for (const Tensor& t : inputs) operands.push_back(t.type());
  for (Value v : graph.results(n)) types.push_back(graph.type(v));
  // All results are empty: no kernel must walk over operands, whose other dimensions may be huge.
  if (std::ranges::all_of(types, [](const Type& t) { return t.elements() == 0; })) {
    std::vector<Tensor> results;
    for (const Type& t : types) results.emplace_back(t);
    return results;
  }
  if (instead_) {
    std::vector<Tensor> results = instead_(graph, n, inputs, rank);
    if (!results.empty()) return results;
  }
  const Prepared& p =
      prepared({*node.op, node.attributes, operands, types, graph.world(), rank}, graph);
  // Elements of an unordered map keep their addresses while nodes of the expansion are added.
  if (p.op == nullptr) return run_expansion(p.expansion, inputs, rank);
  return run_prepared(p.op, p.same_bytes, inputs);
}

std::vector<Tensor> evaluate(const Graph& graph, NodeId node, std::span<const Tensor> inputs,
                             int rank) {
  return Evaluator().run(graph, node, inputs, rank);
}

}  // namespace hocket

#include "hocket/lower/steps.h"

#include "hocket/ops/ops.h"

namespace hocket {
namespace {

bool without_elements(const Graph& g, NodeId n) {
  for (std::uint32_t i = 0; i < g[n].result_count; ++i)
    if (g.type(g.result(n, i)).elements() > 0) return false;
  return true;
}

bool is_named_constant(const Node& node) {
  return node.op == &ops::constant && constant_ref(node) != nullptr;
}

}  // namespace

Expander::Expander(const World& world, int rank, Backend* backend)
    : world_(world), rank_(rank), backend_(backend) {}

Expander::~Expander() = default;

Expander::Known Expander::prepare(const KernelSpec& spec, const Graph& g) {
  Known known;
  if (backend_ != nullptr) known.kernel = backend_->prepare(spec);
  known.by_backend = known.kernel != nullptr;
  if (known.by_backend) return known;
  if (spec.op.expand == nullptr) {
    known.kernel = prepare_reference(spec);
    return known;
  }
  known.expansion = hocket::expand(spec, g.shared_world());
  return known;
}

const Expander::Known& Expander::lookup(const Graph& g, NodeId n) {
  const Node& node = g[n];
  operands_.clear();
  results_.clear();
  for (Value v : node.inputs) operands_.push_back(g.type(v));
  for (Value v : g.results(n)) results_.push_back(g.type(v));
  KernelSpec spec{*node.op, node.attributes, operands_, results_, world_, rank_};
  write_key(key_, spec);
  auto found = known_.find(key_);
  if (found == known_.end()) found = known_.emplace(key_, prepare(spec, g)).first;
  return found->second;
}

/// The nodes of an expansion or a region in place of node n.
void Expander::add_body(const Body& body, const Graph& g, NodeId n, NodeId origin,
                        std::vector<ValueNumber>& numbers, Steps& out) {
  const Node& node = g[n];
  std::vector<ValueNumber> inside(body.graph.value_bound());
  for (std::uint32_t i = 0; i < node.inputs.size(); ++i)
    inside[body.parameters[i].index] = numbers[node.inputs[i].index];
  for (NodeId m : body.graph.nodes()) add(body.graph, m, origin, inside, out);
  for (std::uint32_t i = 0; i < node.result_count; ++i)
    numbers[g.result(n, i).index] = inside[body.results[i].index];
}

void Expander::add(const Graph& g, NodeId n, NodeId origin, std::vector<ValueNumber>& numbers,
                   Steps& out) {
  const Node& node = g[n];
  const Op& op = *node.op;
  bool runs = op.collective == nullptr && !op.is_wait && !is_named_constant(node) &&
              !without_elements(g, n);
  if (runs && node.region) {
    std::vector<Value> parameters, results;
    for (const Input& in : node.region->inputs()) parameters.push_back(in.value);
    for (const Output& o : node.region->outputs()) results.push_back(o.value);
    return add_body({*node.region, parameters, results}, g, n, origin, numbers, out);
  }
  const Known* known = runs ? &lookup(g, n) : nullptr;
  if (known != nullptr && known->expansion.body != nullptr) {
    const auto& [body, parameters, results] = known->expansion;
    return add_body({*body, parameters, results}, g, n, origin, numbers, out);
  }
  Step step{.op = &op,
            .attributes = &node.attributes,
            .node = origin,
            .operands = static_cast<std::uint32_t>(out.operand_numbers.size()),
            .operand_count = node.inputs.size(),
            .result_count = node.result_count};
  if (known != nullptr) {
    step.kernel = known->kernel.get();
    step.by_backend = known->by_backend;
  }
  for (Value v : node.inputs) out.operand_numbers.push_back(numbers[v.index]);
  if (node.result_count > 0) {
    // Values of the phase's own graph have their numbers already.
    step.results = numbers[node.first_result];
    if (&numbers != &out.numbers) {
      step.results = static_cast<ValueNumber>(out.types.size());
      for (std::uint32_t i = 0; i < node.result_count; ++i) {
        numbers[node.first_result + i] = step.results + i;
        out.types.push_back(&g.type(g.result(n, i)));
      }
    }
  }
  out.steps.push_back(step);
}

Steps Expander::expand(const Graph& phase) {
  Steps out;
  out.numbers.resize(phase.value_bound());
  out.types.resize(phase.value_bound());
  for (std::uint32_t i = 0; i < phase.value_bound(); ++i) {
    out.numbers[i] = i;
    if (i > 0) out.types[i] = &phase.type(Value{i});
  }
  out.steps.reserve(phase.size());
  for (NodeId n : phase.nodes()) add(phase, n, n, out.numbers, out);
  return out;
}

}  // namespace hocket

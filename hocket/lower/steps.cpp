#include "hocket/lower/steps.h"

#include <algorithm>
#include <bit>

#include "hocket/base/hash.h"
#include "hocket/ops/expand.h"
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

std::vector<Type> types_of(const Graph& g, std::span<const Value> values) {
  std::vector<Type> types;
  for (Value v : values) types.push_back(g.type(v));
  return types;
}

}  // namespace

Expander::Expander(const World& world, int rank, Backend* backend)
    : world_(world), rank_(rank), backend_(backend) {}

Expander::~Expander() = default;

std::size_t Expander::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = key.size();
  for (std::int64_t v : key) hash = mixed(hash ^ static_cast<std::uint64_t>(v));
  return hash;
}

/// Op, attributes, sizes of lists, types and region of a node, as numbers.
void Expander::write_key(const Graph& g, NodeId n) {
  const Node& node = g[n];
  key_.clear();
  auto list = [&](const auto& numbers, auto as_integer) {
    key_.push_back(static_cast<std::int64_t>(numbers.size()));
    for (const auto& v : numbers) key_.push_back(as_integer(v));
  };
  auto same = [](auto v) { return static_cast<std::int64_t>(v); };
  auto bits = [](double v) { return std::bit_cast<std::int64_t>(v); };
  auto text = [&](const std::string& s) {
    return texts_.emplace(s, static_cast<std::int64_t>(texts_.size())).first->second;
  };
  auto type = [&](const Type& t) {
    key_.push_back(same(t.dtype) * 2 + (t.pending ? 1 : 0));
    list(t.shape, same);
  };
  key_.push_back(reinterpret_cast<std::intptr_t>(node.op));
  key_.push_back(reinterpret_cast<std::intptr_t>(node.region.get()));
  for (const Attribute& a : node.attributes.values())
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          key_.push_back(static_cast<std::int64_t>(a.index()));
          if constexpr (std::is_same_v<T, double>)
            key_.push_back(bits(v));
          else if constexpr (std::is_same_v<T, std::string>)
            key_.push_back(text(v));
          else if constexpr (std::is_same_v<T, Type>)
            type(v);
          else if constexpr (std::is_same_v<T, Floats>)
            list(v, bits);
          else if constexpr (std::is_same_v<T, Strings>)
            list(v, text);
          else if constexpr (requires { v.size(); })
            list(v, same);
          else
            key_.push_back(same(v));
        },
        a);
  list(node.attributes.list_sizes(), same);
  for (Value v : node.inputs) type(g.type(v));
  for (std::uint32_t i = 0; i < node.result_count; ++i) type(g.type(g.result(n, i)));
}

Expander::Known Expander::prepare(const Graph& g, NodeId n) {
  const Node& node = g[n];
  Known known;
  if (node.region) {
    known.body = node.region.get();
    for (const Input& in : known.body->inputs()) known.parameters.push_back(in.value);
    for (const Output& o : known.body->outputs()) known.results.push_back(o.value);
    return known;
  }
  std::vector<Value> values(node.inputs.begin(), node.inputs.end());
  std::vector<Type> operands = types_of(g, values), results = types_of(g, g.results(n));
  KernelSpec spec{*node.op, node.attributes, operands, results, world_, rank_};
  if (backend_ != nullptr) known.kernel = backend_->prepare(spec);
  known.by_backend = known.kernel != nullptr;
  if (known.by_backend) return known;
  if (node.op->expand == nullptr) {
    known.kernel = prepare_reference(spec);
    return known;
  }
  auto body = std::make_unique<Graph>("expansion", g.shared_world());
  for (const Type& t : operands) known.parameters.push_back(body->add_input(t, "x"));
  ExpandCall call{At(*body), *node.op, node.attributes, known.parameters, results};
  known.results = node.op->expand(call);
  known.body = body.get();
  known.expansion = std::move(body);
  return known;
}

const Expander::Known& Expander::lookup(const Graph& g, NodeId n) {
  write_key(g, n);
  auto found = known_.find(key_);
  if (found != known_.end()) return found->second;
  Key key = key_;  // that of an expansion's node takes its place
  return known_.emplace(std::move(key), prepare(g, n)).first->second;
}

void Expander::add(const Graph& g, NodeId n, NodeId origin, std::vector<ValueNumber>& numbers,
                   Steps& out) {
  const Node& node = g[n];
  const Op& op = *node.op;
  bool runs = op.collective == nullptr && !op.is_wait && !is_named_constant(node) &&
              !without_elements(g, n);
  const Known* known = runs ? &lookup(g, n) : nullptr;
  if (known != nullptr && known->body != nullptr) {
    std::vector<ValueNumber> inside(known->body->value_bound());
    for (std::size_t i = 0; i < known->parameters.size(); ++i)
      inside[known->parameters[i].index] =
          numbers[node.inputs[static_cast<std::uint32_t>(i)].index];
    for (NodeId m : known->body->nodes()) add(*known->body, m, origin, inside, out);
    for (std::uint32_t i = 0; i < node.result_count; ++i)
      numbers[g.result(n, i).index] = inside[known->results[i].index];
    return;
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

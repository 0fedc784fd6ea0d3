#include "hocket/passes/cleanup/fold.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "hocket/base/element.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/evaluate.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/cleanup/edit_regions.h"

namespace hocket {
namespace {

bool is_view(const Op* op) {
  return op == &ops::reshape || op == &ops::permute || op == &ops::broadcast;
}

/// If n is a view of a view of the same kind, makes it read the operand of the first view.
void join_views(Graph& g, NodeId n) {
  const Op* op = g[n].op;
  if (!is_view(op)) return;
  NodeId m = g.node(g[n].inputs[0]);
  if (g[m].op != op || g[m].delay != g[n].delay) return;
  if (op == &ops::permute) {
    Ints dims;
    for (std::int64_t d : g[n].attr<Ints>("dims"))
      dims.push_back(g[m].attr<Ints>("dims")[static_cast<std::size_t>(d)]);
    g.set_attribute(n, "dims", dims);
  }
  g.set_operand(n, 0, g[m].inputs[0]);
}

bool does_nothing(const Graph& g, NodeId n) {
  const Node& node = g[n];
  if (!is_view(node.op) && node.op != &ops::cast) return false;
  if (g.type(node.inputs[0]) != g.type(g.result(n))) return false;
  if (node.op != &ops::permute) return true;
  const Ints& dims = node.attr<Ints>("dims");
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// Which values are constants: a small table, so that operands need not be looked up in the graph.
class Constants {
 public:
  explicit Constants(const Graph& g) : known_(g.value_bound()) {}

  bool has(Value v) const { return v.index < known_.size() && known_[v.index] != 0; }
  void note(Value v) {
    if (v.index >= known_.size()) known_.resize(v.index + 1);
    known_[v.index] = 1;
  }

 private:
  std::vector<char> known_;  // by value
};

/// The one element that a `full` or a one-element constant has everywhere, as a rank-0 tensor.
std::optional<Tensor> uniform_value(const Graph& g, Value v) {
  const Node& node = g[g.node(v)];
  Type scalar{g.type(v).dtype, false, {}};
  if (node.op == &ops::full)
    return run_reference(*node.op, node.attributes, {}, {&scalar, 1}, g.world()).front();
  auto value = g.type(v).elements() == 1 ? ops::constant_value(g, v) : std::nullopt;
  if (!value) return std::nullopt;
  return Tensor(scalar, *value);
}

bool has_nan(const Tensor& t) {
  return visit(t.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < t.type().elements(); ++i) {
      auto x = load(t.as<T>()[i]);
      if (x != x) return true;
    }
    return false;
  });
}

Tensor spread(const Tensor& scalar, const Type& type) {
  Tensor out(type);
  visit_size(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(out.as<T>(), type.elements(), scalar.as<T>()[0]);
  });
  return out;
}

/// Adds a node for a tensor of any size whose elements are all equal.
std::optional<Value> add_uniform(At at, const Tensor& scalar, const Type& type) {
  if (type.elements() <= ops::max_written_elements)
    return ops::add_constant(at, spread(scalar, type));
  // A tensor needs 17 elements to become a `full`; only the attributes of that node are used.
  Graph scratch;
  auto sample = ops::add_constant(
      scratch, spread(scalar, {type.dtype, false, {ops::max_written_elements + 1}}));
  if (!sample) return std::nullopt;
  const Node& full = scratch[scratch.node(*sample)];
  Type types[] = {type};
  return at.graph->result(
      at.graph->add(at, {.op = full.op, .attributes = full.attributes, .types = types}));
}

std::optional<Value> folded(Graph& g, NodeId n, const Constants& constants) {
  const Node& node = g[n];
  if (node.op == &ops::stop_gradient) return std::nullopt;
  bool moves = node.op->moves_data;
  if ((!moves && !node.op->exactly_rounded) || node.inputs.empty() || node.result_count != 1)
    return std::nullopt;
  auto is_constant = [&](Value v) { return constants.has(v); };
  if (!std::ranges::all_of(node.inputs, is_constant)) return std::nullopt;
  const Type& type = g.type(g.result(n));
  At at(g, n, g.path(n));

  // Data movement keeps elements equal, and elementwise arithmetic on one of them gives all.
  std::vector<Tensor> scalars;
  for (Value v : node.inputs) {
    auto scalar = uniform_value(g, v);
    if (!scalar) break;
    scalars.push_back(*scalar);
  }
  bool one_value =
      std::ranges::all_of(scalars, [&](const Tensor& t) { return same_bits(t, scalars[0]); });
  if (scalars.size() == node.inputs.size() && (!moves || one_value)) {
    Tensor result = scalars[0];
    if (!moves) {
      Type scalar{type.dtype, false, {}};
      result = run_reference(*node.op, node.attributes, scalars, {&scalar, 1}, g.world()).front();
      if (has_nan(result)) return std::nullopt;
    }
    return add_uniform(at, result, type);
  }

  if (type.elements() > ops::max_written_elements) return std::nullopt;
  std::vector<Tensor> operands;
  for (Value v : node.inputs) {
    auto value = ops::constant_value(g, v);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  Tensor result = evaluate(g, n, operands).front();
  if (!moves && has_nan(result)) return std::nullopt;
  return ops::add_constant(at, result);
}

}  // namespace

void fold(Graph& g, const NoOptions&) {
  Constants constants(g);
  for (NodeId n : g.nodes()) {
    if (g[n].op == &ops::full || g[n].op == &ops::constant) constants.note(g.result(n));
    if (g[n].inputs.empty() || g[n].delay != 0) continue;
    join_views(g, n);
    Value old = g.result(n);
    // A delayed next value stands in for its state in readers that run ahead. If it replaced n, an
    // output or another state could read it, where it would not stand in for the state.
    if (does_nothing(g, n) && g[g.node(g[n].inputs[0])].delay == 0) {
      g.replace_uses(old, g[n].inputs[0]);
    } else if (auto constant = folded(g, n, constants)) {
      constants.note(*constant);
      g.swap_names(old, *constant);
      g.replace_uses(old, *constant);
    } else {
      continue;
    }
    g.erase(n);
  }
  edit_regions(g, [](Graph& inner) { fold(inner, {}); });
}

}  // namespace hocket

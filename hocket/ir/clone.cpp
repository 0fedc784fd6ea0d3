#include "hocket/ir/clone.h"

#include <unordered_set>

#include "hocket/base/error.h"

namespace hocket {

bool Copier::same_types(NodeId n, std::span<const Value> operands) const {
  const auto& inputs = from_[n].inputs;
  if (from_.shared_world() != to_.shared_world() || inputs.size() != operands.size()) return false;
  for (std::uint32_t i = 0; i < inputs.size(); ++i)
    if (from_.type(inputs[i]) != to_.type(operands[i])) return false;
  return true;
}

std::uint32_t Copier::path(std::uint32_t of) {
  if (of >= paths_.size()) paths_.resize(from_.data_.paths.size());
  if (paths_[of] == 0) paths_[of] = to_.intern_path(from_.data_.paths[of]) + 1;
  return paths_[of] - 1;
}

Name Copier::name(Value of) {
  const NameTable& names = from_.data_.names;
  Name wanted = from_.data_.values[of.index].name;
  if (wanted.base >= bases_.size()) bases_.resize(names.base_count());
  std::uint32_t& base = bases_[wanted.base];
  if (base == 0) base = to_.data_.names.base_of(names.base_text(wanted.base)) + 1;
  return {base - 1, wanted.number};
}

NodeId Copier::copy(NodeId n, At at, std::span<const Value> operands, int delay) {
  const Node& original = from_[n];
  const Op& op = *original.op;
  to_.require_place(at, op);
  for (Value v : operands) to_.require_value(v, op.name);
  if (!same_types(n, operands)) {
    std::vector<Type> types;
    for (Value v : from_.results(n)) types.push_back(from_.type(v));
    to_.infer({.op = &op,
               .inputs = operands,
               .attributes = original.attributes,
               .types = types,
               .region = original.region});
  }
  Node node;
  node.op = &op;
  node.attributes = original.attributes;
  node.region = original.region;
  node.delay = delay;
  node.stage = original.stage;
  node.result_count = original.result_count;
  node.path_ = original.path_ != 0 ? path(original.path_) : to_.intern_path(at.path);
  if (channels_ == Channels::fresh && (op.starts || op.effect))
    if (int i = op.attribute_index("channel"); i >= 0)
      node.attributes = node.attributes.with(static_cast<std::size_t>(i), std::int64_t{-1});
  to_.claim_channel(node);
  NodeId made = to_.insert(std::move(node), at.before);
  for (std::uint32_t i = 0; i < original.result_count; ++i) {
    Value v = from_.result(n, i);
    to_.add_result(made, from_.type(v), to_.data_.names.claim(name(v), to_.data_.values.size()));
  }
  for (Value v : operands) to_.append_operand(made, v);
  return made;
}

std::vector<NodeId> clone_nodes(const Graph& from, std::span<const NodeId> nodes, At at,
                                ValueMap& map) {
  std::vector<NodeId> copies;
  bool same_graph = at.graph == &from;
  Copier copier(from, *at.graph, Copier::Channels::fresh);
  std::vector<Value> operands;
  for (NodeId n : nodes) {
    operands.clear();
    for (Value v : from[n].inputs) {
      auto image = map.find(v);
      if (image == map.end() && !same_graph)
        internal_fail("clone of {}: nothing stands for %{}", from.describe(n), from.name(v));
      operands.push_back(image == map.end() ? v : image->second);
    }
    NodeId copy = copier.copy(n, at, operands, from[n].delay);
    for (std::uint32_t i = 0; i < from[n].result_count; ++i)
      map[from.result(n, i)] = at.graph->result(copy, i);
    copies.push_back(copy);
  }
  return copies;
}

bool is_leaf_subgraph(const Graph& graph, std::span<const NodeId> nodes) {
  std::unordered_set<NodeId> inside(nodes.begin(), nodes.end());
  inside.insert(graph.return_node());
  for (NodeId n : nodes)
    for (Value v : graph.results(n))
      for (Use use : graph.uses(v))
        if (!inside.contains(use.node)) return false;
  return true;
}

}  // namespace hocket

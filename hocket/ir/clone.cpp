#include "hocket/ir/clone.h"

#include <algorithm>
#include <unordered_set>

#include "hocket/base/error.h"

namespace hocket {

std::vector<NodeId> clone_nodes(const Graph& from, std::span<const NodeId> nodes, At at,
                                ValueMap& map) {
  std::vector<NodeId> copies;
  bool same_graph = at.graph == &from;
  for (NodeId n : nodes) {
    const Node& node = from[n];
    std::vector<Value> inputs;
    for (Value v : node.inputs) {
      auto image = map.find(v);
      if (image == map.end() && !same_graph)
        internal_fail("clone of {}: nothing stands for %{}", from.describe(n), from.name(v));
      inputs.push_back(image == map.end() ? v : image->second);
    }
    std::vector<std::string> names;
    std::vector<Type> types;
    for (Value v : from.results(n)) {
      names.push_back(from.name(v));
      types.push_back(from.type(v));
    }
    std::vector<std::string_view> wanted(names.begin(), names.end());
    Attributes attributes = node.attributes;
    int channel =
        node.op->is_collective || node.op->has_effect ? node.op->attribute_index("channel") : -1;
    if (channel >= 0)
      attributes = attributes.with(static_cast<std::size_t>(channel), std::int64_t{-1});
    NodeId copy = at.graph->add(at, {.op = node.op,
                                     .inputs = inputs,
                                     .attributes = attributes,
                                     .names = wanted,
                                     .types = types,
                                     .path = from.path(n),
                                     .delay = node.delay,
                                     .stage = node.stage,
                                     .region = node.region});
    for (std::uint32_t i = 0; i < node.result_count; ++i)
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

Copier::Copier(const Graph& from, Graph& to) : from_(from), to_(to) {
  if (&from == &to || from.shared_world() != to.shared_world())
    internal_fail("copies of {}: wanted another graph of the same world", from.name());
}

bool Copier::same_types(NodeId n, std::span<const Value> operands) const {
  return std::ranges::equal(from_[n].inputs, operands, [&](Value v, Value operand) {
    return from_.type(v) == to_.type(operand);
  });
}

std::uint32_t Copier::translated_path(std::uint32_t path) {
  const Texts& all = from_.data_.paths;
  if (path >= paths_.size()) paths_.resize(all.size());
  if (paths_[path] == 0) paths_[path] = to_.intern_path(all[path]) + 1;
  return paths_[path] - 1;
}

Name Copier::translated(Name name) {
  const NameTable& all = from_.data_.names;
  if (name.base >= bases_.size()) bases_.resize(all.base_count());
  std::uint32_t& base = bases_[name.base];
  if (base == 0) base = to_.data_.names.base_of(all.base_text(name.base)) + 1;
  return {base - 1, name.number};
}

NodeId Copier::copy(NodeId n, At at, std::span<const Value> operands, int delay) {
  if (!from_.contains(n) || from_.is_input(n) || n == from_.return_node())
    internal_fail("copy: node {} is not a plain node of {}", n.index, from_.name());
  const Node& original = from_[n];
  to_.require_room(at, *original.op);
  for (Value v : operands) to_.require_value(v, original.op->name);
  if (!same_types(n, operands)) {
    std::vector<Type> types;
    for (Value v : from_.results(n)) types.push_back(from_.type(v));
    to_.infer({.op = original.op,
               .inputs = operands,
               .attributes = original.attributes,
               .types = types,
               .region = original.region});
  }
  Node node;
  node.op = original.op;
  node.attributes = original.attributes;
  node.region = original.region;
  node.delay = delay;
  node.stage = original.stage;
  node.result_count = original.result_count;
  node.path_ = original.path_ != 0 ? translated_path(original.path_) : to_.intern_path(at.path);
  NodeId made = to_.insert(std::move(node), at.before, operands);
  for (std::uint32_t i = 0; i < original.result_count; ++i) {
    Value v = from_.result(n, i);
    Name wanted = translated(from_.data_.values[v.index].name);
    to_.add_result(made, from_.type(v), to_.data_.names.claim(wanted, to_.data_.values.size()));
  }
  return made;
}

}  // namespace hocket

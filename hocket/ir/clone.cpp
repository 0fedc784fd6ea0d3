#include "hocket/ir/clone.h"

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
    int channel = node.op->starts || node.op->effect ? node.op->attribute_index("channel") : -1;
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

}  // namespace hocket

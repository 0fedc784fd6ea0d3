#include "hocket/passes/collectives.h"

#include <algorithm>
#include <limits>

#include "hocket/ir/program.h"
#include "hocket/ops/ops.h"

namespace hocket {

bool OwnGroups::owns(const Node& collective) {
  if (graph_.ranks().empty()) return true;
  const auto& group = collective.attr<std::string>("group");
  auto [it, fresh] = known_.emplace(group, false);
  if (fresh) it->second = keeps_to_itself(graph_, group);
  return it->second;
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

bool is_constant(const Graph& g, Value v) {
  const Node& node = g[g.node(v)];
  return node.op != &input_op && node.inputs.empty() && node.op->pure() && !node.op->starts;
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
  if (!op.pure() || op.starts || op.waits || op.has_region) return false;
  return op.body != nullptr || op.free || op.moves_data || &op == &ops::div_each;
}

std::string shown(const Graph& g, Value v) { return "%" + g.name(v); }

std::string shown(const Graph& g, NodeId n) {
  return g[n].result_count > 0 ? shown(g, g.result(n)) : std::string(g[n].op->name);
}

std::string common_path(const Graph& g, const std::vector<NodeId>& nodes) {
  std::string_view common = g.path(nodes[0]);
  for (NodeId n : nodes) {
    std::string_view path = g.path(n);
    std::size_t same = 0;
    while (same < std::min(common.size(), path.size()) && common[same] == path[same]) ++same;
    bool whole = (same == common.size() || common[same] == '.') &&
                 (same == path.size() || path[same] == '.');
    if (!whole) {
      std::size_t dot = common.substr(0, same).rfind('.');
      same = dot == common.npos ? 0 : dot;
    }
    common = common.substr(0, same);
  }
  return std::string(common);
}

}  // namespace hocket

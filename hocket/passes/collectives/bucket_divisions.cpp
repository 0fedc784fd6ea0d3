#include "hocket/passes/collectives/bucket_divisions.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "hocket/base/text.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

/// The constant that a division divides by, as text (dtype and bytes); none for any other node.
std::optional<std::string> constant_divisor(const Graph& g, NodeId n) {
  const Node& node = g[n];
  if (node.op != &ops::div || !g.type(node.inputs[1]).shape.empty()) return std::nullopt;
  auto value = ops::constant_value(g, node.inputs[1]);
  if (!value) return std::nullopt;
  std::string text(name(value->type().dtype));
  for (std::byte b : std::as_const(*value).bytes()) text += static_cast<char>(b);
  return text;
}

NodeId add_div_each(Graph& g, NodeId place, const std::vector<Value>& xs, Value divisor,
                    const std::string& path, const Node& like) {
  std::vector<Value> operands = xs;
  operands.push_back(divisor);
  return g.add(At(g, place),
               {.op = &ops::div_each,
                .inputs = operands,
                .attributes = Attributes(ops::div_each, {})
                                  .with_list_sizes({static_cast<std::uint32_t>(xs.size()), 1}),
                .path = path,
                .delay = like.delay,
                .stage = like.stage});
}

/// Merges these divisions into one node, at the place of the first.
void merge(Graph& g, std::vector<NodeId> divisions) {
  std::ranges::sort(divisions, [&](NodeId a, NodeId b) { return g.before(a, b); });
  std::vector<Value> xs;
  Value divisor = g[divisions[0]].inputs[1];
  for (NodeId n : divisions) {
    xs.push_back(g[n].inputs[0]);
    if (g.before(g.node(g[n].inputs[1]), g.node(divisor))) divisor = g[n].inputs[1];
  }
  NodeId merged =
      add_div_each(g, divisions[0], xs, divisor, common_path(g, divisions), g[divisions[0]]);
  for (std::uint32_t i = 0; i < divisions.size(); ++i) {
    g.swap_names(g.result(divisions[i]), g.result(merged, i));
    g.replace_uses(g.result(divisions[i]), g.result(merged, i));
    g.erase(divisions[i]);
  }
}

/// Merges divisions that have the same constant, delay and stage.
void merge_equal(Graph& g, const std::vector<NodeId>& divisions) {
  std::map<std::tuple<std::string, int, int>, std::vector<NodeId>> groups;
  for (NodeId n : divisions)
    if (auto divisor = constant_divisor(g, n))
      groups[{*divisor, g[n].delay, g[n].stage}].push_back(n);
  for (const auto& group : groups)
    if (group.second.size() > 1) merge(g, group.second);
}

}  // namespace

void merge_divisions(Graph& g, NodeId bucket) {
  std::vector<NodeId> before, behind;
  for (Value v : g[bucket].inputs)
    if (g.uses(v).size() == 1) before.push_back(g.node(v));
  for (NodeId wait : readers_of(g, bucket))
    for (Value v : g.results(wait))
      for (Use use : g.uses(v))
        if (use.operand == 0 && use.node != g.return_node()) behind.push_back(use.node);
  merge_equal(g, before);
  merge_equal(g, behind);
}

bool divide_after(Graph& g, NodeId bucket) {
  const Node& node = g[bucket];
  auto refuse = [&](std::string why) {
    g.remark({.where = shown(g, bucket), .what = "divided where it was", .why = std::move(why)});
    return false;
  };
  if (node.op->attribute_index("reduce") >= 0) {
    const auto& reduce = node.attr<std::string>("reduce");
    if (reduce != "sum" && reduce != "avg")
      return refuse(fmt::format("a division cannot be moved across reduce={}", quoted(reduce)));
  }
  std::optional<std::string> divisor = constant_divisor(g, g.node(node.inputs[0]));
  for (Value v : node.inputs) {
    auto mine = constant_divisor(g, g.node(v));
    if (!mine) return refuse(fmt::format("{} is not divided by a constant", shown(g, v)));
    if (mine != divisor)
      return refuse(fmt::format("{} and {} are divided by different numbers",
                                shown(g, node.inputs[0]), shown(g, v)));
    if (g[g.node(v)].delay != node.delay)
      return refuse(fmt::format("{} is divided in another iteration", shown(g, v)));
  }
  for (Value v : g.results(bucket))
    for (Use use : g.uses(v))
      if (use.node == g.return_node())
        return refuse(fmt::format("{} is carried in flight", shown(g, v)));

  Value by = g[g.node(node.inputs[0])].inputs[1];
  for (std::uint32_t i = 0; i < g[bucket].inputs.size(); ++i) {
    NodeId division = g.node(g[bucket].inputs[i]);
    if (g.before(g.node(g[division].inputs[1]), g.node(by))) by = g[division].inputs[1];
    g.set_operand(bucket, i, g[division].inputs[0]);
    if (!g.used(division)) g.erase(division);
  }
  for (NodeId wait : readers_of(g, bucket)) {
    std::vector<Value> arrived = g.results(wait);
    NodeId merged =
        add_div_each(g, g.following(wait), arrived, by, std::string(g.path(wait)), g[wait]);
    for (std::uint32_t i = 0; i < arrived.size(); ++i)
      g.replace_uses(arrived[i], g.result(merged, i), [&](Use use) { return use.node != merged; });
  }
  g.remark({.where = shown(g, bucket), .what = "divided behind it", .why = "divide=after"});
  return true;
}

}  // namespace hocket

#include "hocket/passes/optimizer/optimizer_lists.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace hocket {
namespace {

/// The common module path of all parts; empty if they differ.
std::string_view common_path(const Graph& g, std::span<const OptimizerPart> parts) {
  std::string_view path = g.path(parts[0].node);
  bool same =
      std::ranges::all_of(parts, [&](const OptimizerPart& p) { return g.path(p.node) == path; });
  return same ? path : std::string_view();
}

}  // namespace

std::size_t parameter_count(const Node& optimizer) { return optimizer.slot(0).size(); }

NodeId assemble(Graph& g, std::span<const OptimizerPart> parts, NodeId place) {
  const Node& first = g[parts[0].node];
  std::uint32_t count = 0;
  for (const OptimizerPart& p : parts) count += static_cast<std::uint32_t>(p.positions.size());
  std::vector<Value> operands;
  std::vector<std::uint32_t> sizes(first.attributes.list_sizes().begin(),
                                   first.attributes.list_sizes().end());
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    bool list = first.op->operands[s].count == Count::many;
    if (!list) operands.insert(operands.end(), first.slot(s).begin(), first.slot(s).end());
    if (!list || sizes[s] == 0) continue;
    sizes[s] = count;
    for (const OptimizerPart& p : parts) {
      std::span<const Value> from = g[p.node].slot(s);
      for (std::uint32_t i : p.positions) operands.push_back(from[i]);
    }
  }
  NodeId made = g.add(At(g, place, common_path(g, parts)),
                      {.op = first.op,
                       .inputs = operands,
                       .attributes = first.attributes.with_list_sizes(std::move(sizes)),
                       .delay = first.delay,
                       .stage = first.stage});
  std::uint32_t lists = g[made].result_count / count, next = 0;
  for (std::uint32_t l = 0; l < lists; ++l)
    for (const OptimizerPart& p : parts) {
      std::uint32_t length = g[p.node].result_count / lists;
      for (std::uint32_t i : p.positions) {
        Value old = g.result(p.node, l * length + i), now = g.result(made, next++);
        g.replace_uses(old, now);
        g.swap_names(old, now);
      }
    }
  return made;
}

void cut_optimizer(Graph& g, NodeId whole, std::span<const Positions> parts, std::string why) {
  g.remark({.where = "%" + g.name(g.result(whole)),
            .what = fmt::format("cut in {}", parts.size()),
            .why = std::move(why)});
  for (const Positions& positions : parts) assemble(g, {{{whole, positions}}}, whole);
  g.erase(whole);
}

}  // namespace hocket

#include "hocket/passes/optimizer/element_rows.h"

#include "hocket/ops/ops.h"

namespace hocket {

bool has_lists(const Node& node) { return node.op->is_optimizer || node.op == &ops::div_each; }

std::uint32_t list_length(const Node& node) { return node.attributes.list_sizes()[0]; }

std::optional<std::uint32_t> list_position(const Node& node, std::uint32_t operand) {
  if (!has_lists(node)) return std::nullopt;
  std::size_t slot = 0;
  for (std::uint32_t size : node.attributes.list_sizes()) {
    if (operand < size)
      return node.op->operands[slot].count == Count::many ? std::optional(operand) : std::nullopt;
    operand -= size;
    ++slot;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> row_of(const Graph& g, Use use) {
  const Node& node = g[use.node];
  const Shape& shape = g.type(node.inputs[use.operand]).shape;
  if (shape.empty()) return std::nullopt;
  if (has_lists(node)) {
    auto at = list_position(node, use.operand);
    return at && shape == g.type(g.result(use.node, *at)).shape ? at : std::nullopt;
  }
  if (node.op == &ops::after || node.op == &ops::reshape || node.op == &ops::stop_gradient)
    return use.operand == 0 ? std::optional(0U) : std::nullopt;
  bool by_element = node.op->body != nullptr && shape == g.type(g.result(use.node)).shape;
  return by_element ? std::optional(0U) : std::nullopt;
}

ElementRow element_row(const Graph& g, NodeId n, std::uint32_t row) {
  const Node& node = g[n];
  ElementRow result;
  auto sort = [&](std::uint32_t operand) {
    bool tensor = row_of(g, {n, operand}) == row;
    (tensor ? result.tensors : result.numbers).push_back(operand);
  };
  if (!has_lists(node)) {
    result.results.push_back(0);
    // The other operands of an ordering op are only order constraints.
    std::uint32_t count = node.op->is_ordering ? 1 : node.inputs.size();
    for (std::uint32_t i = 0; i < count; ++i) sort(i);
    return result;
  }
  for (std::uint32_t i = row; i < node.result_count; i += list_length(node))
    result.results.push_back(i);
  std::uint32_t start = 0;
  std::size_t slot = 0;
  for (std::uint32_t size : node.attributes.list_sizes()) {
    if (node.op->operands[slot++].count != Count::many) {
      for (std::uint32_t i = 0; i < size; ++i) sort(start + i);
    } else if (row < size) {
      sort(start + row);
    }
    start += size;
  }
  return result;
}

}  // namespace hocket

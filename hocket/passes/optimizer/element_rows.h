#pragma once
// Which elements of a node's operands become which elements of its results.

#include <cstdint>
#include <optional>

#include "hocket/base/small_vector.h"
#include "hocket/ir/graph.h"

namespace hocket {

/// True for an optimizer and a `div_each`: they work on lists of independent tensors.
bool has_lists(const Node& node);
/// How many tensors such a node has in each of its lists.
std::uint32_t list_length(const Node& node);
/// The place of an operand in its list; none for what applies to all tensors, and for other nodes.
std::optional<std::uint32_t> list_position(const Node& node, std::uint32_t operand);

/// Operands and results, by index, of equal shape: element i of the results is computed from
/// element i of the operands, and from the numbers, which apply to all elements.
struct ElementRow {
  SmallVector<std::uint32_t, 4> tensors, numbers, results;
};

/// The row of a node that an operand belongs to as a tensor, by number: its place in its list, else
/// 0. None when the node does more with it than arithmetic by element or a change of shape that
/// keeps the order of elements, or when it is a single number.
std::optional<std::uint32_t> row_of(const Graph& g, Use use);
/// One row; the node must have it. O(slots).
ElementRow element_row(const Graph& g, NodeId n, std::uint32_t row);

}  // namespace hocket

#pragma once
// Which operands and results of a node correspond element by element.

#include <cstdint>
#include <optional>

#include "hocket/base/small_vector.h"
#include "hocket/ir/graph.h"

namespace hocket {

/// True for optimizers and `div_each`, which work on lists of independent tensors.
bool has_lists(const Node& node);
/// How many tensors such a node has in each of its lists.
std::uint32_t list_length(const Node& node);
/// The position of an operand in its list; none for an operand that is in no list (a learning
/// rate), and for nodes without lists.
std::optional<std::uint32_t> list_position(const Node& node, std::uint32_t operand);

/// A *row*: operands and results of a node, by index, such that element i of the results depends
/// only on element i of `tensors` and on the scalars `numbers`. They have equal shapes, except for
/// a reshape. An optimizer has one row for each parameter, an elementwise node a single row.
struct ElementRow {
  SmallVector<std::uint32_t, 4> tensors, numbers, results;
};

/// The index of the row to whose `tensors` an operand belongs: its position in its list, or 0 in a
/// node without lists. None for a scalar, and where the node is not elementwise and does more than
/// reshape.
std::optional<std::uint32_t> row_of(const Graph& g, Use use);
/// The row with index `row`, which the node must have. O(slots).
ElementRow element_row(const Graph& g, NodeId n, std::uint32_t row);

}  // namespace hocket

#pragma once
// The lists of an optimizer node, to be cut and joined.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Places in the lists of an optimizer node.
using Positions = std::vector<std::uint32_t>;

/// Some of the parameters of an optimizer node, with all that belongs to them.
struct OptimizerPart {
  NodeId node;
  Positions positions;
};

/// How many parameters an optimizer node updates.
std::size_t parameter_count(const Node& optimizer);

/// One optimizer node for all these parts, in their order, put before `place`. What they do not
/// have in lists (lr, scale, skip, attributes) is taken from the first and must be the same for
/// all. Readers of the parts' results read those of the new node, under the same names; the old
/// nodes stay. O(operands of the new node and uses).
NodeId assemble(Graph& g, std::span<const OptimizerPart> parts, NodeId place);

/// One node for each part, where the whole stood, with a remark that says why. O(operands and
/// uses).
void cut_optimizer(Graph& g, NodeId whole, std::span<const Positions> parts, std::string why);

}  // namespace hocket

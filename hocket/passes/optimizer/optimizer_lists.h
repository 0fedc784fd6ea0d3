#pragma once
// Cuts and joins optimizer nodes along their lists.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Positions in the lists of an optimizer node.
using Positions = std::vector<std::uint32_t>;

/// Some parameters of an optimizer node, with their gradients and state.
struct OptimizerPart {
  NodeId node;
  Positions positions;
};

/// How many parameters an optimizer node updates.
std::size_t parameter_count(const Node& optimizer);

/// Adds one optimizer node for all parts, in their order, before `place`. Operands outside of lists
/// (lr, scale, skip) and attributes are those of the first part and must be the same for all.
/// Readers are redirected to the results of the new node, which take over the names; the old nodes
/// stay. O(operands of the new node and uses).
NodeId assemble(Graph& g, std::span<const OptimizerPart> parts, NodeId place);

/// Replaces an optimizer by one node for each part, with a remark that gives the reason. O(operands
/// and uses).
void cut_optimizer(Graph& g, NodeId whole, std::span<const Positions> parts, std::string why);

}  // namespace hocket

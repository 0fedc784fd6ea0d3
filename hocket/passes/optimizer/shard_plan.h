#pragma once
// Decides which values of an optimizer step can be sharded.

#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// The values that become pieces, over one group.
struct ShardPlan {
  std::string group;
  std::vector<bool> sharded;    ///< by value; includes the pending results of collectives
  std::vector<bool> gathered;   ///< by value: the sharded new parameters, which are gathered
  std::vector<Value> states;    ///< inputs that become pieces
  std::vector<NodeId> reduces;  ///< all-reduces with members that become pieces, in list order
  std::vector<NodeId> origin;   ///< by sharded value: the last all-reduce that it comes from
  std::vector<Value> equal;  ///< other state that pieces are computed from, which must start equal
};

/// Follows the results of the group's all-reduces, element by element, to the next values of
/// parameters and optimizer state. Tensors that are computed from each other form an equivalence
/// class: all of them become pieces, or none. A class that cannot leaves a remark with the reason.
///
/// Each rank's piece will be used by all ranks. So ranks must hold equal values of all that a piece
/// is computed from: see uniform_values. O(nodes + uses).
ShardPlan plan_shards(Graph& g, const std::string& group);

}  // namespace hocket

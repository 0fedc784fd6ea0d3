#pragma once
// What an optimizer can do on pieces of tensors.

#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// The values that become pieces, over one group.
struct ShardPlan {
  std::string group;
  std::vector<bool> sharded;    ///< by value; of collectives the pending results
  std::vector<bool> gathered;   ///< by value: the new parameters among them, wanted whole as well
  std::vector<Value> states;    ///< inputs that become pieces
  std::vector<NodeId> reduces;  ///< all-reduces with members that become pieces, in list order
  std::vector<NodeId> origin;   ///< by sharded value: the all-reduce it comes from, the last one
  std::vector<Value> equal;     ///< other state that pieces come from, which must start equal
};

/// Follows what the all-reduces of the group bring, by element, to the next values of parameters
/// and optimizer state. Everything on the way has to be on pieces, or nothing: tensors that are
/// computed from each other stand or fall together, and what falls leaves a remark with the reason.
///
/// Ranks must agree on all that a piece is computed from, since each rank's result will stand for
/// all of them: see uniform_values. O(nodes + uses).
ShardPlan plan_shards(Graph& g, const std::string& group);

}  // namespace hocket

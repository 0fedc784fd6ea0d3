#pragma once
// What has to move when the gradients of a collective are waited for in another iteration.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Where a share begins: at the waits for a collective, or at the collective itself.
enum class ShareFrom : std::uint8_t { wait, start };

/// A part of the graph that moves as one: everything that depends on some collectives, and what
/// serves it alone and reads nothing of the iteration but its state (the decay of a momentum, the
/// step of an optimizer). Collectives whose gradients meet have one share.
struct Share {
  std::vector<NodeId> collectives;  ///< in list order, like the nodes
  std::vector<NodeId> nodes;
  std::vector<Value> states;  ///< whose next values it makes
  bool updates = false;       ///< a parameter or optimizer state is among them
  Value number;               ///< a single number in which several collectives meet: a norm, a flag
  Value returned;             ///< what an output reads
  std::string output;         ///< that output, for messages
};

/// The shares of these collectives, in list order of the last of each. The graph has no delays.
/// O(nodes + uses).
std::vector<Share> find_shares(const Graph& g, std::span<const NodeId> collectives, ShareFrom from);

/// Cuts every optimizer whose gradients belong to several shares, or to one and to none, so that no
/// share is joined with another one by it. O(nodes + uses).
void cut_optimizers(Graph& g, std::span<const NodeId> collectives, ShareFrom from);

}  // namespace hocket

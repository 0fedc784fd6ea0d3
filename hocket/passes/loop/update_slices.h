#pragma once
// Update slices: the nodes that must be delayed together with the gradients of a collective.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Where an update slice begins: at the waits for a collective, or at the collective itself.
enum class SliceFrom : std::uint8_t { wait, start };

/// The part of the graph that a delayed collective takes along. It is the forward slice of the
/// collective (everything that depends on it), together with nodes that only this slice reads and
/// that read nothing of the iteration but the slice's state: the decay of a momentum, the step
/// count of an optimizer. Collectives whose gradients are combined share one slice.
///
///     %h = all_reduce(%g)
///     %r = wait(%h)               --+
///     %m1 = mul(%m, 0.9)            |  reads state of the slice, is read by the slice
///     %v = add(%m1, %r)             |  update slice of %h
///     %w1 = sub(%w, %v)           --+
///     next %w = %w1, next %m = %v
struct UpdateSlice {
  std::vector<NodeId> collectives;  ///< in list order, like the nodes
  std::vector<NodeId> nodes;
  std::vector<Value> states;  ///< the states whose next values it computes
  bool updates = false;       ///< true if a parameter or optimizer state is among them
  Value number;               ///< a scalar that depends on several collectives: a norm, a flag
  Value returned;             ///< a value of the slice that an output reads
  std::string output;         ///< that output, for messages
};

/// The slices of these collectives, in list order of the last of each. The graph has no delays.
/// O(nodes + uses).
std::vector<UpdateSlice> find_slices(const Graph& g, std::span<const NodeId> collectives,
                                     SliceFrom from);

/// Cuts every optimizer whose gradients belong to several slices, or to one and to none. So no
/// optimizer joins slices. O(nodes + uses).
void cut_optimizers(Graph& g, std::span<const NodeId> collectives, SliceFrom from);

}  // namespace hocket

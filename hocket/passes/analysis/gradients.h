#pragma once

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// For every node, by index: is it a collective that reduces gradients? It is if its results reach
/// only next values of parameters and optimizer state, and are combined on the way only with state,
/// constants, scalars (a learning rate, a norm, a flag) and other such gradients. With `returned`
/// they may reach outputs as well. A result that is combined with an activation belongs to the
/// backward pass, as in tensor and expert parallelism. O(nodes + uses).
std::vector<bool> find_gradient_collectives(const Graph& g, bool returned = false);

}  // namespace hocket

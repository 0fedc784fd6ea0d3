#pragma once

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// For every node, by index: is it a collective that reduces gradients? It is when what it brings
/// reaches next values of parameters and optimizer state and nothing else, and on its way meets
/// only state, constants, single numbers (a learning rate, a norm, a flag) and other such
/// gradients; with `returned` it may reach outputs as well. Where it meets an activation, by
/// contrast, it is still on its way through the backward pass, as the collectives of tensor and
/// expert parallelism are. O(nodes + uses).
std::vector<bool> find_gradient_collectives(const Graph& g, bool returned = false);

}  // namespace hocket

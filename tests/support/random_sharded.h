#pragma once
// Random steps with sharded parameters and optimizer state.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

/// Fully sharded data parallel: every rank of a group keeps a piece of each parameter and of its
/// optimizer state. Parameters are gathered some layers ahead, sometimes again for the backward
/// pass; gradients are reduce-scattered, sometimes reduced over a second axis and clipped by their
/// norm.
Program random_sharded_step(Random& random);

}  // namespace hocket::testing

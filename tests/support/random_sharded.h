#pragma once
// Random steps whose parameters and optimizer state are kept in pieces.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

/// Fully sharded data parallel: every rank of a group keeps a piece of each parameter and of its
/// optimizer state. Parameters are gathered some layers ahead, at times once more for the backward
/// pass; gradients are scattered, at times reduced over a second axis and clipped by their norm.
Program random_sharded_step(Random& random);

}  // namespace hocket::testing

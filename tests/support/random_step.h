#pragma once
// Random training steps: what passes about gradients and optimizers look for.

#include "support/random_program.h"

namespace hocket::testing {

/// A program for `ranks` ranks that ends in optimizers. Gradients come from buckets of any size, or
/// from none, through waits, divisions, casts and sums, at times clipped by a norm; optimizers of
/// all kinds, some in single ops, share few settings, stand in any order, and some read what
/// another one left; new parameters are read in between. All state has its next value.
Program random_step(Random& random, int ranks);

}  // namespace hocket::testing

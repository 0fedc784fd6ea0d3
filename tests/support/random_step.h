#pragma once
// Random training steps for the passes that work on gradients and optimizers.

#include "support/random_program.h"

namespace hocket::testing {

/// A program for `ranks` ranks that ends in optimizers. Gradients come from buckets of any size or
/// from no collective, through waits, divisions, casts and sums, and are sometimes clipped by a
/// norm. There are optimizers of all kinds in any order, some written out in elementwise ops; they
/// share few settings, and some read results of others. New parameters are also read within the
/// step. All state has a next value.
/// Dimensions are multiplied by `scale`.
Program random_step(Random& random, int ranks, std::int64_t scale = 1);

}  // namespace hocket::testing

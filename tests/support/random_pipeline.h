#pragma once
// Random pipelines: one graph per stage.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

/// Two to four stages, each on one rank or several, run some microbatches forward and backward.
/// Gradients are accumulated over the microbatches and reduced over the ranks of a stage. The first
/// and the last stage may share a weight, whose gradients they reduce over a listed group; a norm
/// over all stages may clip the gradients.
Program random_pipeline(Random& random);

}  // namespace hocket::testing

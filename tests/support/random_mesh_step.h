#pragma once
// Random training steps with a forward and a backward pass, on meshes of up to three axes.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

/// One graph on up to eight ranks (`dp`, `tp`, `pp`): layers, at times of tensors divided over
/// `tp`, weights that are used twice, running statistics; gradients in buckets over a group,
/// divided before or behind it, some over a second group; clipping, rates that are state, and what
/// people do with old and new parameters: averages, copies, outputs, another forward pass.
Program random_mesh_step(Random& random);

}  // namespace hocket::testing

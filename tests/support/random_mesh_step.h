#pragma once
// Random training steps with a forward and a backward pass, on meshes of up to three axes.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

/// One graph on up to eight ranks (`dp`, `tp`, `pp`). Layers, some with tensors divided over `tp`,
/// shared weights and running statistics; gradients in buckets, divided before or after the
/// reduction, some reduced over a second group; clipping; learning rates that are state; and other
/// uses of old and new parameters: averages, copies, outputs, a second forward pass.
Program random_mesh_step(Random& random);

}  // namespace hocket::testing

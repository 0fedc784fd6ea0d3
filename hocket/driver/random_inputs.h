#pragma once
// Values for a graph that came without any.

#include <cstdint>

#include "hocket/frontend/recording.h"
#include "hocket/ir/program.h"

namespace hocket {

/// State and one batch per iteration, each element a function of the seed, the input and its place
/// alone. Integers are 0 or 1; parameters and fed floats lie in [-0.1, 0.1), optimizer state and
/// buffers in [0.5, 1). State is equal on all ranks; what is fed differs by rank and iteration.
frontend::Recording random_recording(const Program& program, std::uint64_t seed, int ranks,
                                     std::int64_t iterations);

}  // namespace hocket

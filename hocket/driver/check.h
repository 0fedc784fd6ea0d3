#pragma once
// What came out against what must come out.

#include <string>
#include <vector>

#include "hocket/driver/outputs.h"
#include "hocket/driver/shards.h"
#include "hocket/frontend/recording.h"
#include "hocket/ir/program.h"

namespace hocket {

struct Comparison {
  bool ok = true;
  std::int64_t tensors = 0;  ///< compared
  std::string name;          ///< of the worst tensor, as the model calls it
  double error = 0;          ///< its largest difference, infinite where one is no number
  double tolerance = 0;      ///< what was allowed there
  double worst = 0;          ///< error / tolerance
};

/// What a run left.
struct Outcome {
  OutputReports outputs;
  InputTables state;
};

/// After so many iterations a recording ends.
std::size_t recorded_iterations(const frontend::Recording& recording);

/// Outputs of the iterations that were recorded, and the state when exactly those were run. A
/// number must lie within 1e-5 of what is expected, relative; a tensor within 1e-4 of its largest
/// element, state within 3e-4 of it, and 3e-6; where 16-bit floats are on the way 1e-3, 2e-2, and
/// 5e-2 and 1e-5. Integers and bools must be equal.
Comparison compare(const Program& program, const frontend::Recording& recording,
                   const Outcome& outcome);

}  // namespace hocket

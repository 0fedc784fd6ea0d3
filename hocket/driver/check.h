#pragma once
// Compares the results of a run with expected values.

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
  std::string name;          ///< of the worst tensor, in the model
  double error = 0;          ///< its largest difference; infinite for a NaN on one side
  double tolerance = 0;      ///< what was allowed there
  double worst = 0;          ///< error / tolerance
};

/// The results of a run.
struct Outcome {
  OutputReports outputs;
  InputTables state;
};

/// The number of iterations in a recording.
std::size_t recorded_iterations(const frontend::Recording& recording);

/// Compares the outputs of all recorded iterations, and the state if the run had exactly as many.
/// Tolerances: 1e-5 relative for a single number; 1e-4 of its largest element for a tensor; 3e-4 of
/// its largest element plus 3e-6 for state. If the program has 16-bit floats: 1e-3, 2e-2, and 5e-2
/// plus 1e-5. Integers and bools must be equal.
Comparison compare(const Program& program, const frontend::Recording& recording,
                   const Outcome& outcome);

}  // namespace hocket

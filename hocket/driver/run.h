#pragma once
// Runs a step for a number of iterations and says what came out.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hocket/base/trace.h"
#include "hocket/comm/link.h"
#include "hocket/driver/check.h"
#include "hocket/driver/compile.h"
#include "hocket/driver/load.h"

namespace hocket {

struct RunOptions {
  CompileOptions compile = {};
  std::string backend = "library";  ///< or "reference"
  int threads = 1;                  ///< per rank
  std::optional<std::int64_t> ranks = {};
  std::optional<std::int64_t> iterations = {};
  std::optional<std::uint64_t> random_inputs = {};
  bool check = false;
  /// "in_process": ranks are threads that run at once; "in_order": all in one thread, in turn, by
  /// the interpreter, which is what everything else is compared with.
  std::string comm = "in_process";
  double deadline = 60;                 ///< seconds that a rank waits for others at most
  std::optional<comm::Link> link = {};  ///< emulated between ranks in one process
  bool trace = false;
  /// Iterations, counted from 1, after which delayed work is caught up with and the state looked
  /// at.
  std::vector<std::int64_t> drain_after = {};
  /// Called before each iteration.
  std::function<void(std::int64_t iteration, std::int64_t of)> progress = nullptr;
};

/// A collective as it is run: `bytes` of one rank's operands.
struct Bucket {
  std::string kind, group;
  std::int64_t members = 0, bytes = 0;
};

/// The state when delayed work was caught up with, after so many iterations.
struct DrainReport {
  std::int64_t after = 0;
  std::string state_digest;
};

struct OutputLabel {
  std::string name;  ///< `out2` for the third where the program gives none
  int lag = 0;       ///< iterations by which it comes later than its own
};

struct RunReport {
  int ranks = 1;
  std::int64_t iterations = 0;
  std::string numerics;  ///< what the bits depend on besides the program
  Outcome outcome;
  std::vector<std::vector<OutputLabel>> labels;  ///< of outputs, by rank
  std::vector<std::string> phases;               ///< by iteration
  std::vector<DrainReport> drains;
  std::string digest, state_digest;
  std::optional<Comparison> check;
  CompileReport compiled;
  std::int64_t nodes = 0, collectives = 0;
  std::vector<Bucket> buckets;
  double compile_seconds = 0;
  double step_seconds = 0;         ///< median over iterations after the first
  std::optional<StepTimes> times;  ///< the same, of the slowest rank in each; unknown in order
  std::optional<Trace> trace;
  std::int64_t peak_bytes = 0;
};

/// Compiles the step's program and runs it. Error when the options do not fit the step, RunError
/// when a rank fails, waits too long or calls something else than the others.
RunReport run(Step step, const RunOptions& options);

}  // namespace hocket

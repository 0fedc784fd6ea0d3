#pragma once
// Runs a step for a number of iterations and reports the results.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/hang_report.h"
#include "hocket/base/trace.h"
#include "hocket/check/certificate.h"
#include "hocket/comm/link.h"
#include "hocket/driver/check.h"
#include "hocket/driver/compile.h"
#include "hocket/driver/load.h"
#include "hocket/plan/bucket_copies.h"

namespace hocket {

struct RunOptions {
  CompileOptions compile = {};
  std::string backend = "library";  ///< or "reference"
  int threads = 1;                  ///< per rank
  std::optional<std::int64_t> ranks = {};
  std::optional<std::int64_t> iterations = {};
  std::optional<std::uint64_t> random_inputs = {};
  bool check = false;
  /// Check the plan before it runs. A pass of your own that rewrites arithmetic must declare that
  /// it changes bits, or its plans are refused.
  bool certify = true;
  std::int64_t memory_limit = 0;  ///< bytes of a rank's arena at most; 0: none
  /// "in_process": one thread per rank; "in_order": the interpreter runs all ranks in one thread,
  /// as the reference.
  std::string comm = "in_process";
  double deadline = 60;                 ///< seconds: the longest wait of a rank for others
  std::optional<comm::Link> link = {};  ///< emulated between ranks in one process
  bool trace = false;
  bool hang_report = false;  ///< the caller wants the report of a failure, which in_order has not
  /// Numbers of iterations, from 1, after which the loop is drained and the digest of the state
  /// taken.
  std::vector<std::int64_t> drain_after = {};
  /// Called before each iteration.
  std::function<void(std::int64_t iteration, std::int64_t of)> progress = nullptr;
};

/// A collective of the compiled program: `bytes` of one rank's operands.
struct Bucket {
  std::string kind, group;
  std::int64_t members = 0, bytes = 0;
};

/// The state in a drain after this many iterations.
struct DrainReport {
  std::int64_t after = 0;
  std::string state_digest;
};

struct OutputLabel {
  std::string name;  ///< `out2` for the third if the program gives none
  int lag = 0;       ///< iterations by which the output is late
};

/// What the plan says about memory.
struct MemoryReport {
  std::int64_t planned_peak_bytes = 0;    ///< of the largest arena
  std::int64_t live_bytes_bound = 0;      ///< no arena can be smaller than this one's
  std::vector<BucketCopy> bucket_copies;  ///< in one iteration of the steady phase
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
  std::optional<StepTimes> times;  ///< medians of the slowest rank; none for in_order
  std::optional<Trace> trace;
  std::int64_t peak_bytes = 0;             ///< of the rank with the most: written in its arena
  std::optional<MemoryReport> memory;      ///< none for in_order
  std::optional<Certificate> certificate;  ///< of the plan, where it was checked
};

/// What ranks that ran at once were doing when the first one failed.
class RunFailed : public RunError {
 public:
  RunFailed(const std::string& what, HangReport report, std::optional<Trace> trace)
      : RunError(what),
        details_(std::make_shared<Details>(Details{std::move(report), std::move(trace)})) {}
  const HangReport& report() const { return details_->report; }
  const std::optional<Trace>& trace() const { return details_->trace; }  ///< if it was asked for

 private:
  struct Details {
    HangReport report;
    std::optional<Trace> trace;
  };
  std::shared_ptr<const Details> details_;  // copies of an exception must not throw
};

/// Compiles the step's program, or takes the plan that was made from it, and runs it. A given plan
/// that its certificate refutes is not run, and then nothing else is reported; one that was made
/// here is an InternalError. Error when the options do not fit the step, RunError when a rank
/// fails, waits too long, or calls another collective than the others: a RunFailed where ranks run
/// at once.
RunReport run(Step step, const RunOptions& options, std::shared_ptr<const Plan> plan = nullptr);

}  // namespace hocket

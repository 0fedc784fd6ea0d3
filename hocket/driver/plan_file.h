#pragma once
// Plans in files: made once, run wherever the same library and processor are.

#include <string>

#include "hocket/driver/compile.h"
#include "hocket/driver/load.h"
#include "hocket/lower/lower.h"

namespace hocket {

/// How a plan is made.
struct PlanOptions {
  CompileOptions compile = {};
  std::string backend = "library";  ///< or "reference"
  int threads = 1;                  ///< per rank
  std::int64_t memory_limit = 0;    ///< bytes of each rank's arena; 0: none
};

struct PlanReport {
  CompileReport compiled;
  std::vector<Remark> remarks;  ///< of lowering
  double compile_seconds = 0;   ///< of passes and lowering
};

/// Transforms a step's program and lowers it. Error when a pass fails, or where the memory limit
/// cannot be met.
Plan make_plan(const Step& step, const PlanOptions& options, PlanReport* report = nullptr);

/// The backend of this name; null for the reference kernels. Error for another name.
std::unique_ptr<Backend> make_backend(const std::string& name, int threads);

/// True for the name of a plan file.
bool is_plan_file(const std::string& source);

/// Writes a plan, and the table of its constants beside it: both files or none.
void save_plan(const Plan& plan, const std::string& path);

/// Reads and verifies a plan. Errors start with the path.
Plan load_plan(const std::string& path);

/// Error, with what differs, unless a plan was made by this version of hocket for this processor
/// and for a backend with these numerics.
void require_current(const Plan& plan, const std::string& numerics, const std::string& path);

/// The step that a plan was made from: its program before passes, and the values that lie beside
/// its source, if that is still there.
Step step_of(const Plan& plan, const std::string& path);

/// `AMD EPYC 9R14, avx512`: what the bits of a kernel may depend on.
std::string processor();

}  // namespace hocket

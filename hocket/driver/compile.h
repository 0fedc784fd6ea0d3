#pragma once
// The compiler: transforms a program between reading and running it.

#include <string>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/passes/framework/runner.h"

namespace hocket {

/// All passes, and the named lists `default` and `best`.
PassTable standard_passes();

struct CompileOptions {
  std::string passes = "default";       ///< as written on the command line
  PassTable table = standard_passes();  ///< add your own passes here
  RunPasses run = {};
};

struct CompileReport {
  std::vector<PassReport> passes;
  std::vector<Remark> remarks;  ///< of the pass list itself; those of a pass are in its report
};

/// Transforms the program in place. When a pass fails, the program stays as the pass before left
/// it.
CompileReport compile(Program& program, const CompileOptions& options = {});

}  // namespace hocket

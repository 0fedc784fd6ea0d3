#include "hocket/driver/compile.h"

namespace hocket {

CompileReport compile(Program& program, const CompileOptions& options) {
  CompileReport report;
  std::vector<PassCall> calls = options.table.parse(options.passes, &report.remarks);
  report.passes = run_passes(program, options.table, calls, options.run);
  return report;
}

}  // namespace hocket

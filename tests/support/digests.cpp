#include "support/digests.h"

#include <fmt/core.h>

#include "hocket/driver/plan_file.h"
#include "hocket/driver/run.h"
#include "hocket/plan/verify_plan.h"

namespace hocket::testing {

std::string digest(const Program& program, const DigestOptions& options) {
  RunOptions how;
  how.compile.passes = options.passes;
  how.compile.table = options.table;
  how.backend = "reference";
  how.comm = options.comm;
  how.iterations = options.iterations;
  how.drain_after = options.drain_after;
  how.random_inputs = options.inputs;
  how.deadline = options.deadline;
  how.certify = options.certify;
  try {
    Step step{.source = "random", .program = program};
    if (options.comm == "in_order") return run(step, how).digest;
    auto plan = std::make_shared<const Plan>(
        make_plan(step, {.compile = how.compile, .backend = how.backend}));
    verify_plan(*plan);
    return run(step, how, plan).digest;
  } catch (const std::exception& e) {
    return fmt::format("error: {}", e.what());
  }
}

}  // namespace hocket::testing

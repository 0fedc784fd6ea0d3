#include "support/digests.h"

#include <fmt/core.h>

#include "hocket/driver/run.h"

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
  try {
    return run({.source = "random", .program = program}, how).digest;
  } catch (const std::exception& e) {
    return fmt::format("error: {}", e.what());
  }
}

}  // namespace hocket::testing

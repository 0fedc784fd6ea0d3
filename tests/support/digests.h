#pragma once
// A digest of the results of a run.

#include <cstdint>
#include <string>
#include <vector>

#include "hocket/driver/compile.h"

namespace hocket::testing {

struct DigestOptions {
  std::string passes = "none";
  PassTable table = standard_passes();
  std::string comm = "in_order";  ///< or "in_process": ranks are threads
  std::int64_t iterations = 2;
  std::vector<std::int64_t> drain_after = {};
  std::uint64_t inputs = 1;  ///< seed of the inputs
  double deadline = 20;      ///< seconds
  bool certify = true;       ///< check the plan before it runs
};

/// Compiles the program and runs it on random values with the reference kernels. Returns the digest
/// of its outputs and state, or `error: ` with the message.
std::string digest(const Program& program, const DigestOptions& options);

}  // namespace hocket::testing

#pragma once
// What a run of a program gives, in a few digits.

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
  std::uint64_t inputs = 1;  ///< seed of what is fed
  double deadline = 20;      ///< seconds
};

/// The digest of outputs and state of a program that is compiled and run by the plain kernels on
/// made up values, or `error: ` and what went wrong.
std::string digest(const Program& program, const DigestOptions& options);

}  // namespace hocket::testing

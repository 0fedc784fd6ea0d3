#pragma once
// Mistakes in plans, as the checker and the oracle judge them.

#include <cstdint>
#include <string>

namespace hocket::testing {

struct MutantOptions {
  std::uint64_t count = 3'000, seed = 1;
  std::string keep;  ///< a folder for plans that are judged wrongly
};

/// 0 when the checker accepts no harmful plan and refuses fewer than 1 % of the harmless ones.
int judge_mutants(const MutantOptions& options);

}  // namespace hocket::testing

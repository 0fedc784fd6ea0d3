#pragma once
// Iterations of executors in the form of the interpreter's results.

#include <span>
#include <vector>

#include "hocket/codegen/reference/interpret.h"
#include "hocket/runtime/loop.h"

namespace hocket::testing {

/// An iteration of a loop without delays, on values for all inputs; those of state are ignored.
inline std::vector<RankResult> next_step(Loop& loop, const Executor& executor,
                                         const InputTables& inputs) {
  std::vector<RankResult> all(executor.ranks().size());
  std::span<const Produced> produced = loop.step(inputs);
  std::size_t i = 0;
  for (const Produced& p : produced) {
    while (executor.ranks()[i] != p.rank) ++i;
    all[i].outputs.push_back(p.value);
  }
  InputTables state = loop.state();
  for (std::size_t r = 0; r < all.size(); ++r) all[r].state = state[r];
  return all;
}

/// One iteration from these values.
inline std::vector<RankResult> one_step(Executor& executor, const InputTables& inputs) {
  Loop loop(executor, inputs);
  return next_step(loop, executor, inputs);
}

}  // namespace hocket::testing

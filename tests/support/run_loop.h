#pragma once
// Interprets a loop phase by phase: the reference for all tests of loops.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "hocket/codegen/reference/interpret.h"
#include "support/random_program.h"

namespace hocket::testing {

using Named = std::map<std::string, Tensor>;  ///< by name in the text

struct LoopInputs {
  std::vector<Named> state;                 ///< by rank, before the first iteration
  std::vector<std::vector<Named>> batches;  ///< by iteration and rank
};

struct LoopResult {
  /// By iteration, rank and output. An output that lags is stored at the iteration that it belongs
  /// to.
  std::vector<std::vector<std::vector<Tensor>>> outputs;
  /// After each drain, by rank and name.
  std::vector<std::vector<Named>> states;
  /// One word per kernel iteration: `prologue`, `steady` or `drain`.
  std::vector<std::string> phases;
};

using LoopHook = std::function<void(int rank, const Graph&, NodeId)>;

/// Runs one iteration per batch, with drains after the given iterations (counted from 1) and at the
/// end. A program without delays is run directly. Throws if forwarded state holds a value after a
/// drain.
LoopResult run_loop(const Program& program, const LoopInputs& inputs,
                    const std::set<int>& drain_after = {}, const LoopHook& hook = nullptr,
                    Backend* backend = nullptr);

LoopInputs random_loop_inputs(Random& random, const Program& program, int iterations);

/// Empty when both loops give equal bits in every output and in every state after a drain,
/// otherwise the first difference.
std::string loop_difference(const Program& a, const Program& b, const LoopInputs& inputs,
                            const std::set<int>& drain_after = {}, Backend* backend = nullptr);

}  // namespace hocket::testing

#pragma once
// Runs loops through the interpreter, phase by phase: the oracle of everything about iterations.

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
  /// By iteration, rank and output. However late they came, outputs stand where they belong.
  std::vector<std::vector<std::vector<Tensor>>> outputs;
  /// After each drain, by rank and name.
  std::vector<std::vector<Named>> states;
  /// One word per kernel iteration: `prologue`, `steady` or `drain`.
  std::vector<std::string> phases;
};

using LoopHook = std::function<void(int rank, const Graph&, NodeId)>;

/// One iteration per batch. Drains after those iterations (counted from 1) and at the end; a
/// program without delays is run as it is. Throws when something forwarded is left after a drain.
LoopResult run_loop(const Program& program, const LoopInputs& inputs,
                    const std::set<int>& drain_after = {}, const LoopHook& hook = nullptr,
                    Backend* backend = nullptr);

LoopInputs random_loop_inputs(Random& random, const Program& program, int iterations);

/// Empty when both loops give equal bits in every output and every state after a drain, else what
/// differs first.
std::string loop_difference(const Program& a, const Program& b, const LoopInputs& inputs,
                            const std::set<int>& drain_after = {}, Backend* backend = nullptr);

}  // namespace hocket::testing

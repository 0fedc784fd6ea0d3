#pragma once
// The calls of all ranks in one run, matched by their place in their sequence.

#include <cstdint>
#include <string>
#include <vector>

#include "cells.h"

namespace hocket::testing {

/// What a rank does in a run: the phases of its graph, one after the other.
struct RankTrace {
  const CellGraph* graph = nullptr;
  std::vector<const Action*> actions;
  std::vector<std::uint32_t> iteration;  ///< by action: the kernel iteration
  std::vector<std::int32_t> call;        ///< by action: of a start or wait, in Run::calls; else -1
  std::vector<std::int32_t> part;        ///< by action: of a start, the participant that it is
};

/// Of one rank in a call.
struct Part {
  int rank = 0;
  std::int32_t start = -1;     ///< in the trace of the rank; -1: it never starts it
  std::int32_t previous = -1;  ///< the call that this rank started before, in any group
};

struct MatchedCall {
  std::vector<Part> parts;        ///< all ranks of the sequence
  std::int32_t predecessor = -1;  ///< the call before it in its sequence
  std::size_t bit = 0;            ///< of the first part, among all parts of the run
};

struct Run {
  std::vector<RankTrace> ranks;
  std::vector<MatchedCall> calls;
  std::size_t parts = 0;
  std::string mismatch;  ///< how the first matched calls that differ do so
};

/// `graphs` has cells_of for each graph of the plan; the local walk must have found no harm.
Run match_calls(const Plan& plan, const std::vector<CellGraph>& graphs,
                const std::vector<std::size_t>& phases);

}  // namespace hocket::testing

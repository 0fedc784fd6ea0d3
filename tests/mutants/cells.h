#pragma once
// A plan as the oracle sees it: the bytes of each graph in cells, instructions as actions on cells.
//
// The oracle is test code that decides by itself what is harmful. It shares nothing with the
// verifier and the checker of plans.

#include <cstdint>
#include <string>
#include <vector>

#include "hocket/plan/plan.h"

namespace hocket::testing {

/// From `begin` to before `end`. A cell is a run of bytes that every location holds or does not
/// hold as a whole.
struct Cells {
  std::uint32_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool overlaps(Cells o) const { return begin < o.end && o.begin < end && !empty() && !o.empty(); }
};

struct Action {
  InstructionKind kind = InstructionKind::kernel;
  std::uint64_t salt = 0;  ///< of all that decides on the results besides the operands
  std::vector<Cells> reads, writes;
  Cells scratch;               ///< of a kernel
  std::uint32_t transfer = 0;  ///< of a start or wait
  const PlanPhase* phase = nullptr;
  const Instruction* instruction = nullptr;

  bool is_start() const { return kind == InstructionKind::start; }
  bool is_wait() const { return kind == InstructionKind::wait; }
};

struct CellHome {
  Cells cells;
  bool written_before = false;  ///< the first phase: a constant, or state with an initial value
  bool is_state = false;        ///< with an initial value: it must be in place when a phase ends
};

/// One class of ranks. It refers to the plan.
struct CellGraph {
  std::uint32_t cells = 0;
  std::vector<CellHome> homes;
  std::vector<bool> kept;  ///< by cell: keeps what was written there when a phase begins
  std::uint32_t carried = 0;
  std::vector<std::vector<Action>> phases;
  std::string misplaced;  ///< the first location that is not aligned or outside the arena
};

CellGraph cells_of(const Plan& plan, std::size_t graph);

/// What a rank does wrong by itself in these phases, one after the other; empty if nothing. Starts
/// the name of the rule. Whatever other ranks do, an action between the start and the wait of a
/// transfer may meet any part of it.
std::string local_harm(const CellGraph& graph, const std::vector<std::size_t>& phases);

}  // namespace hocket::testing

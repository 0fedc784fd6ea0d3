#pragma once
// A plan: what every rank of a program executes, instruction by instruction, with all memory
// decided.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hocket/base/trace.h"
#include "hocket/ir/program.h"
#include "hocket/iter/phases.h"
#include "hocket/ops/layout.h"

namespace hocket {

/// Bytes of a rank's arena that hold a value.
struct Location {
  std::int64_t offset = 0;   ///< of element 0, in bytes
  std::uint32_t type = 0;    ///< in Plan::types; never pending
  std::uint32_t layout = 0;  ///< in Plan::layouts
  friend bool operator==(const Location&, const Location&) = default;
};

enum class InstructionKind : std::uint8_t {
  kernel,  ///< computes results from operands
  copy,    ///< one operand to one result of the same type, maybe in another layout: a reorder
  start,   ///< hands a collective to the lane of its group; never blocks
  /// Blocks until a transfer has ended; for a barrier, right behind its start. The results are
  /// those of the start that are read from here on, any number of them.
  wait,
  input,   ///< one result is filled with a value of the batch
  output,  ///< one operand is handed to the caller
};

/// In list order, which is the order of execution and the time axis of memory: the bytes of a
/// transfer are in use from its start to its wait.
struct Instruction {
  InstructionKind kind = InstructionKind::kernel;
  /// Of a kernel: index in Plan::backends; 0 is the reference.
  std::uint8_t backend = 0;
  /// 0 is the compute lane; lane i + 1 carries the transfers of PlanGraph::groups[i]. Only a start
  /// has another lane than 0.
  std::uint16_t lane = 0;
  std::uint32_t label = 0;  ///< in PlanGraph::labels: the node that it comes from
  /// Operands, then results, in PlanPhase::locations.
  std::uint32_t locations = 0, operands = 0, results = 0;
  /// Of a start or wait: the transfer, see PlanGraph::carried_transfers. Of an input or output: its
  /// index in the graph of the program. Of a copy: the reason, in Plan::reasons.
  std::uint32_t index = 0;
  const Op* op = nullptr;                           ///< of a kernel or start
  Attributes attributes;                            ///< of a kernel or start
  std::int64_t workspace = 0, workspace_bytes = 0;  ///< of a kernel; without bytes nowhere
};
static_assert(sizeof(Instruction) == 64, "a plan may have millions");

/// What one kernel iteration runs.
struct PlanPhase {
  Window window;
  std::vector<Instruction> instructions;
  std::vector<Location> locations;
  /// One more than the largest number of a transfer. The smallest numbers are those of carried
  /// transfers; each of the others is used by one transfer, which begins and ends in this phase.
  std::uint32_t transfers = 0;

  std::span<const Location> operands(const Instruction& i) const {
    return std::span(locations).subspan(i.locations, i.operands);
  }
  std::span<const Location> results(const Instruction& i) const {
    return std::span(locations).subspan(i.locations + i.operands, i.results);
  }
};

enum class HomeKind : std::uint8_t {
  state,     ///< a value that is carried from one phase to the next
  constant,  ///< a value of the program's table, written once before the first phase
};

/// Bytes that keep a value between phases. Nothing else lies there.
struct Home {
  HomeKind kind = HomeKind::state;
  std::uint32_t input = 0;  ///< of a state: index in the graph of the program
  std::uint32_t slot = 0;   ///< of forwarded state
  std::string constant;     ///< name in the table of constants
  Location location;
};

/// For one class of ranks, in the order of Program::graphs.
struct PlanGraph {
  std::vector<std::string> groups;  ///< each has a lane
  std::int64_t arena_bytes = 0;
  std::vector<Home> homes;
  /// Transfers 0 .. carried_transfers - 1 may be started in one phase and waited for in a later
  /// one; others begin and end in their phase. All starts of a carried one have the same results.
  std::uint32_t carried_transfers = 0;
  std::vector<TraceLabel> labels;
  std::vector<PlanPhase> phases;  ///< the same windows in all graphs
};

/// What a plan was made from. A plan runs only where all of this is the same.
struct PlanOrigin {
  std::string version;   ///< of hocket
  std::string source;    ///< as given on the command line
  std::string passes;    ///< as written
  std::string cpu;       ///< processor model and its vector extensions
  std::string numerics;  ///< of the backend, see Backend::numerics
  int threads = 1;       ///< per rank
  friend bool operator==(const PlanOrigin&, const PlanOrigin&) = default;
};

struct Plan {
  PlanOrigin origin;
  Program source;  ///< before passes; without graphs where that is not known
  /// Behind the last pass that changes bits; without graphs where none does.
  Program changed;
  Program program;  ///< after passes: names, inputs and outputs of the plan are those of its graphs
  LoopShape shape;
  std::vector<std::string> backends = {"reference"};
  std::vector<Type> types;
  std::vector<Layout> layouts;
  std::vector<std::string> reasons;  ///< why there are copies
  std::vector<PlanGraph> graphs;

  /// What the plan computes bit for bit.
  const Program& exact() const { return changed.graphs.empty() ? source : changed; }

  /// The phase of a kernel iteration.
  std::size_t phase_index(Window window) const;

  /// Equal contents: the order of tables, and entries that nothing uses, make no difference.
  friend bool operator==(const Plan& a, const Plan& b);
};

/// Workspaces, homes and members of transfers lie at multiples of this; other values at least at
/// multiples of their element.
inline constexpr std::int64_t plan_alignment = 64;
/// No arena is larger, so that sums of offsets and sizes never overflow.
inline constexpr std::int64_t max_arena_bytes = std::int64_t{1} << 47;

}  // namespace hocket

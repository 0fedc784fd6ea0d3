#pragma once
// A phase of a plan with addresses: what a rank runs, made once.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hocket/codegen/backend.h"
#include "hocket/plan/plan.h"
#include "hocket/runtime/arena.h"
#include "hocket/runtime/calls.h"

namespace hocket {

struct BoundInstruction {
  InstructionKind kind = InstructionKind::kernel;
  std::uint32_t label = 0;  ///< in PlanGraph::labels
  /// In the list of starts, inputs or outputs; of a wait: the transfer.
  std::uint32_t index = 0;
  BoundKernel* kernel = nullptr;  ///< of a kernel or copy
  std::int64_t reads = -1;        ///< see first_reads; found where traces are kept
};

struct BoundStart {
  comm::ProcessGroup* group = nullptr;
  std::uint32_t transfer = 0;
  std::uint32_t lane = 0;
  Calls calls;
  std::int64_t bytes = 0;
};

struct BoundPhase {
  std::vector<BoundInstruction> instructions;
  std::vector<std::shared_ptr<const Kernel>> prepared;
  std::vector<std::unique_ptr<BoundKernel>> kernels;
  std::vector<BoundStart> starts;
  struct HostValue {
    std::uint32_t index = 0;  ///< of the input or output in the graph of the program
    View place;
  };
  std::vector<HostValue> inputs, outputs;
  std::vector<std::int64_t> live_bytes;  ///< by instruction, where traces are kept
};

/// What a phase is bound to.
struct RankParts {
  const Plan& plan;
  const PlanGraph& graph;
  int role = 0;  ///< the rank of the program whose part it takes
  const Arena& arena;
  ReferenceKernels& kernels;
  Backend* backend = nullptr;
  const std::vector<std::unique_ptr<comm::ProcessGroup>>& groups;  ///< as PlanGraph::groups
  bool keep_trace = false;
};

/// Error, with the node, where a kernel is not what the plan was made with.
BoundPhase bind_phase(const RankParts& parts, const PlanPhase& phase);

/// The bytes of a location.
View view_of(const Plan& plan, const Arena& arena, const Location& location);
inline ConstView read_only(const View& v) { return {v.type, v.layout, v.data}; }
/// Between any layouts; allocates unless both are row-major.
void copy_value(const ConstView& from, const View& to);

/// `%y = matmul: problem`, as Graph::describe.
std::string describe(const TraceLabel& label, std::string_view problem);

}  // namespace hocket

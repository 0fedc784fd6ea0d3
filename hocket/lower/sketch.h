#pragma once
// A phase as instructions on storages, which have no addresses yet.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hocket/lower/carries.h"
#include "hocket/lower/steps.h"
#include "hocket/lower/storage.h"
#include "hocket/plan/plan.h"
#include "hocket/plan/tables.h"

namespace hocket {

/// A transfer of the phase.
struct SketchTransfer {
  std::uint32_t start = nowhere;  ///< instruction; none where an earlier phase started it
  std::uint32_t wait = nowhere;   ///< instruction, or none
  /// For one that may cross phases.
  const CarriedCollective* carried = nullptr;
  int slot = 0;
};

/// A state and its next value.
struct SketchNext {
  std::size_t input = 0;  ///< of the body
  RegionPart region;
  Ref value;
  std::string name;         ///< of the state
  std::uint32_t label = 0;  ///< of the state
};

struct Sketch {
  Window window;
  std::vector<Instruction> instructions;  ///< locations count in `refs`
  std::vector<const Kernel*> kernels;     ///< by instruction, null for others
  std::vector<Ref> refs;
  Storages storages;
  std::vector<SketchTransfer> transfers;
  std::vector<SketchNext> nexts;
  std::vector<StorageNumber> concats;  ///< in which parts lie side by side, see share_parts
  /// By region: what it holds when the phase begins, and what it holds when it ends; none if
  /// unused.
  std::vector<StorageNumber> old_content, new_content;

  std::span<const Ref> operands(const Instruction& i) const {
    return std::span(refs).subspan(i.locations, i.operands);
  }
  std::span<const Ref> results(const Instruction& i) const {
    return std::span(refs).subspan(i.locations + i.operands, i.results);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(instructions.size()); }
};

/// The labels of a class of ranks: one for each node of its body.
class NodeLabels {
 public:
  /// Where a class has one phase, nodes need not be found again by their names.
  explicit NodeLabels(bool several_phases) : several_phases_(several_phases) {}
  std::uint32_t of(const Graph& graph, NodeId n);
  /// `%y = matmul`.
  std::string text(std::uint32_t label) const;
  std::vector<TraceLabel> take() { return std::move(labels_); }

 private:
  bool several_phases_;
  std::vector<TraceLabel> labels_;
  std::unordered_map<std::string, std::uint32_t> known_;
};

/// What the phases of a class of ranks have in common.
struct ClassContext {
  const Program& program;
  const Graph& body;
  std::vector<std::string> groups;
  Carries carries;
  NodeLabels labels;
  CarryDoubts doubts;  ///< found in this round, on top of those that `carries` was made with
  Tables& tables;
  std::vector<Remark>* remarks;
};

/// Emits the instructions of a phase that was derived from the body with this window.
Sketch sketch_phase(ClassContext& context, const Graph& phase, Window window, const Steps& steps);

/// Lets transfers of slices run in place: where all parts of a concat come from slices that lie
/// side by side in one storage and are not read afterwards, the concat takes their bytes. O(n log
/// n) in the instructions.
void share_parts(const ClassContext& context, Sketch& sketch);

/// Decides which storages share bytes: results that take an operand's, next values that take their
/// state's. Adds copies where a next value cannot. O(instructions), nearly.
void share_storage(ClassContext& context, Sketch& sketch);

}  // namespace hocket

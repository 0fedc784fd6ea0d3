#pragma once
// What a loop keeps in memory between its phases.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/iter/phases.h"
#include "hocket/iter/replaced_states.h"

namespace hocket {

/// Bytes that nothing else uses, in any phase.
struct Region {
  std::int64_t bytes = 0;
};

/// A part of a region, or all of it.
struct RegionPart {
  std::uint32_t region = 0;
  std::int64_t offset = 0;
};

/// A collective whose transfer may cross from one phase into the next. Its results, and the
/// operands that they do not overwrite, have regions, once for each slot.
struct CarriedCollective {
  NodeId node;  ///< of the body
  int slots = 1;
  std::uint32_t first_transfer = 0;  ///< that of slot 0
  std::size_t members = 0;
  /// How many iterations after its start the transfer ends. 0: a wait of the same iteration reads a
  /// result, or nobody reads any; then only values are carried.
  int ends_after = 0;
  /// Results take the bytes of the operands.
  bool in_place = false;
  std::vector<RegionPart> operands, results;  ///< by slot and member
  /// By member: the operand is the next value of a state, and lies where the state does.
  std::vector<char> operand_is_state;
  /// By member: the result will be the value of this input of the body, a state that lies there,
  /// too. The state's own old value is dead when the transfer begins.
  std::vector<std::optional<std::size_t>> result_is_state;
  /// By member: a phase that waits copies the result, because it is read after the next transfer
  /// begins.
  std::vector<char> copied_out;

  const RegionPart& operand(int slot, std::size_t i) const {
    return (operands.empty() ? results : operands)[static_cast<std::size_t>(slot) * members + i];
  }
  const RegionPart& result(int slot, std::size_t i) const {
    return results[static_cast<std::size_t>(slot) * members + i];
  }
};

/// Decisions about carried collectives that do not hold in some phase, by node of the body, and
/// member.
struct CarryDoubts {
  std::set<NodeId> operands_apart;
  std::set<std::pair<NodeId, std::size_t>> operand_not_state, result_not_state, copied_out;

  std::size_t size() const {
    return operands_apart.size() + operand_not_state.size() + result_not_state.size() +
           copied_out.size();
  }
  void add(const CarryDoubts& more) {
    operands_apart.insert(more.operands_apart.begin(), more.operands_apart.end());
    operand_not_state.insert(more.operand_not_state.begin(), more.operand_not_state.end());
    result_not_state.insert(more.result_not_state.begin(), more.result_not_state.end());
    copied_out.insert(more.copied_out.begin(), more.copied_out.end());
  }
};

class Carries {
 public:
  Carries(const Graph& body, const CarryDoubts& doubts);

  /// The region of a state; none for a fed input and for a value in flight.
  const RegionPart* state(std::size_t input, int slot) const;
  /// For an input in flight: its collective, and which of its results it is.
  struct InFlightInput {
    CarriedCollective* collective = nullptr;
    std::uint32_t member = 0;
    int slots = 1;  ///< of this input
    /// Another wait has ended the transfer before this input is read.
    bool has_arrived() const { return slots > collective->ends_after; }
  };
  const InFlightInput* in_flight(std::size_t input) const;
  /// The region of a constant of the program's table.
  RegionPart constant(const std::string& name, const Type& type);

  const std::vector<Region>& regions() const { return regions_; }
  std::uint32_t transfers() const { return transfers_; }
  struct Constant {
    RegionPart part;
    Type type;
  };
  const std::map<std::string, Constant>& constants() const { return constants_; }
  const std::vector<CarriedCollective>& collectives() const { return collectives_; }

 private:
  RegionPart add(std::int64_t bytes);
  void find_collectives(const Graph& body, const CarryDoubts& doubts);
  void lay_out_results(const Graph& body, CarriedCollective& c);
  void lay_out_states(const Graph& body, const CarryDoubts& doubts);
  void lay_out_operands(const Graph& body, const CarryDoubts& doubts, CarriedCollective& c);
  std::optional<std::size_t> state_replaced_by(const Graph& body, Value v) const;
  std::optional<std::size_t> state_of_operand(const Graph& body, Value operand,
                                              NodeId reader) const;
  std::optional<std::size_t> state_of_result(const Graph& body, Value in_flight) const;

  ReplacedStates replaced_;
  std::vector<Region> regions_;
  std::vector<std::vector<RegionPart>> states_;  // by input and slot
  std::vector<CarriedCollective> collectives_;
  std::vector<InFlightInput> in_flight_;  // by input
  std::map<std::string, Constant> constants_;
  std::uint32_t transfers_ = 0;
};

/// Bytes rounded up to plan_alignment.
std::int64_t aligned(std::int64_t bytes);

}  // namespace hocket

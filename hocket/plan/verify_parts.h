#pragma once
// What the files of the verifier of plans share.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/ir/verify.h"
#include "hocket/plan/plan.h"
#include "hocket/plan/verify_plan.h"

namespace hocket {

using PlanFinding = std::optional<std::string>;  // a message

/// From `begin` to before `end`, in bytes of the arena.
struct ByteRange {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool overlaps(ByteRange o) const {
    return begin < o.end && o.begin < end && !empty() && !o.empty();
  }
};

/// All bytes between the lowest and the highest one. The location must be inside the arena.
ByteRange bytes_of(const Plan& plan, const Location& location);
/// The same bytes, type and layout.
bool same_place(const Plan& plan, const Location& a, const Location& b);
ByteRange workspace_of(const Instruction& instruction);

/// The rules about one location, for an arena of this size. `member` is true of what a transfer
/// reads or writes, and of homes.
struct LocationFinding {
  std::string_view rule;
  std::string message;
};
std::optional<LocationFinding> find_in_location(const Plan& plan, const PlanGraph& graph,
                                                const Location& location, bool member);

/// A graph of a plan and what is known about its groups so far.
struct PlanScope {
  PlanScope(const Plan& p, std::size_t g)
      : plan(p), number(g), graph(p.graphs[g]), body(p.program.graphs[g]) {}

  const Plan& plan;
  std::size_t number;
  const PlanGraph& graph;
  const Graph& body;
  std::set<std::string, std::less<>> good_groups;
  std::set<std::pair<std::string, std::int64_t>> good_peers;  // by group and index in it
};

struct InstructionRule : Rule {
  PlanFinding (*check)(PlanScope&, const PlanPhase&, const Instruction&);
};
/// The rules about single instructions, besides those about locations.
std::span<const InstructionRule> instruction_rules();

std::optional<PlanViolation> find_in_instructions(PlanScope& scope, std::size_t phase);
/// `transfers`, `channels` and `carried`, `in-flight`.
std::optional<PlanViolation> find_in_transfers(const PlanScope& scope);
/// `homes`.
std::optional<PlanViolation> find_in_homes(const PlanScope& scope);
/// `loop`.
std::optional<PlanViolation> find_in_loop(const Plan& plan);
/// `inputs` and `outputs`.
std::optional<PlanViolation> find_in_interface(const PlanScope& scope);
/// `words`.
std::optional<PlanViolation> find_in_words(const Plan& plan);

}  // namespace hocket

#pragma once
// Checks that phases read only forwarded values that earlier phases wrote. Uses only the phases,
// independently of how they were derived.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/verify.h"
#include "hocket/iter/phases.h"

namespace hocket {

/// The values that a phase reads from earlier phases and writes for later ones.
struct Seam {
  struct Slot {
    std::string name;
    Type type;
    bool read = false;
    std::optional<Type> written = {};
  };
  std::vector<Slot> forwarded;
  std::map<std::string, Type> state;  ///< with an initial value, by name
};
Seam seam_of(const Graph& phase);

/// One kernel iteration of a run, with its name for messages.
struct RunPhase {
  std::string name;
  const Seam* seam;
};

/// Throws Error, which names the phase and the carry, unless in this run every forwarded value that
/// a phase reads was written before with the same type, no forwarded value is overwritten unread or
/// left unread at the end (if any phase reads it), and all phases have the same state. O(state) for
/// each phase.
void check_run(std::span<const RunPhase> run);

/// The same for every kind of run of this body: those shorter than its depth, and longer ones that
/// end at each turn. Also throws Error when a channel has different delays in different graphs, so
/// that ranks would not start a collective together. O(graph) for each different phase.
void check_seams(const Graph& body);
void check_seams(const Program& program);

/// The first violation of the rules about lags, which phases are derived from, in a program with
/// delays or forwarded state. O(graph).
std::optional<ProgramViolation> find_lag_violation(const Program& program);

/// The same, and those that check_seams finds; for parse().
std::optional<ProgramViolation> find_loop_violation(const Program& program);

}  // namespace hocket

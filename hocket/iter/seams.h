#pragma once
// Whether what one phase hands on is what later ones take. Looks at the phases alone, and trusts
// nothing that made them.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/verify.h"
#include "hocket/iter/phases.h"

namespace hocket {

/// What a phase takes from those before it and hands to those after it.
struct Seam {
  struct Slot {
    std::string name;
    Type type;
    bool read = false;
    std::optional<Type> written = {};
  };
  std::vector<Slot> forwarded;
  std::map<std::string, Type> state;  ///< what lasts, by name
};
Seam seam_of(const Graph& phase);

/// One kernel iteration of a run, with its name for messages.
struct RunPhase {
  std::string name;
  const Seam* seam;
};

/// Throws Error, naming the phase and the carry, unless along this run every forwarded value that a
/// phase reads was written before, with the same type, none is overwritten unread, and none that
/// some phase reads is left at the end; and unless all phases have the same state. O(state) for
/// each phase.
void check_run(std::span<const RunPhase> run);

/// The same for every run of this body: shorter than the loop is deep, and with an end at every
/// turn. Throws Error as well when a channel has different delays in different graphs, so that
/// ranks would not meet. O(graph) for each different phase.
void check_seams(const Graph& body);
void check_seams(const Program& program);

/// What is wrong with the delays of a program in which something is delayed, and where: the rules
/// about lags alone, which phases are derived from. O(graph).
std::optional<ProgramViolation> find_lag_violation(const Program& program);

/// The same, and what check_seams says of its phases; for parse().
std::optional<ProgramViolation> find_loop_violation(const Program& program);

}  // namespace hocket

#pragma once
// Decides whether a small plan is harmful, by running it in every interleaving.

#include <cstddef>
#include <string>

#include "hocket/plan/plan.h"

namespace hocket::testing {

struct OracleOptions {
  /// Transfers complete in the order in which each rank started them, over all groups; else only
  /// in the order of their sequence.
  bool total = false;
  std::size_t most_states = 20'000;  ///< of one run
  /// Kernels, copies, inputs and outputs are events of their own, too.
  bool every_action = false;
  /// Rules that a rank breaks by itself are harmful. Without them only what a run shows counts, and
  /// the plan must wait for what it starts.
  bool rules = true;
};

struct Judgement {
  bool too_large = false;  ///< more states than allowed; nothing is known
  std::string harm;        ///< empty: harmless. Else a word for the kind, and what happens.
  std::size_t states = 0;
};

/// Runs the plan for 1 .. depth + 2 turns iterations, each with its drain. All orders of starts and
/// waits of the ranks, of the moments at which a transfer reads what a rank gives it, and of those
/// at which it writes a rank's results, are explored. Harmful are: a deadlock, calls that do not
/// match or agree, a read of bytes that were not written, results that depend on the order, and a
/// broken rule of alignment, bounds or waiting. Kernels, copies, inputs and outputs run together
/// with the start or wait before them: once no rank touches what its transfers use, they commute
/// with all events of others.
///
/// The plan must keep the rules of verify_plan but those of transfers, alignment and bounds.
Judgement judge(const Plan& plan, const OracleOptions& options = {});

}  // namespace hocket::testing

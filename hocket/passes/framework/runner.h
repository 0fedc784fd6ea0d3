#pragma once
// Runs passes on a program: order rules, undo, verification, timing, dumps.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hocket/base/remark.h"
#include "hocket/passes/framework/table.h"

namespace hocket {

struct RunPasses {
  std::vector<std::string> skip = {};  ///< passes left out, by name
  /// Called with the program's text before the first pass (pass "before") and after each.
  std::function<void(std::size_t number, const std::string& pass, const std::string& text)>
      after_each = nullptr;
  /// Verify the whole program after each pass, not only what the pass edited, and the phases of a
  /// loop, not only its delays.
  bool verify_all = false;
  /// Gets the program behind the last pass that changes bits, if there is one.
  Program* behind_changed_bits = nullptr;
};

struct PassReport {
  std::string pass;
  double seconds = 0;    ///< of the pass itself, without verification
  bool changed = false;  ///< edited anything
  std::vector<Remark> remarks;
};

/// Runs one pass. First checks its order rules against `program.applied`. If the pass throws or
/// leaves an invalid graph, the program is restored, and the error names the pass. A loop body is
/// also invalid if its delays break the rules of loops ([loop]), or if lags of its outputs or state
/// have changed (unless the pass `retimes`). Names stay in `applied`; clear the list to optimise
/// the same program again.
PassReport run_pass(Program& program, const PassTable& table, const PassCall& call,
                    const RunPasses& options = {});

/// Runs a list and returns the reports of the passes that ran. All names and skips are checked
/// first.
std::vector<PassReport> run_passes(Program& program, const PassTable& table,
                                   std::span<const PassCall> calls, const RunPasses& options = {});

/// A function for RunPasses::after_each that writes `00-before.hkt`, `01-PASS.hkt`, ... into a
/// folder. Creates the folder if needed.
std::function<void(std::size_t, const std::string&, const std::string&)> dump_into(
    const std::string& folder);

}  // namespace hocket

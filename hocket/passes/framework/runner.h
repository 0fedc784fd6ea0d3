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
};

struct PassReport {
  std::string pass;
  double seconds = 0;    ///< of the pass itself, without verification
  bool changed = false;  ///< edited anything
  std::vector<Remark> remarks;
};

/// Runs one pass. Checks its order rules against `program.applied` first; when the pass throws or
/// leaves a broken graph, the program is as it was before and the error names the pass. Broken is
/// also a body with delays that break the rules of loops ([loop]), or that no longer hands out its
/// outputs and state in the iterations in which it did (but for a pass that `retimes`). A name in
/// `applied` stays there: clear the list to optimise the same program again.
PassReport run_pass(Program& program, const PassTable& table, const PassCall& call,
                    const RunPasses& options = {});

/// Runs a list; reports of the passes that ran. Checks all names and skips beforehand.
std::vector<PassReport> run_passes(Program& program, const PassTable& table,
                                   std::span<const PassCall> calls, const RunPasses& options = {});

/// For RunPasses::after_each: writes `00-before.hkt`, `01-PASS.hkt`, ... into a folder, which is
/// made when missing.
std::function<void(std::size_t, const std::string&, const std::string&)> dump_into(
    const std::string& folder);

}  // namespace hocket

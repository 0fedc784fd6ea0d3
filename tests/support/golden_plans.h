#pragma once
// Golden files of plans. A file has one sentence and a plan. Behind a line `===` stand edits, each
// with what becomes of the plan with it:
//
//     # why, if it is said
//     - a line of the plan, or several
//     + what stands there instead, if anything
//     what comes out: a line, or several
//
// The first place with such lines is edited. A `-` behind a `+` begins another place, which is
// looked for behind the one before. An empty line stands between edits.

#include <functional>
#include <string>
#include <vector>

namespace hocket::testing {

struct GoldenPlan {
  struct Change {
    std::vector<std::string> before, after;
  };
  struct Edit {
    std::vector<std::string> notes;
    std::vector<Change> changes;
    std::vector<std::string> outcome;
  };

  std::string head;  // the comment lines
  std::string plan;
  std::vector<Edit> edits;
};

/// The files with plans in a folder, sorted.
std::vector<std::string> plan_files(const std::string& folder);
GoldenPlan read_golden_plan(const std::string& path);
std::string to_text(const GoldenPlan& golden);

/// With what comes out of the edits: a line, or several, of the text of a plan.
using PlanOutcome = std::function<std::string(const std::string& plan)>;
void update_edits(GoldenPlan& golden, const PlanOutcome& outcome);

}  // namespace hocket::testing

// Plans must come out as they went in, and edited ones be refused; see support/golden_plans.h. An
// outcome is `error: the message`, `same` when the plan of the file comes out, `accepted` when
// another one does. `plan --update` rewrites the plan and what became of the edits; reading the
// difference is the review.

#include "support/golden_plans.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"

namespace hocket::testing {
namespace {

std::vector<std::string> files() { return plan_files(HOCKET_PLAN_DIR); }

/// The text that comes out, or the error.
std::string outcome(const std::string& text) {
  try {
    return hocket::to_text(parse_plan(text, ops::all()));
  } catch (const Error& e) {
    return fmt::format("error: {}", e.what());
  }
}

GoldenPlan actual(GoldenPlan golden) {
  golden.plan = outcome(golden.plan);
  if (golden.plan.starts_with("error: ")) return golden;
  update_edits(golden, [&](const std::string& edited) {
    std::string text = outcome(edited);
    if (text.starts_with("error: ")) return text;
    return std::string(text == golden.plan ? "same" : "accepted");
  });
  return golden;
}

TEST(Plan, Golden) {
  ASSERT_FALSE(files().empty());
  for (const std::string& path : files()) {
    SCOPED_TRACE(path + "; run with --update to accept what came out");
    GoldenPlan golden = read_golden_plan(path);
    EXPECT_TRUE(golden.head.starts_with("# ")) << "starts with a sentence";
    EXPECT_EQ(to_text(actual(golden)), read_file(path));
  }
}

/// Rules that no text can break, because reading makes what they demand.
const std::set<std::string_view> only_in_memory = {"form", "words"};

TEST(Plan, EveryRuleHasAGoldenError) {
  std::set<std::string_view> missing;
  for (const Rule& rule : plan_rules())
    if (!only_in_memory.contains(rule.name)) missing.insert(rule.name);
  for (const std::string& path : files())
    for (const GoldenPlan::Edit& edit : read_golden_plan(path).edits)
      std::erase_if(missing, [&](std::string_view rule) {
        return edit.outcome.at(0).find(fmt::format("[{}]", rule)) != std::string::npos;
      });
  for (std::string_view rule : missing) ADD_FAILURE() << "no golden error for rule " << rule;
}

int update() {
  for (const std::string& path : files()) {
    GoldenPlan golden = actual(read_golden_plan(path));
    if (golden.plan.starts_with("error: ")) {
      fmt::print(stderr, "{}: {}\n", path, golden.plan);
      return 1;
    }
    write_file(path, to_text(golden));
  }
  return 0;
}

}  // namespace
}  // namespace hocket::testing

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--update") return hocket::testing::update();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

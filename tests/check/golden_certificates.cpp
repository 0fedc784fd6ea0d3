// What the checker says of small plans and of mistakes in them; see support/golden_plans.h. An
// outcome is `certified`, `refuted: ...` with the instructions that meet, or `undecided: ...`.
// Where a transport that keeps one order of all transfers makes a difference, what holds there
// stands behind `total: `. `check --update` rewrites the outcomes; reading the difference is the
// review.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/check/certificate.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"
#include "support/golden_plans.h"

namespace hocket::testing {
namespace {

std::vector<std::string> files() { return plan_files(HOCKET_CHECK_DIR); }

std::string text_of(const Certificate& c) {
  std::string text = c.certified() ? "certified" : c.refuted() ? "refuted: " : "undecided: ";
  if (!c.certified()) text += refutation_text(c);
  if (!c.refuted())
    for (const std::string& a : c.meaning.assumptions) text += "\n  assumes that " + a;
  return text;
}

std::string outcome(const std::string& text) {
  try {
    Plan plan = parse_plan(text, ops::all());
    verify_plan(plan);
    std::string each = text_of(certify(plan, LaunchOrder::per_group)),
                all = text_of(certify(plan, LaunchOrder::total));
    return all == each ? each : fmt::format("{}\ntotal: {}", each, all);
  } catch (const Error& e) {
    return fmt::format("error: {}", e.what());
  }
}

GoldenPlan actual(GoldenPlan golden) {
  update_edits(golden, outcome);
  return golden;
}

TEST(Check, Golden) {
  ASSERT_FALSE(files().empty());
  for (const std::string& path : files()) {
    SCOPED_TRACE(path + "; run with --update to accept what came out");
    GoldenPlan golden = read_golden_plan(path);
    EXPECT_TRUE(golden.head.starts_with("# ")) << "starts with a sentence";
    EXPECT_EQ(to_text(actual(golden)), read_file(path));
  }
}

int update() {
  for (const std::string& path : files()) write_file(path, to_text(actual(read_golden_plan(path))));
  return 0;
}

}  // namespace
}  // namespace hocket::testing

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--update") return hocket::testing::update();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

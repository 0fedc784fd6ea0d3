// Golden tests: a file has one sentence, a pass line, a program, `===`, and the whole text that
// comes out, or the error. With a line `# remarks` in front, what the passes remarked follows in
// comments; with a line `# show: phases`, the phases of what comes out are shown instead. `golden
// --update` rewrites what comes out; reading the difference is the review.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/phases_text.h"
#include "hocket/iter/seams.h"
#include "hocket/ops/ops.h"
#include "support/broken_passes.h"
#include "support/difference.h"
#include "support/digests.h"
#include "support/golden_files.h"
#include "support/loop_passes.h"
#include "support/random_program.h"
#include "support/run_loop.h"

namespace hocket::testing {
namespace {

PassTable table() {
  PassTable table = standard_passes();
  add_broken_passes(table);
  add_loop_passes(table);
  return table;
}

struct Outcome {
  std::string text;     // of the program, or the error
  std::string remarks;  // comments
  Program program = {};
};

Outcome run(const Golden& golden) {
  try {
    Outcome outcome{.program = parse(golden.input, ops::all(), find_loop_violation)};
    PassTable passes = table();
    auto reports =
        run_passes(outcome.program, passes, passes.parse(golden.passes), {.verify_all = true});
    outcome.text = golden.phases ? phases_text(outcome.program) : to_text(outcome.program);
    for (const PassReport& report : reports)
      for (const Remark& r : report.remarks)
        outcome.remarks += fmt::format("# {}: {}: {}\n", r.where, r.what, r.why);
    if (!golden.remarks) outcome.remarks.clear();
    return outcome;
  } catch (const std::exception& e) {
    return {fmt::format("error: {}\n", e.what()), ""};
  }
}

/// Compiled and run on threads, with a drain in between.
std::string on_threads(const Program& program, const std::string& passes) {
  return digest(program, {.passes = passes,
                          .table = table(),
                          .comm = "in_process",
                          .iterations = 5,
                          .drain_after = {2},
                          .certify = false});  // passes of tests may rewrite anything
}

class GoldenTest : public ::testing::Test {
 public:
  explicit GoldenTest(std::string path) : path_(std::move(path)) {}
  void TestBody() override {
    Golden golden = read_golden(path_);
    EXPECT_TRUE(golden.head.starts_with("# ")) << "starts with a sentence";
    auto [actual, remarks, after] = run(golden);
    EXPECT_EQ(actual + remarks, golden.expected)
        << path_ << "\nrun with --update to accept what came out";
    if (actual.starts_with("error: ")) return;
    // What came out can be read again, and means what went in.
    if (!golden.phases) {
      after = parse(actual, ops::all(), find_loop_violation);
      EXPECT_EQ(to_text(after), actual);
    }
    Program before = parse(golden.input, ops::all());
    if (can_be_run(before)) {
      std::string wanted = digest(before, {.iterations = 5});
      EXPECT_FALSE(wanted.starts_with("error")) << wanted;
      EXPECT_EQ(on_threads(before, golden.passes), wanted);
    }
    if (!is_plain(before)) return;
    Random random(1);
    if (is_plain(after)) {
      EXPECT_EQ(difference(before, after, random_inputs(random, before), 2), "");
      return;
    }
    EXPECT_EQ(loop_difference(before, after, random_loop_inputs(random, before, 7), {1, 3}), "");
  }

 private:
  std::string path_;
};

int update() {
  int changed = 0;
  for (const std::string& path : golden_files()) {
    Golden golden = read_golden(path);
    Outcome outcome = run(golden);
    std::string text = outcome.text + outcome.remarks;
    if (text == golden.expected) continue;
    write_file(path, golden.head + golden.input + "===\n" + text);
    fmt::print("updated {}\n", path);
    ++changed;
  }
  fmt::print("{} updated\n", changed);
  return 0;
}

/// Every rule of the verifier has a file whose error names it.
TEST(Golden, EveryRuleIsTested) {
  std::set<std::string_view> missing;
  for (const Rule& rule : verifier_rules()) missing.insert(rule.name);
  for (const std::string& path : golden_files()) {
    std::string expected = read_golden(path).expected;
    if (!expected.starts_with("error: ")) continue;
    std::erase_if(missing, [&](std::string_view rule) {
      return expected.find(fmt::format("[{}]", rule)) != expected.npos;
    });
  }
  for (std::string_view rule : missing) ADD_FAILURE() << "no golden error for rule " << rule;
}

}  // namespace
}  // namespace hocket::testing

int main(int argc, char** argv) {
  using namespace hocket::testing;
  try {
    table();  // else every file would get the error
  } catch (const std::exception& e) {
    fmt::print(stderr, "golden: {}\n", e.what());
    return 2;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--update") return update();
  for (const std::string& path : golden_files()) {
    std::string name = golden_name(path);
    ::testing::RegisterTest("golden", name.c_str(), nullptr, nullptr, path.c_str(), 1,
                            [path]() -> GoldenTest* { return new GoldenTest(path); });
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

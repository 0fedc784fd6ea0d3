// Golden tests of plans. A file has one sentence and a plan, which must come out as it went in.
// Behind a line `===` stand edits, each with what becomes of the plan with it:
//
//     - a line of the plan, or several
//     + what stands there instead, if anything
//     error: the message
//
// `same` instead of an error: the plan of the file comes out; `accepted`: another one does. The
// first place with such lines is edited. `plan --update` rewrites the plan and what became of the
// edits; reading the difference is the review.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"

namespace hocket::testing {
namespace {

using Lines = std::vector<std::string>;

struct Edit {
  Lines before, after;
  std::string outcome;
};

struct GoldenPlan {
  std::string head;  // the comment lines
  std::string plan;
  std::vector<Edit> edits;
};

Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::string_view line : split(text, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

GoldenPlan read_golden_plan(const std::string& path) {
  std::string text = read_file(path);
  GoldenPlan golden;
  std::size_t start = text.find("\nplan") + 1;
  golden.head = text.substr(0, start);
  std::size_t end = text.find("\n===\n", start);
  golden.plan = text.substr(start, end == text.npos ? end : end + 1 - start);
  if (end == text.npos) return golden;
  for (const std::string& line : lines_of(text.substr(end + 5))) {
    if (line.empty()) continue;
    if (golden.edits.empty() || !golden.edits.back().outcome.empty()) golden.edits.emplace_back();
    Edit& edit = golden.edits.back();
    if (line.starts_with("- "))
      edit.before.push_back(line.substr(2));
    else if (line.starts_with("+ "))
      edit.after.push_back(line.substr(2));
    else
      edit.outcome = line;
  }
  return golden;
}

std::string to_text(const GoldenPlan& golden) {
  std::string text = golden.head + golden.plan;
  std::string_view separator = "===\n";
  for (const Edit& edit : golden.edits) {
    text += separator;
    separator = "\n";
    for (const std::string& line : edit.before) text += "- " + line + "\n";
    for (const std::string& line : edit.after) text += "+ " + line + "\n";
    text += edit.outcome + "\n";
  }
  return text;
}

/// The text that comes out, or the error.
std::string outcome(const std::string& text) {
  try {
    return hocket::to_text(parse_plan(text, ops::all()));
  } catch (const Error& e) {
    return fmt::format("error: {}", e.what());
  }
}

std::string outcome(const GoldenPlan& golden, const Edit& edit) {
  Lines lines = lines_of(golden.plan);
  auto equal = [](std::string_view line, std::string_view wanted) {
    return trim(line) == trim(wanted);
  };
  auto place =
      std::search(lines.begin(), lines.end(), edit.before.begin(), edit.before.end(), equal);
  if (place == lines.end()) return "no such lines";
  place = lines.erase(place, place + std::ssize(edit.before));
  lines.insert(place, edit.after.begin(), edit.after.end());
  std::string text = outcome(text_of(lines));
  if (text.starts_with("error: ")) return text;
  return text == golden.plan ? "same" : "accepted";
}

GoldenPlan actual(GoldenPlan golden) {
  golden.plan = outcome(golden.plan);
  if (golden.plan.starts_with("error: ")) return golden;
  for (Edit& edit : golden.edits) edit.outcome = outcome(golden, edit);
  return golden;
}

std::vector<std::string> plan_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(HOCKET_PLAN_DIR))
    if (entry.path().extension() == ".plan") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

TEST(Plan, Golden) {
  ASSERT_FALSE(plan_files().empty());
  for (const std::string& path : plan_files()) {
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
  for (const std::string& path : plan_files())
    for (const Edit& edit : read_golden_plan(path).edits)
      std::erase_if(missing, [&](std::string_view rule) {
        return edit.outcome.find(fmt::format("[{}]", rule)) != edit.outcome.npos;
      });
  for (std::string_view rule : missing) ADD_FAILURE() << "no golden error for rule " << rule;
}

int update() {
  for (const std::string& path : plan_files()) {
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

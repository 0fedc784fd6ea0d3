// Small graphs of PyTorch, each with what PyTorch computed or with what the refusal must say.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/driver/load.h"
#include "hocket/driver/run.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cases() {
  std::vector<std::string> all;
  for (const auto& entry :
       fs::directory_iterator(fs::path(HOCKET_SOURCE_DIR) / "tests/import/cases"))
    if (entry.is_directory()) all.push_back(entry.path().string());
  std::ranges::sort(all);
  return all;
}

class Case : public testing::TestWithParam<std::string> {};

void expect_refusal(const std::string& folder, const std::string& wanted) {
  auto start = std::chrono::steady_clock::now();
  try {
    load_step(folder);
    FAIL() << "was not refused";
  } catch (const Error& e) {
    std::string_view message = e.what();
    EXPECT_EQ(message.find('\n'), message.npos);
    for (std::string_view word : split(wanted, '\n'))
      EXPECT_NE(message.find(trim(word)), message.npos) << message << "\nwanted: " << word;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

/// Expects the bits that PyTorch computed in the outputs named in `names`, one name per line.
void expect_exact(const Step& step, const RunReport& report, const std::string& names) {
  for (std::string_view name : split(names, '\n'))
    for (std::size_t i = 0; i < report.labels[0].size(); ++i)
      for (std::size_t k = 0;
           trim(name) == report.labels[0][i].name && k < report.outcome.outputs.size(); ++k)
        EXPECT_TRUE(
            same_bits(report.outcome.outputs[k][0][i].value, step.recording.expected[k][0][i]))
            << name;
}

TEST_P(Case, GivesWhatPyTorchGave) {
  fs::path folder(GetParam());
  if (fs::exists(folder / "refusal.txt")) {
    expect_refusal(GetParam(), read_file((folder / "refusal.txt").string()));
    return;
  }
  Step step = load_step(GetParam());
  for (const char* backend : {"reference", "library"}) {
    RunOptions options;
    options.backend = backend;
    options.check = true;
    RunReport report = run(step, options);
    EXPECT_TRUE(report.check->ok) << backend << ": " << report.check->name << " is off by "
                                  << report.check->error << ", allowed " << report.check->tolerance;
    if (fs::exists(folder / "exact.txt"))
      expect_exact(step, report, read_file((folder / "exact.txt").string()));
    options.compile.passes = "none";
    EXPECT_EQ(run(step, options).digest, report.digest) << backend;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Case, testing::ValuesIn(cases()),
                         [](const auto& c) { return fs::path(c.param).filename().string(); });

/// Every trap of the list has a case.
TEST(Cases, CoverEveryTrap) {
  std::set<std::string> numbers;
  for (const std::string& path : cases())
    if (std::string name = fs::path(path).filename().string(); name.starts_with("trap"))
      numbers.insert(name.substr(4, 2));
  EXPECT_EQ(numbers.size(), 40U);
}

/// No operator has two translations, none of them without arguments to speak of.
TEST(Rows, AreListedOnce) {
  std::set<std::string_view> targets;
  for (std::span<const frontend::Row> family : frontend::rows())
    for (const frontend::Row& row : family) {
      EXPECT_TRUE(targets.insert(row.target).second) << row.target;
      EXPECT_EQ(row.translate == nullptr, !row.refusal.empty()) << row.target;
    }
  EXPECT_GT(targets.size(), 400U);
}

}  // namespace
}  // namespace hocket

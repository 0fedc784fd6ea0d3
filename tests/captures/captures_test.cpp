// PyTorch's own steps and values: every one must come out right, and a wrong value must be found.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/driver/load.h"
#include "hocket/driver/run.h"
#include "support/sources.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  return testing::source_name(info.param);
}

class Capture : public ::testing::TestWithParam<std::string> {};

RunOptions options(const std::string& backend, const std::string& passes = "none") {
  RunOptions o;
  o.compile.passes = passes;
  o.backend = backend;
  o.check = true;
  return o;
}

TEST_P(Capture, ComputesWhatPyTorchComputed) {
  Step step = load_step(GetParam());
  for (const char* backend : {"library", "reference"}) {
    RunReport report = run(step, options(backend));
    EXPECT_TRUE(report.check->ok) << backend << ": " << report.check->name << " is off by "
                                  << report.check->error << ", allowed " << report.check->tolerance;
    EXPECT_GT(report.check->tensors, 0);
    EXPECT_EQ(run(step, options(backend, "default")).digest, report.digest) << backend;
  }
}

/// Bits do not change from run to run, with the way ranks run or with the link between them, nor on
/// the way through text and files.
TEST_P(Capture, KeepsItsBits) {
  Step step = load_step(GetParam());
  RunReport first = run(step, options("library"));
  EXPECT_EQ(run(step, options("library")).digest, first.digest);
  RunOptions in_order = options("library"), slow = in_order;
  in_order.comm = "in_order";
  slow.link = comm::parse_link("10Gbps,20us");
  EXPECT_EQ(run(step, in_order).digest, first.digest);
  EXPECT_EQ(run(step, slow).digest, first.digest);
  RunOptions two = options("library");
  two.threads = 2;
  RunReport threaded = run(step, two);
  EXPECT_TRUE(threaded.check->ok);
  EXPECT_EQ(run(step, two).digest, threaded.digest);
  fs::path folder = fs::path(::testing::TempDir()) / test_name({GetParam(), 0});
  fs::create_directories(folder);
  std::string path = (folder / "step.hkt").string();
  save_step(step, path);
  Step again = load_step(path);
  EXPECT_EQ(again.program, step.program);
  RunReport second = run(again, options("library"));
  EXPECT_EQ(second.digest, first.digest);
  EXPECT_EQ(second.state_digest, first.state_digest);
  EXPECT_TRUE(second.check->ok);
  fs::remove_all(folder);
}

/// A copy with its largest element 1 % larger, and how large that element was.
std::pair<Tensor, double> spoiled(const Tensor& t) {
  Tensor copy(t.type());
  std::ranges::copy(t.bytes(), copy.bytes().begin());
  double largest = 0;
  visit(t.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::int64_t at = -1;
    for (std::int64_t i = 0; i < t.type().elements(); ++i) {
      double v = std::abs(static_cast<double>(load(t.as<T>()[i])));
      if (v > largest) {
        largest = v;
        at = i;
      }
    }
    if (at >= 0) copy.as<T>()[at] = store<T>(static_cast<double>(load(t.as<T>()[at])) * 1.01);
  });
  return {copy, largest};
}

TEST_P(Capture, CheckFindsAWrongValue) {
  Step step = load_step(GetParam());
  RunReport report = run(step, options("library"));
  frontend::Recording& r = step.recording;
  auto expect_found = [&](Tensor& expected, const std::string& name) {
    if (!expected || !is_float(expected.type().dtype)) return;
    Tensor kept = expected;
    auto [wrong, largest] = spoiled(expected);
    if (largest <= (name.empty() ? 0 : 1e-3)) return;
    expected = wrong;
    Comparison c = compare(step.program, r, report.outcome);
    EXPECT_FALSE(c.ok) << name;
    EXPECT_TRUE(c.name.starts_with(name)) << c.name << ", wanted " << name;
    expected = kept;
  };
  for (auto& iteration : r.expected)
    for (auto& rank : iteration)
      for (Tensor& t : rank) expect_found(t, "");
  for (std::size_t rank = 0; rank < r.final_state.size(); ++rank) {
    const Graph& g = step.program.graph_of(static_cast<int>(rank));
    for (std::size_t i = 0; i < r.final_state[rank].size(); ++i)
      expect_found(r.final_state[rank][i],
                   g.inputs()[i].names.empty() ? "%" : g.inputs()[i].names[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Capture, ::testing::ValuesIn(testing::sources()), test_name);

/// Graphs without values are read, too, and can be run on made-up ones.
TEST(FurtherGraphs, AreImported) {
  fs::path root = fs::path(HOCKET_DATA) / "graphs";
  if (!fs::exists(root)) return;
  for (const auto& entry : fs::directory_iterator(root)) {
    Step step = load_step(entry.path().string());
    EXPECT_GT(step.program.graphs[0].size(), 0U);
    EXPECT_THROW(run(step, {}), Error) << "it has no values";
  }
}

}  // namespace
}  // namespace hocket

// Optimizers as PyTorch traces them: what becomes of their write-backs, and that they can be cut.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "hocket/driver/load.h"
#include "hocket/driver/run.h"
#include "support/sources.h"

namespace hocket {
namespace {

RunReport run_with(const Step& step, const std::string& passes) {
  RunOptions options;
  options.compile.passes = passes;
  options.check = true;
  return run(step, options);
}

std::vector<NodeId> optimizers(const Graph& g) {
  std::vector<NodeId> found;
  for (NodeId n : g.nodes())
    if (g[n].op->is_optimizer) found.push_back(n);
  return found;
}

/// Counted in graph.json: collectives that sum gradients of its optimizer node, with one more for
/// gradients that none sums.
const std::map<std::string, std::int64_t> parts_of = {
    {"ep", 5},        {"gpt2", 28},       {"gpt2_foreach", 0}, {"gpt2_raw", 28},
    {"llama", 21},    {"llama_fsdp", 21}, {"mlp", 0},          {"mlp_fsdp", 0},
    {"mobilenet", 0}, {"resnet", 0},      {"tp", 1},
};

class CapturedOptimizer : public ::testing::TestWithParam<std::string> {};

/// The source writes new values back into its state. None of these writes is left as a node, and
/// none is lost: what PyTorch left changed has a next value. No input goes.
TEST_P(CapturedOptimizer, LeavesNoOrphanedWriteAndLosesNone) {
  Step step = load_step(GetParam());
  Program program = step.program, cleaned = program;
  PassTable table = standard_passes();
  run_passes(cleaned, table, table.parse("dead-nodes"));
  const Graph &before = program.graphs[0], &after = cleaned.graphs[0];
  ASSERT_EQ(before.inputs().size(), after.inputs().size());
  const frontend::Recording& recorded = step.recording;
  for (std::size_t i = 0; i < before.inputs().size(); ++i) {
    const Input& in = before.inputs()[i];
    Value next = after.next(in.value);
    EXPECT_EQ(before.next(in.value), next) << in.names[0];
    for (std::size_t r = 0; r < recorded.final_state.size(); ++r) {
      const Tensor &start = recorded.state[r][i], &end = recorded.final_state[r][i];
      if (start && end && !same_bits(start, end)) {
        EXPECT_TRUE(next && next != in.value) << in.names[0];
      }
    }
  }
  for (NodeId n : after.nodes()) EXPECT_TRUE(after.used(n)) << after.describe(n);
}

/// Gradients 1 and 2 cut off: two optimizers, the same parameters.
TEST_P(CapturedOptimizer, IsCutByASetOfGradients) {
  Step step = load_step(GetParam());
  std::string whole = run_with(step, "none").digest;
  const Graph& g = step.program.graphs[0];
  for (NodeId n : optimizers(g)) {
    auto gradients = g[n].slot(1);
    ASSERT_GT(gradients.size(), 3U);
    std::string passes =
        "split-optimizer:gradients=%" + g.name(gradients[1]) + "+%" + g.name(gradients[2]);
    RunReport cut = run_with(step, passes);
    EXPECT_EQ(cut.nodes, static_cast<std::int64_t>(g.size()) + 1);
    EXPECT_EQ(cut.digest, whole);
    EXPECT_TRUE(cut.check->ok);
  }
}

/// By bucket, and joined again.
TEST_P(CapturedOptimizer, IsCutByBucket) {
  Step step = load_step(GetParam());
  std::string whole = run_with(step, "none").digest;
  auto nodes = static_cast<std::int64_t>(step.program.graphs[0].size());
  RunReport cut = run_with(step, "split-optimizer:by=bucket");
  auto parts = parts_of.find(std::filesystem::path(GetParam()).filename().string());
  if (parts != parts_of.end()) {
    EXPECT_EQ(cut.nodes, parts->second == 0 ? nodes : nodes + parts->second - 1);
  }
  EXPECT_EQ(cut.digest, whole);
  RunReport joined = run_with(step, "split-optimizer:by=bucket,fuse-optimizer");
  EXPECT_EQ(joined.nodes, nodes);
  EXPECT_EQ(joined.digest, whole);
}

std::vector<std::string> captures() {
  std::vector<std::string> all = testing::sources();
  std::erase_if(all, [](const std::string& s) { return s.find("/captures/") == s.npos; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CapturedOptimizer, ::testing::ValuesIn(captures()),
                         [](const auto& c) { return testing::source_name(c.param); });

}  // namespace
}  // namespace hocket

// Steps of PyTorch whose updates run in the next iteration: the same bits in every iteration, and
// in all state after a drain.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "hocket/codegen/library/library.h"
#include "hocket/driver/run.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"
#include "hocket/passes/analysis/gradients.h"
#include "hocket/passes/framework/runner.h"
#include "support/run_loop.h"
#include "support/sources.h"

namespace hocket::testing {
namespace {

constexpr int iterations = 4;

/// The values of the recording, by name.
LoopInputs recorded_inputs(const Step& step) {
  LoopInputs inputs;
  auto ranks = static_cast<std::size_t>(step.program.world->ranks());
  inputs.state.resize(ranks);
  inputs.batches.assign(iterations, std::vector<Named>(ranks));
  for (std::size_t r = 0; r < ranks; ++r) {
    const Graph& g = step.program.graph_of(static_cast<int>(r));
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      std::string name = g.name(in.value);
      if (in.state) inputs.state[r][name] = step.recording.state[r][i];
      for (std::size_t k = 0; !in.state && k < iterations; ++k)
        inputs.batches[k][r][name] =
            step.recording.batches[k % step.recording.batches.size()][r][i];
    }
  }
  return inputs;
}

class CapturedLoop : public ::testing::TestWithParam<std::string> {
 protected:
  /// Runs passes, and the loop as it was and as it has become.
  Program check(const Step& step, const std::string& passes) {
    Program changed = step.program;
    PassTable table = standard_passes();
    run_passes(changed, table, table.parse(passes), {.verify_all = true});
    check_seams(changed);
    EXPECT_EQ(loop_difference(step.program, changed, recorded_inputs(step), {2}, &library_), "")
        << passes;
    return changed;
  }
  /// Whether the step has updates that can be delayed; nothing for a step not known here. `tp`
  /// reduces no gradients; three return the norm of all gradients, by which they scale them; `unet`
  /// keeps an average of its parameters in buffers.
  static std::optional<bool> can_delay() {
    constexpr std::string_view no[] = {"tp", "clip", "grad_accum", "hsdp", "unet"};
    constexpr std::string_view yes[] = {"ep",    "gpt2",     "gpt2_foreach", "gpt2_raw",  "llama",
                                        "mlp",   "mlp_fsdp", "llama_fsdp",   "mobilenet", "resnet",
                                        "mamba", "mesh2d",   "t5",           "ulysses"};
    std::string name = std::filesystem::path(GetParam()).filename().string();
    if (std::ranges::find(no, name) != std::end(no)) return false;
    if (std::ranges::find(yes, name) != std::end(yes)) return true;
    return std::nullopt;
  }

 private:
  Library library_;
};

/// The transfers that are on their way over the boundary, and nothing else is handed on.
void expect_transfers_alone(const Graph& g, std::optional<bool> some) {
  std::size_t pending = 0;
  for (const Input& in : g.inputs()) {
    if (!is_forwarded(g, in.value)) continue;
    ++pending;
    EXPECT_TRUE(g.type(in.value).pending) << g.name(in.value);
  }
  EXPECT_EQ(pending > 0, some.value_or(pending > 0));
}

TEST_P(CapturedLoop, UpdatesInTheNextIteration) {
  Step step = load_step(GetParam());
  Program changed = check(step,
                          "default,bucket-collectives:first=16KiB:cap=64KiB,"
                          "cross-iteration:delay=all,sink-waits");
  expect_transfers_alone(changed.graphs[0], can_delay());
}

TEST_P(CapturedLoop, UpdatesWhatComesLate) {
  check(load_step(GetParam()), "default,bucket-collectives:cap=64KiB,cross-iteration");
}

TEST_P(CapturedLoop, UpdatesWithoutOtherPasses) {
  Step step = load_step(GetParam());
  Program changed = check(step, "cross-iteration:delay=all");
  expect_transfers_alone(changed.graphs[0], can_delay());
}

/// The last gradient, collective included, in front of the first reader of what it updates.
TEST_P(CapturedLoop, MovesACollective) {
  Step step = load_step(GetParam());
  const Graph& g = step.program.graphs[0];
  std::vector<bool> gradients = find_gradient_collectives(g);
  std::string last;
  for (NodeId n : g.nodes())
    if (gradients[n.index]) last = g.name(g.result(n));
  ASSERT_EQ(!last.empty(), can_delay().value_or(!last.empty()));
  if (last.empty()) return;
  Program changed = check(step, "cross-iteration:move=%" + last);
  const Graph& after = changed.graphs[0];
  EXPECT_EQ(after[after.node(after.find(last))].delay, 1);
}

/// The same on ranks that run at once. Equal collectives that are merged afterwards leave several
/// carries with one transfer.
TEST_P(CapturedLoop, RunsOnRanksAtOnce) {
  Step step = load_step(GetParam());
  auto digest = [&](const std::string& passes) {
    RunOptions options;
    options.compile.passes = passes;
    options.iterations = iterations;
    options.drain_after = {2};
    return run(step, options).digest;
  };
  std::string wanted = digest("none");
  EXPECT_EQ(digest("cross-iteration:delay=all,common-nodes"), wanted);
  EXPECT_EQ(digest("default,bucket-collectives:cap=64KiB,cross-iteration"), wanted);
}

std::vector<std::string> captures() {
  std::vector<std::string> all = sources();
  std::erase_if(all, [](const std::string& s) {
    return s.find("/captures/") == s.npos && !s.ends_with("examples/mlp");
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CapturedLoop, ::testing::ValuesIn(captures()),
                         [](const auto& c) { return source_name(c.param); });

}  // namespace
}  // namespace hocket::testing

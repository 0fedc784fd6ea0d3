// When a run fails, every rank says where it stood, what it waited for, and what it had called.

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "hocket/base/error.h"
#include "hocket/comm/in_process.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"
#include "hocket/runtime/loop.h"
#include "hocket/runtime/ranks.h"
#include "support/two_graphs.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

/// Kernels that do nothing; those of sqrt take a while.
class Slow final : public Backend {
 public:
  std::string_view name() const override { return "slow"; }
  std::string numerics() const override { return "slow"; }
  std::shared_ptr<const Kernel> prepare(const KernelSpec& spec) override {
    auto kernel = std::make_shared<Prepared>();
    kernel->slow = &spec.op == &ops::sqrt;
    for (const Type& type : spec.operands)
      kernel->operands.push_back({Layout::row_major(type.elements())});
    for (const Type& type : spec.results)
      kernel->results.push_back({Layout::row_major(type.elements())});
    kernel->may_overwrite.resize(spec.results.size());
    return kernel;
  }

 private:
  struct Bound final : BoundKernel {
    explicit Bound(bool sleeps) : slow(sleeps) {}
    void run() override {
      if (slow) std::this_thread::sleep_for(600ms);
    }
    bool slow;
  };
  struct Prepared final : Kernel {
    std::unique_ptr<BoundKernel> bind(std::span<const ConstView>, std::span<const View>,
                                      std::span<std::byte>) const override {
      return std::make_unique<Bound>(slow);
    }
    bool slow = false;
  };
};

struct Failed {
  std::string message;
  HangReport report;
  Trace trace;
};

/// Runs a graph of one input f32[4] for each rank until it fails.
Failed fail_run(std::string_view first, std::string_view second, double deadline = 0.1,
                int iterations = 1) {
  auto graph = [](std::string_view lines) { return fmt::format("(%x: f32[4]) {{\n{}}}", lines); };
  Program program = testing::two_graphs(graph(first), graph(second));
  comm::InProcess transport(2, {.deadline = deadline});
  Ranks ranks(program, transport,
              {.backend = [] { return std::make_unique<Slow>(); }, .trace = true});
  Tensor x(Type{DType::f32, false, {4}});
  std::ranges::fill(x.bytes(), std::byte{0});
  InputTables inputs{{x}, {x}};
  Loop loop(ranks, inputs);
  try {
    for (int k = 0; k < iterations; ++k) (void)loop.step(inputs);
  } catch (const RunError& e) {
    return {e.what(), ranks.hang_report(), ranks.trace()};
  }
  ADD_FAILURE() << "the run did not fail";
  return {};
}

constexpr std::string_view reduce =
    "  %h: pending f32[4] = all_reduce(%x) {group=\"dp\", channel=0} @\"net.0\"\n"
    "  %n: f32[4] = neg(%x)\n"
    "  %s: f32[4] = wait(%h)\n"
    "  return %s, %n\n";

std::vector<const Span*> unfinished(const RankTrace& trace) {
  std::vector<const Span*> spans;
  for (const Span& s : trace.spans)
    if (s.unfinished) spans.push_back(&s);
  return spans;
}

TEST(HangReport, ARankThatHasEnded) {
  Failed f = fail_run(reduce, "  return %x\n");
  EXPECT_EQ(f.report.error, f.message);
  ASSERT_EQ(f.report.ranks.size(), 2);
  const StoppedRank &waits = f.report.ranks[0], &ended = f.report.ranks[1];
  EXPECT_EQ(waits.rank, 0);
  EXPECT_EQ(waits.state, Standing::waits);
  EXPECT_EQ(waits.phase, "steady");
  EXPECT_EQ(waits.text, "wait 0 as %s");
  EXPECT_EQ(waits.label.name, "%s");
  EXPECT_LT(waits.instruction, waits.instructions);
  EXPECT_GE(waits.seconds, 0.1);
  ASSERT_TRUE(waits.waits_for);
  EXPECT_EQ(waits.waits_for->node, "%h");
  EXPECT_EQ(waits.waits_for->op, "all_reduce");
  EXPECT_EQ(waits.waits_for->group, "dp");
  EXPECT_EQ(waits.waits_for->channel, 0);
  EXPECT_EQ(waits.waits_for->missing, std::vector{1});
  EXPECT_GE(waits.waits_for->seconds, waits.seconds);
  ASSERT_EQ(waits.in_flight.size(), 1);
  EXPECT_EQ(waits.in_flight[0].node, "%h");
  ASSERT_EQ(waits.issued.size(), 1);
  EXPECT_EQ(waits.issued[0].ranks, (std::vector{0, 1}));
  ASSERT_EQ(waits.issued[0].calls.size(), 1);
  EXPECT_EQ(waits.issued[0].calls[0].text, "%h = all_reduce of 4 f32 on channel 0");

  EXPECT_EQ(ended.state, Standing::done);
  EXPECT_EQ(ended.instruction, ended.instructions);
  EXPECT_FALSE(ended.waits_for);
  EXPECT_TRUE(ended.issued.empty());
  EXPECT_TRUE(f.report.differences.empty());

  auto spans = unfinished(f.trace.ranks[0]);
  ASSERT_EQ(spans.size(), 1);
  EXPECT_EQ(spans[0]->kind, SpanKind::wait);
  EXPECT_EQ(f.trace.ranks[0].labels[spans[0]->label].name, "%s");
  EXPECT_GE(spans[0]->end - spans[0]->begin, 0.1);
  EXPECT_EQ(f.trace.ranks[0].steps.back().end, spans[0]->end);
  EXPECT_TRUE(unfinished(f.trace.ranks[1]).empty());
}

/// The rank goes on when its kernel ends, and still it is reported where it was.
TEST(HangReport, ARankInALongKernel) {
  Failed f = fail_run(reduce,
                      "  %q: f32[4] = sqrt(%x)\n"
                      "  %h: pending f32[4] = all_reduce(%q) {group=\"dp\", channel=0}\n"
                      "  %s: f32[4] = wait(%h)\n"
                      "  return %s\n");
  EXPECT_EQ(f.report.ranks[0].state, Standing::waits);
  ASSERT_TRUE(f.report.ranks[0].waits_for);
  EXPECT_EQ(f.report.ranks[0].waits_for->missing, std::vector{1});
  const StoppedRank& slow = f.report.ranks[1];
  EXPECT_EQ(slow.state, Standing::computes);
  EXPECT_EQ(slow.label.name, "%q");
  EXPECT_NE(slow.text.find("sqrt"), slow.text.npos) << slow.text;
  EXPECT_GE(slow.seconds, 0.05);
  EXPECT_LT(slow.seconds, 0.6);
  EXPECT_TRUE(slow.in_flight.empty());
  auto spans = unfinished(f.trace.ranks[1]);
  ASSERT_EQ(spans.size(), 1);  // where it heard of the failure
  EXPECT_EQ(spans[0]->kind, SpanKind::start);
}

TEST(HangReport, AReceiveWithoutASend) {
  Failed f = fail_run(
      "  %h: pending f32[4] = recv {group=\"dp\", from=1, type=f32[4], channel=5}\n"
      "  %r: f32[4] = wait(%h)\n"
      "  return %r\n",
      "  return %x\n");
  const StoppedRank& waits = f.report.ranks[0];
  EXPECT_EQ(waits.state, Standing::waits);
  ASSERT_TRUE(waits.waits_for);
  EXPECT_EQ(waits.waits_for->op, "recv");
  EXPECT_EQ(waits.waits_for->channel, 5);
  EXPECT_EQ(waits.waits_for->missing, std::vector{1});
  ASSERT_EQ(waits.issued.size(), 1);
  EXPECT_TRUE(waits.issued[0].pair);
  EXPECT_EQ(waits.issued[0].ranks, (std::vector{1, 0}));
}

/// Each rank waits for a call that the other would start later.
TEST(HangReport, RanksThatWaitForEachOther) {
  auto receive = [](int from, int channel) {
    return fmt::format(
        "  %h: pending f32[4] = recv {{group=\"dp\", from={0}, type=f32[4], channel={1}}}\n"
        "  %r: f32[4] = wait(%h)\n"
        "  %p: pending f32[4] = send(%r) {{group=\"dp\", to={0}, channel={2}}}\n"
        "  %t: f32[4] = wait(%p)\n"
        "  return %r\n",
        from, channel, 1 - channel);
  };
  Failed f = fail_run(receive(1, 0), receive(0, 1), 30);
  EXPECT_NE(f.message.find("wait for each other"), f.message.npos) << f.message;
  for (const StoppedRank& r : f.report.ranks) {
    EXPECT_EQ(r.state, Standing::waits);
    ASSERT_TRUE(r.waits_for);
    EXPECT_EQ(r.waits_for->missing, std::vector{1 - r.rank});
    EXPECT_LT(r.seconds, 10);
  }
}

TEST(HangReport, CallsInAnotherOrder) {
  auto calls = [](int a, int b, int c) {
    std::string text, returns;
    for (int channel : {a, b, c})
      text += fmt::format(
          "  %h{0}: pending f32[4] = all_reduce(%x) {{group=\"dp\", channel={0}}}\n"
          "  %s{0}: f32[4] = wait(%h{0})\n",
          channel);
    return text + "  return %s0, %s1, %s2\n";
  };
  Failed f = fail_run(calls(0, 1, 2), calls(0, 2, 1), 30);
  EXPECT_NE(f.message.find("channel 1"), f.message.npos) << f.message;
  ASSERT_EQ(f.report.differences.size(), 1);
  const OrderDifference& d = f.report.differences[0];
  EXPECT_EQ(d.group, "dp");
  EXPECT_EQ(d.number, 1);
  EXPECT_EQ(f.report.ranks[0].issued[0].calls[0].order, f.report.ranks[1].issued[0].calls[0].order);
  EXPECT_EQ(f.report.ranks[0].issued[0].calls[1].text, "%h1 = all_reduce of 4 f32 on channel 1");
  EXPECT_EQ(f.report.ranks[1].issued[0].calls[1].text, "%h2 = all_reduce of 4 f32 on channel 2");
}

TEST(HangReport, ANodeThatCannotBeComputed) {
  Program program = parse(R"(mesh(dp=2)
graph step(%x: f32[4], %i: i64[1]) {
  %y: f32[1] = gather(%x, %i) {dim=0}
  %h: pending f32[1] = all_reduce(%y) {group="dp"}
  %s: f32[1] = wait(%h)
  return %s
})",
                          ops::all());
  Tensor x(Type{DType::f32, false, {4}}), good(Type{DType::i64, false, {1}}),
      bad = Tensor(good.type());
  std::ranges::fill(x.bytes(), std::byte{0});
  good.as<std::int64_t>()[0] = 3;
  bad.as<std::int64_t>()[0] = 9;
  InputTables rights{{x, good}, {x, good}}, wrongs{{x, good}, {x, bad}};
  comm::InProcess transport(2);
  Ranks ranks(program, transport, {.trace = true});
  Loop loop(ranks, rights);
  (void)loop.step(rights);
  EXPECT_THROW((void)loop.step(wrongs), RunError);
  const StoppedRank& failed = ranks.hang_report().ranks[1];
  EXPECT_EQ(failed.state, Standing::failed);
  EXPECT_EQ(failed.label.op, "gather");
  EXPECT_EQ(failed.iteration, 1);
  EXPECT_NE(ranks.hang_report().ranks[0].state, Standing::failed);
  EXPECT_EQ(ranks.hang_report().ranks[0].iteration, 1);
  EXPECT_EQ(unfinished(ranks.trace().ranks[1]).at(0)->kind, SpanKind::kernel);
}

}  // namespace
}  // namespace hocket

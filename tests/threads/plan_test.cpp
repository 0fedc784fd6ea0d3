// Ranks do what a plan says, instruction by instruction; these plans are written by hand.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>

#include "hocket/base/error.h"
#include "hocket/comm/in_process.h"
#include "hocket/plan/live_tensors.h"
#include "hocket/runtime/arena.h"
#include "hocket/runtime/loop.h"
#include "hocket/runtime/ranks.h"
#include "tests/threads/small_plan.h"

namespace hocket {
namespace {

using testing::SmallPlan;
using Floats = std::vector<float>;

Tensor tensor(const Floats& values) {
  Tensor t(Type{DType::f32, false, {std::ssize(values)}});
  std::ranges::copy(values, t.as<float>());
  return t;
}

Floats numbers_in(const Tensor& t) { return {t.as<float>(), t.as<float>() + t.type().elements()}; }

/// The outputs of a step of a plan for one rank.
std::vector<Floats> outputs_of(std::span<const Produced> produced) {
  std::vector<Floats> all;
  for (const Produced& p : produced) all.push_back(numbers_in(p.value));
  return all;
}

SmallPlan negated() {
  SmallPlan p(R"(graph step(%x: f32[4]) {
  %y: f32[4] = neg(%x)
  return %y
})");
  p.phase().input("x", p.at(0)).kernel("y", {p.at(0)}, {p.at(64)}).output(0, p.at(64));
  return p;
}

TEST(Plan, AKernel) {
  comm::InProcess transport(1);
  Ranks ranks(negated().plan, transport);
  Loop loop(ranks, {{}});
  for (float first : {1.0f, 5.0f})
    EXPECT_EQ(outputs_of(loop.step({{tensor({first, 2, 3, 4})}})),
              (std::vector<Floats>{{-first, -2, -3, -4}}));
}

TEST(Plan, CopiesOfAPlanForOneRank) {
  comm::InProcess transport(3);
  Ranks ranks(negated().plan, transport);
  Loop loop(ranks, {{}, {}, {}});
  std::span<const Produced> produced =
      loop.step({{tensor({1, 1, 1, 1})}, {tensor({2, 2, 2, 2})}, {tensor({3, 3, 3, 3})}});
  ASSERT_EQ(produced.size(), 3u);
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(produced[static_cast<std::size_t>(r)].rank, r);
    EXPECT_EQ(produced[static_cast<std::size_t>(r)].value.as<float>()[3],
              -1.0f - static_cast<float>(r));
  }
}

/// Outputs are handed out row-major from wherever they lie.
TEST(Plan, CopiesBetweenLayouts) {
  SmallPlan p(R"(graph step(%x: f32[2,3]) {
  return %x, %x
})");
  Type type{DType::f32, false, {2, 3}};
  Location plain = p.at(0, type, Layout::row_major(6)),
           turned = p.at(64, type, Layout({{2, 1}, {3, 2}})),
           again = p.at(128, type, Layout::row_major(6));
  p.phase().input("x", plain).copy(plain, turned).copy(turned, again);
  p.output(0, turned).output(1, again);
  comm::InProcess transport(1);
  Ranks ranks(p.plan, transport);
  Loop loop(ranks, {{}});
  Tensor x(type);
  std::iota(x.as<float>(), x.as<float>() + 6, 0.0f);
  Floats wanted{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(outputs_of(loop.step({{x}})), (std::vector<Floats>{wanted, wanted}));
}

TEST(Plan, StateAndConstantsHaveHomes) {
  SmallPlan p(R"(graph step(%w: state f32[4] "w" parameter, %k: state f32[4] "k" buffer) {
  %c: f32[4] = constant {ref="table"}
  %u: f32[4] = add(%w, %c)
  next %w = %u
  return %u
})");
  p.plan.program.constants["table"] = tensor({1, 2, 3, 4});
  p.state("w", p.at(0)).state("k", p.at(64)).constant("table", p.at(128));
  p.phase().kernel("u", {p.at(0), p.at(128)}, {p.at(0)}).output(0, p.at(0));
  comm::InProcess transport(1);
  Ranks ranks(p.plan, transport);
  Loop loop(ranks, {{tensor({0, 0, 0, 0}), tensor({9, 9, 9, 9})}});
  (void)loop.step({{}});
  EXPECT_EQ(outputs_of(loop.step({{}})), (std::vector<Floats>{{2, 4, 6, 8}}));
  EXPECT_EQ(numbers_in(loop.state()[0][0]), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(numbers_in(loop.state()[0][1]), (Floats{9, 9, 9, 9}));

  p.plan.program.constants.clear();
  EXPECT_THROW(Ranks(p.plan, transport), Error);
}

constexpr std::string_view reduce_text = R"(mesh(dp=2)
graph step(%x: f32[4], %y: f32[4]) {
  %h: pending f32[4], %i: pending f32[4] = all_reduce(%x, %y) {group="dp"}
  %n: f32[4] = neg(%x)
  %s: f32[4], %t: f32[4] = wait(%h, %i)
  return %n, %s, %t
})";

TEST(Plan, ABucketInPlace) {
  SmallPlan p(reduce_text);
  p.phase().input("x", p.at(0)).input("y", p.at(64)).kernel("n", {p.at(0)}, {p.at(128)});
  p.start("h", 0, {p.at(0), p.at(64)}, {p.at(0), p.at(64)}).wait("s", 0);
  p.output(0, p.at(128)).output(1, p.at(0)).output(2, p.at(64));
  comm::InProcess transport(2);
  Ranks ranks(p.plan, transport);
  Loop loop(ranks, {{}, {}});
  for (int k = 0; k < 3; ++k) {
    auto produced = outputs_of(loop.step({{tensor({1, 2, 3, 4}), tensor({5, 5, 5, 5})},
                                          {tensor({10, 20, 30, 40}), tensor({6, 6, 6, 6})}}));
    ASSERT_EQ(produced.size(), 6u);
    EXPECT_EQ(produced[0], (Floats{-1, -2, -3, -4}));
    for (std::size_t r : {0u, 3u}) {
      EXPECT_EQ(produced[r + 1], (Floats{11, 22, 33, 44}));
      EXPECT_EQ(produced[r + 2], (Floats{11, 11, 11, 11}));
    }
  }
}

/// Starts a transfer in one phase and waits for it in the next; the drain only waits.
SmallPlan carried() {
  SmallPlan p(R"(mesh(dp=2)
graph step(%w: state f32[4] "w" parameter, %x: f32[4], %p: state pending f32[4] forwarded) {
  %s: f32[4] = wait(%p) delay=1
  %u: f32[4] = sub(%w, %s) delay=1
  %h: pending f32[4] = all_reduce(%x) {group="dp", channel=0}
  %y: f32[4] = neg(%u)
  next %w = %u
  next %p = %h
  return %y
})");
  Location w = p.at(0), x = p.at(64), y = p.at(128);
  p.state("w", w);
  p.graph().homes.push_back({.kind = HomeKind::state, .input = 2, .location = x});
  p.graph().carried_transfers = 1;
  p.phase({0, 0, 0}).input("x", x).start("h", 0, {x}, {x}).kernel("y", {w}, {y}).output(0, y);
  p.phase({0, 1, 0}).wait("s", 0).kernel("u", {w, x}, {w}).input("x", x).start("h", 0, {x}, {x});
  p.kernel("y", {w}, {y}).output(0, y);
  p.phase({1, 1, 0}).wait("s", 0).kernel("u", {w, x}, {w});
  return p;
}

TEST(Plan, ATransferCrossesPhases) {
  comm::InProcess transport(2, {.link = comm::Link{1e9, 1e-4}});
  Ranks ranks(carried().plan, transport, {.trace = true});
  Loop loop(ranks, {{tensor({100, 100, 100, 100})}, {tensor({100, 100, 100, 100})}});
  Tensor x = tensor({1, 2, 3, 4});
  std::vector<Floats> seen;
  for (int k = 0; k < 4; ++k) {
    std::span<const Produced> produced = loop.step({{{}, x}, {{}, x}});
    ASSERT_EQ(produced.size(), 2u);
    EXPECT_EQ(produced[1].iteration, k);
    seen.push_back(numbers_in(produced[1].value));
    if (k == 1) {
      EXPECT_TRUE(loop.drain().empty());
    }
  }
  EXPECT_THROW((void)loop.state(), Error);
  EXPECT_THROW(ranks.load({{x}, {x}}), Error);  // in flight
  (void)loop.finish();
  EXPECT_EQ(seen, (std::vector<Floats>{{-100, -100, -100, -100},
                                       {-98, -96, -94, -92},
                                       {-96, -92, -88, -84},
                                       {-94, -88, -82, -76}}));
  EXPECT_EQ(numbers_in(loop.state()[1][0]), (Floats{92, 84, 76, 68}));
  Trace trace = ranks.trace();
  for (const RankTrace& rank : trace.ranks) {
    std::vector<std::int64_t> waited, read;
    for (const Span& s : rank.spans) {
      if (s.kind == SpanKind::wait) waited.push_back(s.call);
      if (s.reads >= 0) read.push_back(s.reads);
    }
    EXPECT_EQ(waited, (std::vector<std::int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(read, waited);
  }
}

TEST(Plan, APlanWithoutThePhase) {
  SmallPlan p = carried();
  p.graph().phases.pop_back();
  comm::InProcess transport(2);
  Ranks ranks(p.plan, transport);
  Tensor x = tensor({1, 2, 3, 4});
  Loop loop(ranks, {{x}, {x}});
  (void)loop.step({{{}, x}, {{}, x}});
  EXPECT_THROW((void)loop.drain(), Error);
}

std::string refusal(const SmallPlan& p, const RanksOptions& options = {}) {
  comm::InProcess transport(p.plan.program.world->ranks());
  try {
    Ranks ranks(p.plan, transport, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

/// A backend that wants what the test says, for ops that it is asked for.
struct Demanding final : Backend {
  explicit Demanding(std::int64_t bytes, bool takes = true) : workspace(bytes), accepts(takes) {}
  std::string_view name() const override { return "demanding"; }
  std::string numerics() const override { return "demanding: 1"; }
  std::shared_ptr<const Kernel> prepare(const KernelSpec& spec) override {
    struct Nothing final : BoundKernel {
      void run() override {}
    };
    struct Idle final : Kernel {
      std::unique_ptr<BoundKernel> bind(std::span<const ConstView>, std::span<const View>,
                                        std::span<std::byte>) const override {
        return std::make_unique<Nothing>();
      }
    };
    if (!accepts) return nullptr;
    auto kernel = std::make_shared<Idle>();
    kernel->operands = {{Layout::row_major(spec.operands[0].elements())}};
    kernel->results = {{Layout::row_major(spec.results[0].elements())}};
    kernel->workspace_bytes = workspace;
    return kernel;
  }
  std::int64_t workspace;
  bool accepts;
};

RanksOptions demanding(std::int64_t workspace, bool accepts = true) {
  return {.backend = [=] { return std::make_unique<Demanding>(workspace, accepts); }};
}

TEST(Plan, APlanForAnotherLibrary) {
  SmallPlan p = negated();
  p.graph().phases[0].instructions[1].backend = 1;
  p.graph().phases[0].instructions[1].workspace_bytes = 0;
  p.plan.backends.emplace_back("demanding");
  EXPECT_EQ(refusal(p, demanding(0)), "none");
  EXPECT_EQ(refusal(p), "%y = neg: backend reference, the plan was made for demanding");
  EXPECT_EQ(refusal(p, demanding(0, false)),
            "%y = neg: no kernel for it: the plan was made for another library");
  EXPECT_EQ(refusal(p, demanding(64)),
            "%y = neg: 0 bytes of workspace, wanted 64: the plan was made for another library");
  p.graph().phases[0].locations[1] = p.at(0, Type{DType::f32, false, {4}}, Layout({{4, 2}}));
  EXPECT_EQ(refusal(p, demanding(0)),
            "%y = neg: operand 0 lies as [4:2], wanted [4:1]: the plan was made for another "
            "library");
}

TEST(Plan, AStateWithoutAPlace) {
  SmallPlan p("graph step(%w: state f32[4] \"w\" parameter) {\n  return %w\n}");
  p.phase().output(0, p.at(0));
  EXPECT_EQ(refusal(p), "the plan has no place for %w");
}

TEST(Plan, AnArenaThatCannotBeHad) {
  SmallPlan p = negated();
  p.graph().arena_bytes = std::int64_t{1} << 60;
  EXPECT_EQ(refusal(p),
            "memory of a rank: 1152921504606846976 bytes cannot be had: Cannot allocate memory");
}

TEST(Plan, AKernelThatFailsIsNamed) {
  SmallPlan p(R"(graph step(%x: f32[4], %i: i64[1]) {
  %y: f32[1] = gather(%x, %i) {dim=0}
  return %y
})");
  Type one{DType::i64, false, {1}};
  Location i = p.at(64, one, Layout::row_major(1));
  p.phase().input("x", p.at(0)).input("i", i).kernel("y", {p.at(0), i}, {p.at(128, 1)});
  p.output(0, p.at(128, 1));
  comm::InProcess transport(1);
  Ranks ranks(p.plan, transport);
  Loop loop(ranks, {{}});
  Tensor far(one);
  far.as<std::int64_t>()[0] = 4;
  std::string message;
  for (int k = 0; k < 2; ++k) try {
      (void)loop.step({{tensor({1, 2, 3, 4}), far}});
      FAIL();
    } catch (const RunError& e) {
      EXPECT_TRUE(k == 0 || message == e.what());
      message = e.what();
    }
  EXPECT_TRUE(message.starts_with("rank 0: %y = gather: ")) << message;
  EXPECT_EQ(message.find("gather", 20), message.npos) << message;
}

TEST(Plan, PeakIsWhatWasWritten) {
  SmallPlan p("graph step(%x: f32[4]) {\n  return %x\n}", 4096);
  p.phase().input("x", p.at(0)).copy(p.at(0), p.at(64)).output(0, p.at(64));
  comm::InProcess transport(2);
  Ranks ranks(p.plan, transport);
  EXPECT_EQ(ranks.planned_peak_bytes(), 4096);
  EXPECT_EQ(ranks.peak_bytes(), 0);
  Loop loop(ranks, {{}, {}});
  (void)loop.step({{tensor({1, 2, 3, 4})}, {tensor({1, 2, 3, 4})}});
  EXPECT_EQ(ranks.peak_bytes(), 80);
}

TEST(Arena, HighestByteThatChanged) {
  for (std::int64_t size : {0, 1, 7, 8, 100, 4096, 5 << 20}) {
    Arena arena(size);
    EXPECT_EQ(arena.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.at(0)) % (2 << 20), 0);
    EXPECT_EQ(arena.highest_changed(), 0);
    for (std::int64_t at : std::set{std::int64_t{0}, size / 2, size - 1}) {
      if (at < 0 || at >= size) continue;
      *arena.at(at) ^= std::byte{1};
      EXPECT_EQ(arena.highest_changed(), at + 1);
    }
  }
}

TEST(LiveBytes, FromTheFirstWriteToTheLastRead) {
  SmallPlan p(reduce_text);
  p.phase()
      .input("x", p.at(0))
      .input("y", p.at(64))
      .start("h", 0, {p.at(0), p.at(64)}, {p.at(0), p.at(64)});
  p.kernel("n", {p.at(0)}, {p.at(128)}).wait("s", 0);
  p.output(0, p.at(128)).output(1, p.at(0)).output(2, p.at(64));
  p.graph().homes.push_back({.kind = HomeKind::constant, .location = p.at(512, 16)});
  for (Instruction& i : p.graph().phases[0].instructions) i.workspace_bytes = 0;
  std::vector<std::int64_t> live =
      live_bytes(live_tensors(p.plan, 0, 0), p.graph().phases[0].instructions.size());
  EXPECT_EQ(live, (std::vector<std::int64_t>{80, 96, 96, 112, 112, 112, 96, 80}));
}

/// A result in the bytes of its operand, a part that is read, bytes that are used again.
TEST(LiveBytes, PartsAndReuse) {
  SmallPlan p(R"(graph step(%x: f32[4]) {
  %y: f32[4] = neg(%x)
  return %y
})");
  p.phase()
      .input("x", p.at(0))
      .kernel("y", {p.at(0)}, {p.at(0)})
      .kernel("y", {p.at(0)}, {p.at(16)});
  p.kernel("y", {p.at(16, 2)}, {p.at(0, 2)}).output(0, p.at(0, 2));
  for (Instruction& i : p.graph().phases[0].instructions) i.workspace_bytes = 0;
  p.graph().phases[0].instructions[2].workspace_bytes = 100;
  std::vector<std::int64_t> live =
      live_bytes(live_tensors(p.plan, 0, 0), p.graph().phases[0].instructions.size());
  EXPECT_EQ(live, (std::vector<std::int64_t>{16, 16, 132, 24, 8}));
}

}  // namespace
}  // namespace hocket

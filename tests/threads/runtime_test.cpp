// Ranks that run at once give the bits of the interpreter; what goes wrong in one ends all, with
// one cause.

#include <gtest/gtest.h>

#include "hocket/base/error.h"
#include "hocket/codegen/library/library.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/comm/in_process.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ops/ops.h"
#include "hocket/runtime/ranks.h"
#include "support/random_classes.h"
#include "support/random_program.h"
#include "support/two_graphs.h"
#include "tests/threads/one_step.h"

namespace hocket {
namespace {

using Inputs = std::vector<std::vector<Tensor>>;

Program read_program(std::string_view text) { return parse(text, ops::all()); }

Tensor floats(std::initializer_list<float> values) {
  Tensor t(Type{DType::f32, false, {static_cast<std::int64_t>(values.size())}});
  std::ranges::copy(values, t.as<float>());
  return t;
}

std::string difference(const std::vector<RankResult>& a, const std::vector<RankResult>& b) {
  for (std::size_t r = 0; r < a.size(); ++r) {
    auto same = [](const Tensor& x, const Tensor& y) { return (!x && !y) || same_bits(x, y); };
    if (!std::ranges::equal(a[r].outputs, b[r].outputs, same))
      return fmt::format("outputs of rank {}", r);
    if (!std::ranges::equal(a[r].state, b[r].state, same))
      return fmt::format("state of rank {}", r);
  }
  return "";
}

Inputs with_state(const Program& program, Inputs inputs, const std::vector<RankResult>& results) {
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    const Graph& g = program.graph_of(static_cast<int>(r));
    for (std::size_t i = 0; i < inputs[r].size(); ++i)
      if (g.inputs()[i].state) inputs[r][i] = results[r].state[i];
  }
  return inputs;
}

TEST(Runtime, RandomProgramsGiveTheBitsOfTheInterpreter) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    testing::Random random(seed);
    testing::RandomProgram shape{.ranks = seed % 3 == 0 ? 4 : 2, .nodes = 60};
    Program program =
        seed % 4 == 1 ? testing::random_stages(random) : testing::random_program(random, shape);
    Inputs inputs = testing::random_inputs(random, program);
    comm::InProcessOptions options;
    if (seed % 5 == 0) options.link = comm::Link{1e9, 1e-6};
    comm::InProcess transport(program.world->ranks(), options);
    Ranks ranks(program, transport);
    Loop loop(ranks, inputs);
    for (int k = 0; k < 2; ++k) {
      auto wanted = interpret(program, inputs), found = testing::next_step(loop, ranks, inputs);
      ASSERT_EQ(difference(found, wanted), "") << "seed " << seed << "\n" << to_text(program);
      inputs = with_state(program, inputs, wanted);
    }
  }
}

constexpr std::string_view step_text = R"(mesh(dp=2)
graph step(%w: state f32[2] "w" parameter, %g: f32[2]) {
  %h: pending f32[2], %i: pending f32[2] = all_reduce(%g, %w) {group="dp", reduce="sum"}
  %twice: f32[2] = add(%w, %w)
  %s: f32[2], %t: f32[2] = wait(%h, %i)
  %u: f32[2] = sub(%w, %s)
  next %w = %u
  return %twice, %t
})";

Inputs step_inputs() {
  Tensor w = floats({1, 2});
  return {{w, floats({10, 20})}, {w, floats({1, 2})}};
}

TEST(Runtime, AStepWithABackend) {
  Program program = read_program(step_text);
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport, {.backend = [] { return std::make_unique<Library>(); }});
  EXPECT_EQ(difference(testing::one_step(ranks, step_inputs()), interpret(program, step_inputs())),
            "");
  EXPECT_TRUE(ranks.plan().origin.numerics.starts_with("library: "));
}

/// The operands that are given are never written to, although results may take dead bytes.
TEST(Runtime, InputsStayAsTheyAre) {
  Program program = read_program(step_text);
  Inputs inputs = step_inputs();
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  for (int k = 0; k < 3; ++k) (void)testing::one_step(ranks, inputs);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(inputs[r][i], step_inputs()[r][i]));
}

TEST(Runtime, MembersOfSeveralDtypes) {
  Program program = read_program(R"(mesh(dp=2)
graph step(%a: f32[3], %b: i32[2], %c: f32[1]) {
  %x: pending f32[3], %y: pending i32[2], %z: pending f32[1] = all_reduce(%a, %b, %c) {group="dp"}
  %p: f32[3], %q: i32[2], %r: f32[1] = wait(%x, %y, %z)
  return %p, %q, %r
})");
  Tensor b(Type{DType::i32, false, {2}});
  b.as<std::int32_t>()[0] = 7;
  b.as<std::int32_t>()[1] = -9;
  Inputs inputs{{floats({1, 2, 3}), b, floats({4})}, {floats({5, 6, 7}), b, floats({8})}};
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  EXPECT_EQ(difference(testing::one_step(ranks, inputs), interpret(program, inputs)), "");
}

TEST(Runtime, RowsWithoutElements) {
  Program program = read_program(R"(mesh(dp=2)
graph a on [0] (%x: f32[4,0], %y: f32[3,2,0]) {
  %h: pending f32[4,0] = all_to_all(%x) {group="dp", channel=0}
  %i: pending f32[2,2,0] = all_to_all(%y) {group="dp", send=[1,2], receive=[1,1], channel=1}
  %s: f32[4,0] = wait(%h)
  %t: f32[2,2,0] = wait(%i)
  return %s, %t
}
graph b on [1] (%x: f32[4,0], %y: f32[3,2,0]) {
  %h: pending f32[4,0] = all_to_all(%x) {group="dp", send=[2,2], receive=[2,2], channel=0}
  %i: pending f32[4,2,0] = all_to_all(%y) {group="dp", send=[1,2], receive=[2,2], channel=1}
  %s: f32[4,0] = wait(%h)
  %t: f32[4,2,0] = wait(%i)
  return %s, %t
})");
  std::vector<Tensor> both{Tensor(Type{DType::f32, false, {4, 0}}),
                           Tensor(Type{DType::f32, false, {3, 2, 0}})};
  Inputs inputs{both, both};
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  EXPECT_EQ(difference(testing::one_step(ranks, inputs), interpret(program, inputs)), "");
}

TEST(Runtime, CopiesOfAProgramForOneRank) {
  Program program = read_program(R"(graph step(%x: f32[2]) {
  %h: pending f32[2] = all_reduce(%x) {group="world"}
  %r: i64[] = rank {group="world"}
  %s: f32[2] = wait(%h)
  return %s, %r
})");
  Inputs inputs{{floats({1, 2})}, {floats({3, 4})}, {floats({5, 6})}};
  comm::InProcess transport(3);
  Ranks ranks(program, transport);
  auto found = testing::one_step(ranks, inputs);
  for (std::size_t r = 0; r < 3; ++r)
    EXPECT_EQ(difference({found[r]}, interpret(program, {&inputs[r], 1})), "");
}

TEST(Runtime, ReleasesDeadValues) {
  std::string text = "graph step(%x: f32[1000]) {\n  %v0: f32[1000] = neg(%x)\n";
  for (int i = 1; i < 50; ++i) text += fmt::format("  %v{}: f32[1000] = neg(%v{})\n", i, i - 1);
  Program program = read_program(text + "  return %v49\n}");
  Inputs inputs{{Tensor(Type{DType::f32, false, {1000}})}};
  std::ranges::fill(inputs[0][0].bytes(), std::byte{0});
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  (void)testing::one_step(ranks, inputs);
  EXPECT_LE(ranks.peak_bytes(), ranks.planned_peak_bytes());
  EXPECT_GE(ranks.peak_bytes(), 4000);
  EXPECT_LE(ranks.planned_peak_bytes(), 3 * 4032);
}

std::string failure(const Program& program, const Inputs& inputs,
                    comm::InProcessOptions options = {}) {
  comm::InProcess transport(program.world->ranks(), options);
  Ranks ranks(program, transport);
  std::string message = "none";
  for (int k = 0; k < 2; ++k) try {
      (void)testing::one_step(ranks, inputs);
      return "none";
    } catch (const RunError& e) {
      EXPECT_TRUE(k == 0 || message == e.what());  // and stays failed
      message = e.what();
    }
  return message;
}

/// A graph for each rank; they may disagree.
Program pair_of(std::string_view first, std::string_view second) {
  auto graph = [](std::string_view lines) { return fmt::format("(%x: f32[4]) {{\n{}}}", lines); };
  return testing::two_graphs(graph(first), graph(second));
}

Inputs fours() { return {{floats({1, 2, 3, 4})}, {floats({1, 2, 3, 4})}}; }

TEST(Runtime, CallsThatDoNotMatch) {
  constexpr std::string_view reduce =
      "  %h: pending f32[4] = all_reduce(%x) {group=\"dp\", channel=0}\n"
      "  %s: f32[4] = wait(%h)\n  return %s\n";
  auto message = [&](std::string_view other) { return failure(pair_of(reduce, other), fours()); };
  auto both = [](const std::string& m, std::string_view a, std::string_view b) {
    EXPECT_NE(m.find(a), m.npos) << m;
    EXPECT_NE(m.find(b), m.npos) << m;
  };
  both(message("  %h: pending f32[8] = all_gather(%x) {group=\"dp\", channel=0}\n"
               "  %s: f32[8] = wait(%h)\n  return %s\n"),
       "all_reduce", "all_gather");
  both(message("  %y: f32[2] = slice(%x) {starts=[0], stops=[2], steps=[1]}\n"
               "  %h: pending f32[2] = all_reduce(%y) {group=\"dp\", channel=0}\n"
               "  %s: f32[2] = wait(%h)\n  return %s\n"),
       "4 f32", "2 f32");
  both(message("  %y: i32[4] = cast(%x) {dtype=i32}\n"
               "  %h: pending i32[4] = all_reduce(%y) {group=\"dp\", channel=0}\n"
               "  %s: i32[4] = wait(%h)\n  return %s\n"),
       "4 f32", "4 i32");
  both(message("  %h: pending f32[4] = all_reduce(%x) {group=\"dp\", channel=3}\n"
               "  %s: f32[4] = wait(%h)\n  return %s\n"),
       "channel 0", "channel 3");
}

TEST(Runtime, ARankThatNeverCalls) {
  std::string m =
      failure(pair_of("  %h: pending f32[4] = all_reduce(%x) {group=\"dp\", channel=0}\n"
                      "  %s: f32[4] = wait(%h)\n  return %s\n",
                      "  return %x\n"),
              fours(), {.deadline = 0.2});
  EXPECT_NE(m.find("rank 0: %h = all_reduce on channel 0 of group \"dp\": rank 1"), m.npos) << m;
}

TEST(Runtime, ANodeThatFails) {
  constexpr std::string_view text = R"(mesh(dp=2)
graph step(%x: f32[4], %i: i64[1]) {
  %y: f32[1] = gather(%x, %i) {dim=0}
  %h: pending f32[1] = all_reduce(%y) {group="dp"}
  %s: f32[1] = wait(%h)
  return %s
})";
  Tensor good(Type{DType::i64, false, {1}}), bad = Tensor(good.type());
  good.as<std::int64_t>()[0] = 3;
  bad.as<std::int64_t>()[0] = 9;
  Inputs inputs = fours();
  inputs[0].push_back(good);
  inputs[1].push_back(bad);
  std::string m = failure(read_program(text), inputs);
  EXPECT_TRUE(m.starts_with("rank 1: %y = gather: ")) << m;
}

TEST(Runtime, InputsThatDoNotFitAreTheUsersToFix) {
  Program program = read_program(step_text);
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  Inputs inputs = step_inputs();
  inputs[1][1] = floats({1});
  EXPECT_THROW((void)testing::one_step(ranks, inputs), Error);
  EXPECT_THROW((void)testing::one_step(ranks, {}), Error);
}

TEST(Runtime, TraceHasEveryLane) {
  Program program = read_program(step_text);
  comm::InProcess transport(program.world->ranks(), {.link = comm::Link{1e9, 1e-4}});
  Ranks ranks(program, transport, {.trace = true});
  for (int k = 0; k < 3; ++k) (void)testing::one_step(ranks, step_inputs());
  Trace trace = ranks.trace();
  ASSERT_EQ(trace.ranks.size(), 2);
  for (const RankTrace& r : trace.ranks) {
    EXPECT_EQ(r.lanes, (std::vector<std::string>{"compute", "dp"}));
    EXPECT_EQ(r.steps.size(), 3);
    std::map<SpanKind, int> count;
    for (const Span& s : r.spans) {
      ++count[s.kind];
      EXPECT_LE(s.begin, s.end);
      EXPECT_EQ(s.lane, s.kind == SpanKind::transfer ? 1 : 0);
      if (s.kind == SpanKind::transfer) {
        EXPECT_EQ(s.bytes, 16);  // of 16 bytes each way, between two ranks
        EXPECT_NEAR(s.end - s.begin, 1e-4 + 16e-9, 1e-9);
      }
    }
    EXPECT_EQ(count[SpanKind::kernel], 6);
    EXPECT_EQ(count[SpanKind::start], 3);
    EXPECT_EQ(count[SpanKind::wait], 3);
    EXPECT_EQ(count[SpanKind::transfer], 3);
  }
}

TEST(Runtime, ACollectiveOfTwoDtypesPaysLatencyOnce) {
  Program program = read_program(R"(mesh(dp=2)
graph step(%a: f32[2], %b: f32[2]) {
  %c: f64[2] = cast(%b) {dtype=f64}
  %h: pending f32[2], %i: pending f64[2] = all_reduce(%a, %c) {group="dp"}
  %s: f32[2], %t: f64[2] = wait(%h, %i)
  return %s, %t
})");
  comm::InProcess transport(program.world->ranks(), {.link = comm::Link{1e9, 1e-3}});
  Ranks ranks(program, transport);
  (void)testing::one_step(ranks, step_inputs());
  for (const StepTimes& t : ranks.times()) EXPECT_NEAR(t.communication, 1e-3 + 24e-9, 1e-8);
}

TEST(Runtime, ACollectiveCanBeTheFirstReader) {
  Program program = read_program(R"(mesh(dp=2)
graph step(%a: f32[2], %b: f32[2]) {
  %h: pending f32[2] = all_reduce(%a) {group="dp"}
  %s: f32[2] = wait(%h)
  %k: pending f32[4] = all_gather(%s) {group="dp"}
  %n: f32[2] = neg(%s)
  %t: f32[4] = wait(%k)
  return %n, %t
})");
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport, {.trace = true});
  (void)testing::one_step(ranks, step_inputs());
  for (const RankTrace& r : ranks.trace().ranks)
    for (const Span& s : r.spans) {
      if (s.kind == SpanKind::copy) continue;  // of outputs
      bool second_start = s.kind == SpanKind::start && s.call == 1;
      EXPECT_EQ(s.reads, second_start ? 0 : -1);
    }
}

}  // namespace
}  // namespace hocket

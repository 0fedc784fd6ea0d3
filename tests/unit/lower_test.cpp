// What lowering promises: where values lie, what is copied and why, how much memory is needed.

#include "hocket/lower/lower.h"

#include <gtest/gtest.h>

#include "hocket/base/error.h"
#include "hocket/check/check.h"
#include "hocket/codegen/library/library.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/iter/lags.h"
#include "hocket/lower/live_bound.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/framework/runner.h"
#include "hocket/passes/framework/table.h"
#include "hocket/plan/bucket_copies.h"
#include "hocket/plan/live_tensors.h"
#include "hocket/plan/verify_plan.h"
#include "support/random_families.h"
#include "support/random_program.h"
#include "support/random_step.h"

namespace hocket {
namespace {

Plan lowered(std::string_view text, const LowerOptions& options = {}) {
  Plan plan = lower(parse(text, ops::all()), options);
  verify_plan(plan);
  return plan;
}

const Instruction& instruction(const Plan& plan, std::string_view node, InstructionKind kind) {
  for (const Instruction& i : plan.graphs[0].phases[0].instructions)
    if (i.kind == kind && plan.graphs[0].labels[i.label].name == node) return i;
  throw Error(fmt::format("no instruction for {}", node));
}

int copies(const Plan& plan) {
  int count = 0;
  for (const Instruction& i : plan.graphs[0].phases[0].instructions)
    count += i.kind == InstructionKind::copy ? 1 : 0;
  return count;
}

TEST(Lower, ANextValueTakesTheBytesOfItsState) {
  Plan plan = lowered(R"(graph step(%w: state f32[64] "w" parameter, %g: f32[64]) {
  %y: f32[64] = mul(%w, %g)
  %u: f32[64] = sub(%w, %g)
  next %w = %u
  return %y
})");
  const PlanPhase& phase = plan.graphs[0].phases[0];
  const Instruction& u = instruction(plan, "%u", InstructionKind::kernel);
  EXPECT_EQ(phase.results(u)[0].offset, plan.graphs[0].homes[0].location.offset);
  EXPECT_EQ(copies(plan), 0);
}

TEST(Lower, AStateThatIsReadLaterNeedsASecondBuffer) {
  std::vector<Remark> remarks;
  Plan plan = lowered(R"(graph step(%w: state f32[64] "w" parameter, %g: f32[64]) {
  %u: f32[64] = sub(%w, %g)
  %y: f32[64] = mul(%w, %u)
  next %w = %u
  return %y
})",
                      {.remarks = &remarks});
  EXPECT_EQ(copies(plan), 1);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].where, "%w");
}

TEST(Lower, StatesThatChangePlaces) {
  Plan plan = lowered(R"(graph step(%a: state f32[4] "a", %b: state f32[4] "b", %x: f32[4]) {
  %y: f32[4] = add(%a, %x)
  next %a = %b
  next %b = %a
  return %y
})");
  EXPECT_GE(copies(plan), 2);
}

constexpr std::string_view bucket_of_gradients = R"(mesh(dp=2)
graph step(%x: f32[256], %y: f32[100]) {
  %a: f32[256] = neg(%x)
  %b: f32[100] = neg(%y)
  %h: pending f32[256], %k: pending f32[100] = all_reduce(%a, %b) {group="dp"}
  %s: f32[256], %t: f32[100] = wait(%h, %k)
  return %s, %t
})";

TEST(Lower, MembersOfABucketLieSideBySideAndAreNotCopied) {
  Plan plan = lowered(bucket_of_gradients);
  const PlanPhase& phase = plan.graphs[0].phases[0];
  const Instruction& start = instruction(plan, "%h", InstructionKind::start);
  auto operands = phase.operands(start), results = phase.results(start);
  EXPECT_EQ(operands[1].offset, operands[0].offset + 1024);
  EXPECT_EQ(results[0].offset, operands[0].offset);
  EXPECT_EQ(results[1].offset, operands[1].offset);
  EXPECT_TRUE(bucket_copies(plan).empty());
  const Instruction& a = instruction(plan, "%a", InstructionKind::kernel);
  EXPECT_EQ(phase.results(a)[0].offset, operands[0].offset);
}

TEST(Lower, AResultKeepsOffAnOperandThatIsReadLater) {
  Plan plan = lowered(R"(mesh(dp=2)
graph step(%x: f32[256], %y: f32[100]) {
  %a: f32[256] = neg(%x)
  %b: f32[100] = neg(%y)
  %h: pending f32[256], %k: pending f32[100] = all_reduce(%a, %b) {group="dp"}
  %s: f32[256], %t: f32[100] = wait(%h, %k)
  %late: f32[256] = add(%a, %s)
  return %late, %t
})");
  const PlanPhase& phase = plan.graphs[0].phases[0];
  const Instruction& start = instruction(plan, "%h", InstructionKind::start);
  EXPECT_NE(phase.results(start)[0].offset, phase.operands(start)[0].offset);
  EXPECT_EQ(phase.results(start)[1].offset, phase.results(start)[0].offset + 1024);
  EXPECT_TRUE(bucket_copies(plan).empty());
}

TEST(Lower, CopiesForBucketsNameTheTensorAndTheReason) {
  struct Case {
    std::string_view body, reason;
    std::int64_t bytes;
  };
  for (const Case& c :
       {Case{"  %h: pending f32[64], %k: pending f32[64] = all_reduce(%a, %b) {group=\"dp\"}\n"
             "  %s: f32[64], %t: f32[64] = wait(%h, %k)\n"
             "  %i: pending f32[64], %j: pending f32[64] = all_reduce(%a, %c) {group=\"dp\"}\n"
             "  %u: f32[64], %v: f32[64] = wait(%i, %j)\n"
             "  return %s, %t, %u, %v\n",
             "another bucket", 256},
        Case{"  %h: pending f32[64], %k: pending f32[64] = all_reduce(%a, %w) {group=\"dp\"}\n"
             "  %s: f32[64], %t: f32[64] = wait(%h, %k)\n  return %s, %t\n",
             "state", 256},
        Case{"  %p: f32[32] = slice(%b) {starts=[16], stops=[48]}\n"
             "  %h: pending f32[64], %k: pending f32[32] = all_reduce(%a, %p) {group=\"dp\"}\n"
             "  %s: f32[64], %t: f32[32] = wait(%h, %k)\n  return %s, %t\n",
             "part", 128}}) {
    Plan plan = lowered(fmt::format(R"(mesh(dp=2)
graph step(%w: state f32[64] "w" parameter, %x: f32[64]) {{
  %a: f32[64] = neg(%x)
  %b: f32[64] = exp(%x)
  %c: f32[64] = abs(%x)
{}}})",
                                    c.body));
    std::vector<BucketCopy> copies = bucket_copies(plan);
    ASSERT_EQ(copies.size(), 1u) << c.body;
    EXPECT_EQ(copies[0].bytes, c.bytes);
    EXPECT_NE(copies[0].reason.find(c.reason), std::string::npos) << copies[0].reason;
    EXPECT_FALSE(copies[0].tensor.empty());
  }
}

/// Two slices of %a are reduced apart and concatenated again; with more before, between and after.
std::string split_reduction(std::string_view before, std::string_view after) {
  return fmt::format(R"(mesh(dp=2)
graph step(%w: state f32[8,4] "w" parameter, %x: f32[8,4]) {{
{}  %f: f32[32] = reshape(%a) {{shape=[32]}}
  %p: f32[16] = slice(%f) {{starts=[0], stops=[16]}}
  %h: pending f32[16] = all_reduce(%p) {{group="dp"}}
  %q: f32[16] = slice(%f) {{starts=[16], stops=[32]}}
  %k: pending f32[16] = all_reduce(%q) {{group="dp"}}
  %s: f32[16] = wait(%h)
  %t: f32[16] = wait(%k)
  %c: f32[32] = concat(%s, %t) {{dim=0}}
  %r: f32[8,4] = reshape(%c) {{shape=[8,4]}}
{}}})",
                     before, after);
}

int concats(const Plan& plan) {
  int count = 0;
  for (const Instruction& i : plan.graphs[0].phases[0].instructions)
    count += i.op == &ops::concat ? 1 : 0;
  return count;
}

TEST(Lower, SlicesAreReducedWhereTheWholeLies) {
  Plan plan = lowered(split_reduction("  %a: f32[8,4] = neg(%x)\n", "  return %r\n"));
  const PlanPhase& phase = plan.graphs[0].phases[0];
  std::int64_t whole = phase.results(instruction(plan, "%a", InstructionKind::kernel))[0].offset;
  for (auto [node, offset] : {std::pair{"%h", whole}, std::pair{"%k", whole + 64}}) {
    const Instruction& start = instruction(plan, node, InstructionKind::start);
    EXPECT_EQ(phase.operands(start)[0].offset, offset);
    EXPECT_EQ(phase.results(start)[0].offset, offset);
  }
  const Instruction& out = instruction(plan, "%r", InstructionKind::output);
  EXPECT_EQ(phase.operands(out)[0].offset, whole);
  EXPECT_EQ(copies(plan) + concats(plan), 0);
  EXPECT_TRUE(bucket_copies(plan).empty());
  Plan at_once = lowered(R"(mesh(dp=2)
graph step(%w: state f32[8,4] "w" parameter, %x: f32[8,4]) {
  %a: f32[8,4] = neg(%x)
  %h: pending f32[8,4] = all_reduce(%a) {group="dp"}
  %r: f32[8,4] = wait(%h)
  return %r
})");
  EXPECT_EQ(plan.graphs[0].arena_bytes, at_once.graphs[0].arena_bytes);
}

TEST(Lower, ResultsOfSlicesThatAreReadLaterArriveInTheConcat) {
  struct Case {
    std::string_view what, before, after;
  };
  for (const Case& c :
       {Case{"the whole is read", "  %a: f32[8,4] = neg(%x)\n",
             "  %l: f32[8,4] = add(%a, %r)\n  return %l\n"},
        Case{"a slice is read", "  %a: f32[8,4] = neg(%x)\n",
             "  %l: f32[16] = add(%q, %s)\n  return %r, %l\n"},
        Case{"the whole is state", "  %a: f32[8,4] = after(%w, %x)\n", "  return %r\n"},
        Case{"the whole is a next value", "  %a: f32[8,4] = neg(%x)\n",
             "  next %w = %a\n  return %r\n"},
        Case{"the whole is in flight",
             "  %a: f32[8,4] = neg(%x)\n  %i: pending f32[8,4] = all_reduce(%a) {group=\"dp\"}\n",
             "  %j: f32[8,4] = wait(%i)\n  return %r, %j\n"}}) {
    Plan plan = lowered(split_reduction(c.before, c.after));
    const PlanPhase& phase = plan.graphs[0].phases[0];
    const Instruction& h = instruction(plan, "%h", InstructionKind::start);
    const Instruction& k = instruction(plan, "%k", InstructionKind::start);
    EXPECT_NE(phase.results(h)[0].offset, phase.operands(h)[0].offset) << c.what;
    EXPECT_NE(phase.results(k)[0].offset, phase.operands(k)[0].offset) << c.what;
    EXPECT_EQ(phase.results(k)[0].offset, phase.results(h)[0].offset + 64) << c.what;
    EXPECT_EQ(copies(plan) + concats(plan), 0) << c.what;
    EXPECT_FALSE(find_unsafe(plan)) << c.what;
  }
}

TEST(Lower, AReaderBeforeTheTransferOfItsBytesKeepsNobodyOff) {
  // %p is read when its bytes are in flight, %q before its own are.
  for (auto [read, in_place] : {std::pair{"%p", false}, std::pair{"%q", true}}) {
    Plan plan = lowered(fmt::format(R"(mesh(dp=2)
graph step(%x: f32[32]) {{
  %a: f32[32] = neg(%x)
  %p: f32[16] = slice(%a) {{starts=[0], stops=[16]}}
  %q: f32[16] = slice(%a) {{starts=[16], stops=[32]}}
  %h: pending f32[16] = all_reduce(%p) {{group="dp"}}
  %l: f32[16] = exp({})
  %k: pending f32[16] = all_reduce(%q) {{group="dp"}}
  %s: f32[16] = wait(%h)
  %t: f32[16] = wait(%k)
  %y: f32[32] = concat(%s, %t) {{dim=0}}
  return %y, %l
}})",
                                    read));
    const PlanPhase& phase = plan.graphs[0].phases[0];
    const Instruction& h = instruction(plan, "%h", InstructionKind::start);
    EXPECT_EQ(phase.results(h)[0].offset == phase.operands(h)[0].offset, in_place) << read;
    EXPECT_EQ(copies(plan) + concats(plan), 0) << read;
  }
}

TEST(Lower, PartsOfTwoValuesKeepOffWhatIsStillRead) {
  // %a is read while %b, or what comes of it, must not lie in its second half yet.
  for (std::string_view middle : {"  %k: pending f32[16] = all_reduce(%b) {group=\"dp\"}\n"
                                  "  %l: f32[32] = exp(%a)\n"
                                  "  %h: pending f32[16] = all_reduce(%p) {group=\"dp\"}\n",
                                  "  %l: f32[32] = exp(%a)\n"
                                  "  %h: pending f32[16] = all_reduce(%p) {group=\"dp\"}\n"
                                  "  %k: pending f32[16] = all_reduce(%b) {group=\"dp\"}\n"}) {
    Plan plan = lowered(fmt::format(R"(mesh(dp=2)
graph step(%x: f32[32], %y: f32[16]) {{
  %a: f32[32] = neg(%x)
  %p: f32[16] = slice(%a) {{starts=[0], stops=[16]}}
  %b: f32[16] = neg(%y)
{}  %s: f32[16] = wait(%h)
  %t: f32[16] = wait(%k)
  %c: f32[32] = concat(%s, %t) {{dim=0}}
  return %c, %l
}})",
                                    middle));
    EXPECT_FALSE(find_unsafe(plan)) << middle;
    EXPECT_EQ(copies(plan) + concats(plan), 0) << middle;
  }
}

TEST(Lower, ACarriedTransferDoesNotOverwriteAPartThatIsReadLater) {
  Plan plan = lowered(R"(mesh(dp=2)
graph step(%x: f32[32], %i: state pending f32[32] forwarded) {
  %j: f32[32] = wait(%i) delay=1
  %a: f32[32] = neg(%x)
  %p: f32[16] = slice(%a) {starts=[0], stops=[16]}
  %h: pending f32[16] = all_reduce(%p) {group="dp"}
  %q: f32[16] = slice(%a) {starts=[16], stops=[32]}
  %k: pending f32[16] = all_reduce(%q) {group="dp"}
  %s: f32[16] = wait(%h)
  %t: f32[16] = wait(%k)
  %c: f32[32] = concat(%s, %t) {dim=0}
  %m: pending f32[32] = all_reduce(%c) {group="dp"}
  %l: f32[16] = exp(%s)
  next %i = %m
  return %j, %l
})");
  EXPECT_FALSE(find_unsafe(plan));
  std::vector<BucketCopy> found = bucket_copies(plan);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].reason.find("results of other transfers"), std::string::npos);
}

TEST(Lower, PartsThatHaveAnotherPlaceAreCopied) {
  struct Case {
    std::string_view body, reason;
    std::int64_t bytes;
  };
  for (const Case& c :
       {// Only the last part may end between two multiples of 64 bytes.
        Case{"  %p: f32[12] = slice(%a) {starts=[0], stops=[12]}\n"
             "  %q: f32[20] = slice(%a) {starts=[12], stops=[32]}\n"
             "  %h: pending f32[12] = all_reduce(%p) {group=\"dp\"}\n"
             "  %k: pending f32[20] = all_reduce(%q) {group=\"dp\"}\n"
             "  %s: f32[12] = wait(%h)\n  %t: f32[20] = wait(%k)\n"
             "  %c: f32[32] = concat(%s, %t) {dim=0}\n  return %c\n",
             "multiple of 64", 80 + 48 + 80},
        Case{"  %h: pending f32[16] = all_reduce(%b) {group=\"dp\"}\n  %s: f32[16] = wait(%h)\n"
             "  %c: f32[32] = concat(%s, %s) {dim=0}\n  return %c\n",
             "another bucket or concat", 64},
        Case{"  %h: pending f32[32], %k: pending f32[16] = all_reduce(%a, %b) {group=\"dp\"}\n"
             "  %s: f32[32], %t: f32[16] = wait(%h, %k)\n"
             "  %c: f32[48] = concat(%t, %s) {dim=0}\n  return %c\n",
             "another bucket or concat", 192}}) {
    Plan plan =
        lowered(fmt::format("mesh(dp=2)\ngraph step(%x: f32[32], %y: f32[16]) {{\n"
                            "  %a: f32[32] = neg(%x)\n  %b: f32[16] = neg(%y)\n{}}}",
                            c.body));
    std::vector<BucketCopy> found = bucket_copies(plan);
    EXPECT_EQ(total_bytes(found), c.bytes) << c.body;
    for (const BucketCopy& copy : found)
      EXPECT_NE(copy.reason.find(c.reason), std::string::npos) << copy.reason;
    EXPECT_EQ(concats(plan), 0) << c.body;
    EXPECT_FALSE(find_unsafe(plan)) << c.body;
  }
}

TEST(Lower, MembersOfABucketThatAreConcatenatedInTheirOrderAreThereAlready) {
  Plan plan = lowered(R"(mesh(dp=2)
graph step(%x: f32[32], %y: f32[16]) {
  %a: f32[32] = neg(%x)
  %b: f32[16] = neg(%y)
  %h: pending f32[32], %k: pending f32[16] = all_reduce(%a, %b) {group="dp"}
  %s: f32[32], %t: f32[16] = wait(%h, %k)
  %c: f32[48] = concat(%s, %t) {dim=0}
  %d: f32[48] = concat(%s, %t) {dim=0}
  return %c, %d
})");
  EXPECT_EQ(copies(plan) + concats(plan), 0);
}

TEST(Lower, AConcatWithPartsInEveryRowIsComputed) {
  Plan plan = lowered(R"(mesh(dp=2)
graph step(%x: f32[2,16]) {
  %h: pending f32[2,16] = all_reduce(%x) {group="dp"}
  %s: f32[2,16] = wait(%h)
  %k: pending f32[2,16] = all_reduce(%x) {group="dp"}
  %t: f32[2,16] = wait(%k)
  %c: f32[2,32] = concat(%s, %t) {dim=1}
  return %c
})");
  EXPECT_EQ(concats(plan), 1);
}

TEST(Lower, ViewsNeedNoInstruction) {
  Plan plan = lowered(R"(graph step(%x: f32[4,6], %b: f32[6]) {
  %p: f32[6,4] = permute(%x) {dims=[1,0]}
  %r: f32[24] = reshape(%x) {shape=[24]}
  %c: f32[4,6] = broadcast(%b) {shape=[4,6]}
  %y: f32[4,6] = add(%x, %c)
  %q: f32[6,4] = exp(%p)
  %s: f32[24] = neg(%r)
  return %y, %q, %s
})");
  int kernels = 0;
  for (const Instruction& i : plan.graphs[0].phases[0].instructions)
    kernels += i.kind == InstructionKind::kernel ? 1 : 0;
  EXPECT_EQ(kernels, 3);
}

TEST(Lower, AMemoryLimitIsMetOrNamesWhatNeedsMore) {
  Program program = parse(bucket_of_gradients, ops::all());
  std::int64_t needed = lower(program).graphs[0].arena_bytes;
  EXPECT_EQ(lower(program, {.memory_limit = needed}).graphs[0].arena_bytes, needed);
  try {
    lower(program, {.memory_limit = needed - 1});
    FAIL() << "a limit was not met, and not refused";
  } catch (const Error& e) {
    std::string message = e.what();
    EXPECT_NE(message.find(fmt::format("needs at least {} bytes", needed)), std::string::npos)
        << message;
    EXPECT_NE(message.find("%"), std::string::npos) << message;
  }
}

TEST(Lower, ConvolutionsKeepTheirBlocksOfChannels) {
  Library library;
  Plan plan = lowered(R"(graph step(%x: f32[2,32,8,8], %w: state f32[32,32,3,3] "w" parameter,
                                    %v: state f32[32,32,3,3] "v" parameter) {
  %a: f32[2,32,8,8] = conv(%x, %w) {padding=[1,1]}
  %m: f32[32] = mean(%a) {dims=[0,2,3]}
  %r: f32[1,32,1,1] = reshape(%m) {shape=[1,32,1,1]}
  %c: f32[2,32,8,8] = broadcast(%r) {shape=[2,32,8,8]}
  %d: f32[2,32,8,8] = sub(%a, %c)
  %e: f32[2,32,8,8] = relu(%d)
  %p: f32[2,32,4,4], %i: i64[2,32,4,4] = max_pool(%e) {kernel=[2,2]}
  %y: f32[2,32,4,4] = conv(%p, %v) {padding=[1,1]}
  return %y
})",
                      {.backend = &library});
  // The image, both weights, and the result that leaves.
  EXPECT_LE(copies(plan), 4);
}

TEST(Lower, AChainOverwritesTheState) {
  Plan plan = lowered(R"(graph step(%w: state f32[64] "w" parameter) {
  %s: f32[64] = sin(%w)
  %e: f32[64] = exp(%s)
  next %w = %e
  return %w
})");
  const PlanPhase& phase = plan.graphs[0].phases[0];
  for (const char* name : {"%s", "%e"})
    EXPECT_EQ(phase.results(instruction(plan, name, InstructionKind::kernel))[0].offset,
              plan.graphs[0].homes[0].location.offset)
        << name;
}

TEST(Lower, StatesChangePlacesThroughOneCopyAside) {
  Plan plan = lowered(R"(graph step(%a: state f32[64] "a" buffer, %b: state f32[64] "b" buffer,
                                    %c: state f32[64] "c" buffer) {
  next %a = %b
  next %b = %c
  next %c = %a
  return %a
})");
  EXPECT_EQ(copies(plan), 4);
  EXPECT_EQ(plan.graphs[0].arena_bytes, 4 * 256);
}

TEST(Lower, AStateMovesBeforeItsNextValueIsComputed) {
  Plan plan = lowered(R"(graph step(%a: state f32[64] "a" buffer, %b: state f32[64] "b" buffer) {
  %x: f32[64] = neg(%b)
  %n: f32[64] = neg(%a)
  next %a = %n
  next %b = %a
  return %x
})");
  EXPECT_EQ(copies(plan), 1);
}

TEST(Lower, TheBoundIsExactWhereNothingIsLost) {
  Plan plan = lowered(R"(graph step(%x: f32[1024], %w: state f32[1024] "w" parameter) {
  %y: f32[1024] = neg(%x)
  %z: f32[1024] = mul(%y, %w)
  next %w = %z
  return %y
})");
  EXPECT_EQ(live_bytes_bound(plan.program, 0, nullptr), plan.graphs[0].arena_bytes);
}

/// Of all graphs of a program.
void expect_no_arena_below_the_bound(const Program& program, Backend* backend,
                                     const std::string& name) {
  Plan plan = lower(program, {.backend = backend});
  for (std::size_t g = 0; g < plan.graphs.size(); ++g)
    EXPECT_LE(live_bytes_bound(program, g, backend), plan.graphs[g].arena_bytes) << name;
}

TEST(Lower, NoArenaIsBelowTheBound) {
  const PassTable table = standard_passes();
  Library library;
  for (std::uint64_t i = 0; i < 800; ++i) {
    testing::Random random = testing::random_at(7, i);
    Program program = testing::random_case(random, i).program;
    std::string name = fmt::format("{} {}", testing::family_at(i).name, i);
    expect_no_arena_below_the_bound(program, nullptr, name);
    if (is_rotated(program.graphs[0])) continue;
    run_passes(program, table,
               table.parse(i % 2 == 0 ? "shard-optimizer,cross-iteration"
                                      : "split-collectives:part=16,cross-iteration"));
    expect_no_arena_below_the_bound(program, &library, name + " after passes");
  }
}

TEST(Lower, NoArenaIsBelowTheBoundWhereSlicesAreReducedApart) {
  const PassTable table = standard_passes();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::Random random(seed);
    Program program = seed % 2 == 0 ? testing::random_step(random, 2, 256)
                                    : testing::random_program(random, {.nodes = 60, .largest = 32});
    for (const char* passes : {"split-collectives:part=256", "bucket-collectives"}) {
      run_passes(program, table, table.parse(passes));
      expect_no_arena_below_the_bound(program, nullptr, fmt::format("seed {} {}", seed, passes));
    }
  }
}

TEST(Lower, ArenasAreNearTheBound) {
  int far = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::Random random(seed);
    Program program = testing::random_program(random, {.nodes = 60, .largest = 96});
    auto arena = static_cast<double>(lower(program).graphs[0].arena_bytes);
    if (arena > 1.15 * static_cast<double>(live_bytes_bound(program, 0, nullptr))) ++far;
  }
  EXPECT_LE(far, 4);
}

}  // namespace
}  // namespace hocket

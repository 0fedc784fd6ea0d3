// What two programs are to compare_meaning, of which one is the source of the other's plan.

#include "hocket/check/meaning.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "hocket/driver/plan_file.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

/// Two ranks that run a graph with these inputs.
std::string step(
    std::string_view body,
    std::string_view inputs = "%w: state f32[6] \"w\", %x: f32[6], %y: f32[6], %m: f32[4,6]") {
  return fmt::format("mesh(dp=2)\ngraph step({}) {{\n{}}}\n", inputs, body);
}

/// `same`, or the verdict with the message.
std::string verdict_of(const Plan& plan) {
  MeaningReport report = compare_meaning(plan);
  std::string text(name(report.verdict));
  return report.message.empty() ? text : text + ": " + report.message;
}

/// The plan of one program against another one.
std::string verdict(const std::string& source, const std::string& program) {
  Plan plan = lower(parse(program, ops::all()));
  plan.source = parse(source, ops::all());
  return verdict_of(plan);
}

struct Pair {
  std::string_view what, source, program;
};

/// One program is the other's meaning, whichever of them is the source.
const Pair equal_pairs[] = {
    {"a slice of a sum is the sum of slices",
     "%s: f32[6] = add(%x, %y)\n%z: f32[2] = slice(%s) {starts=[3], stops=[5]}\nreturn %z\n",
     "%a: f32[2] = slice(%x) {starts=[3], stops=[5]}\n"
     "%b: f32[2] = slice(%y) {starts=[3], stops=[5]}\n%z: f32[2] = add(%a, %b)\nreturn %z\n"},
    {"a permutation and back", "%z: f32[4,6] = neg(%m)\nreturn %z\n",
     "%p: f32[6,4] = permute(%m) {dims=[1,0]}\n%q: f32[4,6] = permute(%p) {dims=[1,0]}\n"
     "%z: f32[4,6] = neg(%q)\nreturn %z\n"},
    {"a slice of a permutation is the permutation of a slice",
     "%p: f32[6,4] = permute(%m) {dims=[1,0]}\n"
     "%z: f32[2,4] = slice(%p) {starts=[2,0], stops=[4,4]}\nreturn %z\n",
     "%s: f32[4,2] = slice(%m) {starts=[0,2], stops=[4,4]}\n"
     "%z: f32[2,4] = permute(%s) {dims=[1,0]}\nreturn %z\n"},
    {"a concat of slices is the whole", "return %x\n",
     "%a: f32[2] = slice(%x) {starts=[0], stops=[2]}\n"
     "%b: f32[4] = slice(%x) {starts=[2], stops=[6]}\n%z: f32[6] = concat(%a, %b) {dim=0}\n"
     "return %z\n"},
    {"a flip of a flip", "return %m\n",
     "%a: f32[4,6] = flip(%m) {dims=[0,1]}\n%b: f32[4,6] = flip(%a) {dims=[1]}\n"
     "%z: f32[4,6] = flip(%b) {dims=[0]}\nreturn %z\n"},
    {"a broadcast of a scalar is that scalar for all elements",
     "%c: f32[] = constant {value=[0.5]}\n%z: f32[6] = mul(%x, %c)\nreturn %z\n",
     "%c: f32[6] = full {value=0.5}\n%z: f32[6] = mul(%x, %c)\nreturn %z\n"},
    {"constants are folded where every bit is determined",
     "%c: f32[] = constant {value=[0.1]}\n%d: f32[] = constant {value=[3.0]}\n"
     "%e: f32[] = mul(%c, %d)\n%z: f32[6] = mul(%x, %e)\nreturn %z\n",
     "%e: f32[] = constant {value=[0.3000000119]}\n%z: f32[6] = mul(%x, %e)\nreturn %z\n"},
    {"what was padded is cut off", "return %x\n",
     "%c: f32[] = constant {value=[9.0]}\n%p: f32[8] = pad(%x, %c) {low=[1], high=[1]}\n"
     "%z: f32[6] = slice(%p) {starts=[1], stops=[7]}\nreturn %z\n"},
    {"a bucket",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n"
     "%b: pending f32[6] = all_reduce(%y) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%t: f32[6] = wait(%b)\nreturn %s, %t\n",
     "%b: pending f32[6], %a: pending f32[6] = all_reduce(%y, %x) {group=\"dp\"}\n"
     "%t: f32[6], %s: f32[6] = wait(%b, %a)\nreturn %s, %t\n"},
    {"an all-reduce in two parts",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\nreturn %s\n",
     "%p: f32[2] = slice(%x) {starts=[0], stops=[2]}\n"
     "%q: f32[4] = slice(%x) {starts=[2], stops=[6]}\n"
     "%a: pending f32[2] = all_reduce(%p) {group=\"dp\"}\n"
     "%b: pending f32[4] = all_reduce(%q) {group=\"dp\"}\n%c: f32[2] = wait(%a)\n"
     "%d: f32[4] = wait(%b)\n%s: f32[6] = concat(%c, %d) {dim=0}\nreturn %s\n"},
    {"an all-reduce is a reduce-scatter and an all-gather",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%z: f32[6] = neg(%s)\nreturn %z\n",
     "%a: pending f32[3] = reduce_scatter(%x) {group=\"dp\"}\n%p: f32[3] = wait(%a)\n"
     "%n: f32[3] = neg(%p)\n%b: pending f32[6] = all_gather(%n) {group=\"dp\"}\n"
     "%z: f32[6] = wait(%b)\nreturn %z\n"},
    {"a piece of a reduced value is what a reduce-scatter gives",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%z: f32[3] = shard(%s) {group=\"dp\"}\nreturn %z\n",
     "%a: pending f32[3] = reduce_scatter(%x) {group=\"dp\"}\n%z: f32[3] = wait(%a)\nreturn %z\n"},
    {"a reduced value does not change when one rank sends it to all",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\nreturn %s\n",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%b: pending f32[6] = broadcast_from(%s) {group=\"dp\", root=1}\n%t: f32[6] = wait(%b)\n"
     "return %t\n"},
};

TEST(Check, ProgramsOfOneMeaning) {
  for (const Pair& p : equal_pairs) {
    EXPECT_EQ(verdict(step(p.source), step(p.program)), "same") << p.what;
    EXPECT_EQ(verdict(step(p.program), step(p.source)), "same") << p.what << ", the other way";
  }
}

struct Mistake {
  std::string_view what, source, program, message;
};

constexpr std::string_view reduce_x =
    "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\nreturn %s\n";

const Mistake mistakes[] = {
    {"a wrong operand", "%z: f32[6] = sub(%x, %y)\nreturn %z\n",
     "%z: f32[6] = sub(%x, %x)\nreturn %z\n",
     "output 0 of iteration 0: found input %x of iteration 0, wanted input %y of iteration 0"},
    {"operands in the other order", "%z: f32[6] = sub(%x, %y)\nreturn %z\n",
     "%z: f32[6] = sub(%y, %x)\nreturn %z\n",
     "output 0 of iteration 0: found input %y of iteration 0, wanted input %x of iteration 0"},
    {"another op", "%z: f32[6] = sub(%x, %y)\nreturn %z\n", "%z: f32[6] = add(%x, %y)\nreturn %z\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = add(f32[6] @64, "
     "f32[6] @128) workspace 320 @192 as %z`, wanted elements 0 to 5 of `%z = sub` of iteration 0"},
    {"sums in another order", "%a: f32[6] = add(%x, %y)\n%z: f32[6] = add(%a, %w)\nreturn %z\n",
     "%a: f32[6] = add(%y, %w)\n%z: f32[6] = add(%x, %a)\nreturn %z\n",
     "output 0 of iteration 0: found input %x of iteration 0, wanted `%a = add` of iteration 0"},
    {"a product by a power of two less", "%z: f32[6] = add(%x, %x)\nreturn %z\n",
     "%c: f32[] = constant {value=[2.0]}\n%z: f32[6] = mul(%x, %c)\nreturn %z\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = mul(f32[6] @64, "
     "f32[] @128) workspace 320 @192 as %z`, wanted elements 0 to 5 of `%z = add` of iteration 0"},
    {"the new state for the old one", "%u: f32[6] = add(%w, %x)\nnext %w = %u\nreturn %w\n",
     "%u: f32[6] = add(%w, %x)\nnext %w = %u\nreturn %u\n",
     "output 0 of iteration 0: found elements 0 to 5 of `%u = add` of iteration 0, wanted elements "
     "0 to 5 of state %w at the start"},
    {"a state that is not updated", "%u: f32[6] = add(%w, %x)\nnext %w = %u\nreturn %u\n",
     "%u: f32[6] = add(%w, %x)\nreturn %u\n",
     "state %w after 1 iteration: found elements 0 to 5 of state %w at the start, wanted elements "
     "0 to 5 of `%u = add` of iteration 0"},
    {"other elements", "%z: f32[2] = slice(%x) {starts=[3], stops=[5]}\nreturn %z\n",
     "%z: f32[2] = slice(%x) {starts=[2], stops=[4]}\nreturn %z\n",
     "output 0 of iteration 0: found elements 2 to 3 of input %x of iteration 0, wanted elements 3 "
     "to 4 of input %x of iteration 0"},
    {"slices in another order", "return %x\n",
     "%a: f32[3] = slice(%x) {starts=[0], stops=[3]}\n"
     "%b: f32[3] = slice(%x) {starts=[3], stops=[6]}\n%z: f32[6] = concat(%b, %a) {dim=0}\n"
     "return %z\n",
     "output 0 of iteration 0: found elements 3 to 5 of input %x of iteration 0, wanted elements 0 "
     "to 5 of input %x of iteration 0"},
    {"one permutation for another",
     "%p: f32[6,4] = permute(%m) {dims=[1,0]}\n%z: f32[24] = reshape(%p) {shape=[24]}\nreturn %z\n",
     "%z: f32[24] = reshape(%m) {shape=[24]}\nreturn %z\n",
     "output 0 of iteration 0: found elements 0 to 23 of input %m of iteration 0, wanted elements "
     "of `%p = permute` of iteration 0"},
    {"a value that is not reduced", reduce_x, "return %x\n",
     "output 0 of iteration 0: found elements 0 to 5 of input %x of iteration 0, wanted elements 0 "
     "to 5 of `%s = wait` of iteration 0"},
    {"a value that is reduced twice", reduce_x,
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%b: pending f32[6] = all_reduce(%s) {group=\"dp\"}\n%t: f32[6] = wait(%b)\nreturn %t\n",
     "output 0 of iteration 0: found `%s = wait` of iteration 0, wanted input %x of iteration 0"},
    {"another reduction", reduce_x,
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\", reduce=\"avg\"}\n%s: f32[6] = wait(%a)\n"
     "return %s\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = start 0 "
     "all_reduce(f32[6] @64) {group=\"dp\", reduce=\"avg\", channel=0} as %a`, wanted elements 0 "
     "to 5 of `%s = wait` of iteration 0"},
    {"only the root has the sum", reduce_x,
     "%a: pending f32[6] = reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\nreturn %s\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = start 0 "
     "reduce(f32[6] @64) {group=\"dp\", reduce=\"sum\", channel=0} as %a`, wanted elements 0 to 5 "
     "of `%s = wait` of iteration 0"},
    {"members in the wrong order",
     "%a: pending f32[6], %b: pending f32[6] = all_reduce(%x, %y) {group=\"dp\"}\n"
     "%s: f32[6], %t: f32[6] = wait(%a, %b)\nreturn %s, %t\n",
     "%a: pending f32[6], %b: pending f32[6] = all_reduce(%y, %x) {group=\"dp\"}\n"
     "%s: f32[6], %t: f32[6] = wait(%a, %b)\nreturn %s, %t\n",
     "output 0 of iteration 0: found input %y of iteration 0, wanted input %x of iteration 0"},
    {"reduced before the sum instead of behind it",
     "%c: f32[6] = add(%x, %y)\n%a: pending f32[6] = all_reduce(%c) {group=\"dp\"}\n"
     "%s: f32[6] = wait(%a)\nreturn %s\n",
     "%a: pending f32[6], %b: pending f32[6] = all_reduce(%x, %y) {group=\"dp\"}\n"
     "%s: f32[6], %t: f32[6] = wait(%a, %b)\n%c: f32[6] = add(%s, %t)\nreturn %c\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = add(f32[6] @64, "
     "f32[6] @128) workspace 320 @192 as %c`, wanted elements 0 to 5 of `%s = wait` of iteration "
     "0"},
    {"a piece for the whole",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%z: f32[3] = shard(%s) {group=\"dp\"}\nreturn %z\n",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%z: f32[3] = slice(%s) {starts=[0], stops=[3]}\nreturn %z\n",
     "output 0 of iteration 0: found elements 0 to 2 of `%s = wait` of iteration 0, wanted "
     "elements 0 to 2 of `%s = wait` of iteration 0 on the first rank, other ones elsewhere"},
    {"the value of rank 0 for that of each rank", "return %x\n",
     "%b: pending f32[6] = broadcast_from(%x) {group=\"dp\", root=0}\n%t: f32[6] = wait(%b)\n"
     "return %t\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = start 0 "
     "broadcast_from(f32[6] @64) {group=\"dp\", channel=0} as %b`, wanted elements 0 to 5 of input "
     "%x of iteration 0"},
    {"the value of rank 0 for that of rank 1",
     "%b: pending f32[6] = broadcast_from(%x) {group=\"dp\", root=1}\n%t: f32[6] = wait(%b)\n"
     "return %t\n",
     "%b: pending f32[6] = broadcast_from(%x) {group=\"dp\", root=0}\n%t: f32[6] = wait(%b)\n"
     "return %t\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = start 0 "
     "broadcast_from(f32[6] @64) {group=\"dp\", channel=0} as %b`, wanted elements 0 to 5 of `%t = "
     "wait` of iteration 0"},
    {"pieces of a value that differs between ranks", "%z: f32[6] = neg(%x)\nreturn %z\n",
     "%p: f32[3] = shard(%x) {group=\"dp\"}\n%n: f32[3] = neg(%p)\n"
     "%b: pending f32[6] = all_gather(%n) {group=\"dp\"}\n%z: f32[6] = wait(%b)\nreturn %z\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = start 0 "
     "all_gather(f32[3] @320) {group=\"dp\", channel=0} as %b`, wanted elements 0 to 5 of `%z = "
     "neg` of iteration 0"},
    {"what pads reaches the result", "%z: f32[6] = neg(%x)\nreturn %z\n",
     "%c: f32[] = constant {value=[0.0]}\n%p: f32[8] = pad(%x, %c) {low=[1], high=[1]}\n"
     "%n: f32[8] = neg(%p)\n%z: f32[6] = slice(%n) {starts=[2], stops=[8]}\nreturn %z\n",
     "output 0 of iteration 0: found elements 1 to 5 of `%z = neg` of iteration 0, wanted elements "
     "0 to 5 of `%z = neg` of iteration 0"},
    // A collective is moved out of a loop that accumulates what it reduces.
    {"gradients of two batches are reduced once",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%b: pending f32[6] = all_reduce(%y) {group=\"dp\"}\n%t: f32[6] = wait(%b)\n"
     "%g: f32[6] = add(%s, %t)\nreturn %g\n",
     "%c: f32[6] = add(%x, %y)\n%a: pending f32[6] = all_reduce(%c) {group=\"dp\"}\n"
     "%g: f32[6] = wait(%a)\nreturn %g\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @64 = start 0 "
     "all_reduce(f32[6] @64) {group=\"dp\", reduce=\"sum\", channel=0} as %a`, wanted elements 0 "
     "to 5 of `%g = add` of iteration 0"},
    {"a sum over iterations is reduced again in each of them",
     "%a: pending f32[6] = all_reduce(%x) {group=\"dp\"}\n%s: f32[6] = wait(%a)\n"
     "%u: f32[6] = add(%w, %s)\nnext %w = %u\nreturn %u\n",
     "%u: f32[6] = add(%w, %x)\n%a: pending f32[6] = all_reduce(%u) {group=\"dp\"}\n"
     "%s: f32[6] = wait(%a)\nnext %w = %s\nreturn %s\n",
     "output 0 of iteration 0: found elements 0 to 5 of `steady: f32[6] @0 = start 0 "
     "all_reduce(f32[6] @0) {group=\"dp\", reduce=\"sum\", channel=0} as %a`, wanted elements 0 to "
     "5 of `%u = add` of iteration 0"},
    {"a constant with another sign of zero",
     "%c: f32[] = constant {value=[0.0]}\n%z: f32[6] = add(%x, %c)\nreturn %z\n",
     "%c: f32[] = constant {value=[-0.0]}\n%z: f32[6] = add(%x, %c)\nreturn %z\n",
     "output 0 of iteration 0: found the constant -0, wanted the constant 0"},
    {"a kernel with another attribute",
     "%p: f32[6,4] = permute(%m) {dims=[1,0]}\n%z: f32[4,4] = matmul(%m, %p)\nreturn %z\n",
     "%z: f32[4,4] = matmul(%m, %m) {transpose_b=true}\nreturn %z\n",
     "output 0 of iteration 0: found elements 0 to 23 of input %m of iteration 0, wanted elements "
     "of `%p = permute` of iteration 0"},
};

TEST(Check, ProgramsOfAnotherMeaning) {
  for (const Mistake& m : mistakes)
    EXPECT_EQ(verdict(step(m.source), step(m.program)),
              fmt::format("different: graph step: {}", m.message))
        << m.what;
}

/// Where the same elements can be shown in two ways that nobody compares, it does not say no.
TEST(Check, WhatIsNotDecided) {
  EXPECT_EQ(verdict(step("%a: f32[3,2] = reshape(%x) {shape=[3,2]}\n"
                         "%b: f32[2,3] = permute(%a) {dims=[1,0]}\n"
                         "%c: f32[6] = reshape(%b) {shape=[6]}\n"
                         "%z: f32[4] = slice(%c) {starts=[1], stops=[5]}\nreturn %z\n"),
                    step("%a: f32[4] = slice(%x) {starts=[1], stops=[5]}\n"
                         "%b: f32[2,2] = reshape(%a) {shape=[2,2]}\n"
                         "%c: f32[2,2] = flip(%b) {dims=[1]}\n"
                         "%d: f32[2,2] = permute(%c) {dims=[1,0]}\n"
                         "%z: f32[4] = reshape(%d) {shape=[4]}\nreturn %z\n")),
            "undecided: graph step: output 0 of iteration 0: found elements of `steady: f32[4] "
            "@128 = reshape(f32[2,2] @72 [2:-1, 2:2]) {shape=[4]} as %z`, wanted elements of `%b = "
            "permute` of iteration 0");
}

/// The source may be a rotated loop itself.
TEST(Check, RotatedSources) {
  std::string_view plain =
                       "%c: f32[6] = neg(%x)\n%s: f32[6] = add(%w, %c)\nnext %w = %s\n"
                       "return y=%c\n",
                   inputs = "%w: state f32[6] \"w\", %x: f32[6]",
                   rotated =
                       "%s: f32[6] = add(%w, %p) delay=1\n%c: f32[6] = neg(%x)\n"
                       "next %w = %s\nnext %p = %c\nreturn y=%c\n",
                   more = "%w: state f32[6] \"w\", %x: f32[6], %p: state f32[6] forwarded";
  EXPECT_EQ(verdict(step(plain, inputs), step(rotated, more)), "same");
  EXPECT_EQ(verdict(step(rotated, more), step(plain, inputs)), "same");
  EXPECT_EQ(verdict(step(rotated, more), step(rotated, more)), "same");
}

/// What two programs must have in common to be compared at all.
TEST(Check, OtherInterfaces) {
  EXPECT_EQ(verdict(step("return %x\n"), step("return x=%x\n")),
            "different: graph step: output 0 is f32[6] x, but f32[6] before passes");
  EXPECT_EQ(
      verdict(step("return %m\n"), step("%z: f32[24] = reshape(%m) {shape=[24]}\nreturn %z\n")),
      "different: graph step: output 0 is f32[24], but f32[4,6] before passes");
  EXPECT_EQ(verdict(step("return %x\n", "%x: f32[6], %k: bool[6]"),
                    step("return %x\n", "%x: f32[6], %k: u8[6]")),
            "different: graph step: %k is u8[6], but bool[6] before passes");
  EXPECT_EQ(verdict(step("next %w = %x\nreturn %x\n", "%w: state f32[6], %x: f32[6]"),
                    step("return %x\n", "%w: f32[6], %x: f32[6]")),
            "different: graph step: %w is carried in another way than before passes");
  EXPECT_EQ(verdict(step("next %w = %x\nreturn %x\n", "%w: state f32[6], %x: f32[6]"),
                    step("%n: f32[6] = neg(%w) delay=1\nnext %w = %x\nreturn %x\n",
                         "%w: state f32[6] forwarded, %x: f32[6]")),
            "different: graph step: %w is carried in another way than before passes");
  EXPECT_EQ(verdict(step("next %w = %w\n", "%w: state f32[3] shard(\"dp\", f32[6])"),
                    step("next %w = %w\n", "%w: state f32[3]")),
            "different: graph step: %w is divided in another way than before passes");
  EXPECT_EQ(verdict(step("return %x\n"), step("return %x, %y\n")),
            "different: graph step: another number of outputs than before passes");
  EXPECT_EQ(
      verdict(step("return %x\n", "%x: f32[6]"), step("return %x\n", "%x: f32[6], %y: f32[6]")),
      "different: graph step: %y is no input of the program before passes");
  EXPECT_EQ(verdict(step("return %x\n", "%x: f32[6], %w: state f32[6] \"w\""),
                    step("return %x\n", "%x: f32[6]")),
            "different: graph step: state %w is gone");
  EXPECT_EQ(verdict("graph step(%x: f32[2]) {\nreturn %x\n}\n", step("return %x\n", "%x: f32[2]")),
            "different: the program before passes is for other ranks");
  Plan plan = lower(parse(step("return %x\n"), ops::all()));
  EXPECT_EQ(verdict_of(plan), "undecided: the plan does not say what it was made from");
}

}  // namespace
}  // namespace hocket::testing

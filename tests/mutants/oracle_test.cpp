// What the oracle finds in plans of a few instructions, written by hand.

#include "oracle.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"

namespace hocket::testing {
namespace {

constexpr std::string_view header = R"(plan
version "" source "" passes "" cpu "" numerics "" threads 1 loop depth=0 turns=1
)";

/// A plan for two ranks with a graph each: `a` and `b` hold the instructions. Both have a state %w
/// at @0 and an input %x, and hand out one value.
Plan two_ranks(const std::string& a, const std::string& b) {
  std::string text(header), program = R"(| mesh(dp=2)
| group "other" = [[0,1]]
)";
  for (int r : {0, 1})
    program += fmt::format(
        "| graph rank{} on [{}] (%w: state f32[4] \"w\" parameter, %x: f32[4] \"x\") {{\n"
        "|   return %x\n| }}\n",
        r, r);
  text += "program before passes\n" + program + "program after passes\n" + program;
  for (int r : {0, 1})
    text += fmt::format(
        "graph rank{} arena=4096 {{\n  home %w: f32[4] @0\n"
        "  phase \"steady\" lo=0 hi=0 turn=0 {{\n    f32[4] @64 = input %x\n{}\n"
        "    output 0 = f32[4] @64\n  }}\n}}\n",
        r, r == 0 ? a : b);
  return parse_plan(text, ops::all());
}

Plan both(const std::string& instructions) { return two_ranks(instructions, instructions); }

std::string reduce(int transfer, int from, int to, int channel, const char* group = "dp") {
  return fmt::format(
      "f32[4] @{} = start {} all_reduce(f32[4] @{}) {{group=\"{}\", "
      "reduce=\"sum\", channel={}}}\n",
      to, transfer, from, group, channel);
}

/// The word for the harm, or `harmless`.
std::string harm(const Plan& plan, bool total = false) {
  Judgement j = judge(plan, {.total = total});
  EXPECT_FALSE(j.too_large);
  // As many events as there can be give the same.
  Judgement fine = judge(plan, {.total = total, .most_states = 1'000'000, .every_action = true});
  EXPECT_FALSE(fine.too_large);
  EXPECT_EQ(fine.harm, j.harm);
  EXPECT_GE(fine.states, j.states);
  return j.harm.empty() ? "harmless" : j.harm.substr(0, j.harm.find(':'));
}

/// What a run shows without the rules.
std::string effect(const Plan& plan) {
  Judgement j = judge(plan, {.most_states = 1'000'000, .every_action = true, .rules = false});
  EXPECT_FALSE(j.too_large);
  return j.harm.empty() ? "harmless" : j.harm.substr(0, j.harm.find(':'));
}

std::vector<Instruction>& instructions(Plan& plan, std::size_t rank) {
  return plan.graphs[rank].phases[0].instructions;
}

TEST(Oracle, OneTransfer) {
  EXPECT_EQ(harm(both(reduce(0, 64, 128, 0) + "wait 0\nf32[4] @0 = neg(f32[4] @128)")), "harmless");
  EXPECT_EQ(harm(both(reduce(0, 64, 64, 0) + "wait 0")), "harmless");
}

TEST(Oracle, SeveralInFlight) {
  std::string start = reduce(0, 64, 128, 0) + reduce(1, 64, 192, 1);
  EXPECT_EQ(harm(two_ranks(start + "wait 0\nwait 1", start + "wait 1\nwait 0")), "harmless");
}

TEST(Oracle, GroupsInOppositeOrders) {
  auto waiting = [](const char* first, int a, const char* second, int b) {
    return reduce(0, 64, 128, a, first) + "wait 0\n" + reduce(1, 64, 192, b, second) + "wait 1\n";
  };
  EXPECT_EQ(harm(two_ranks(waiting("dp", 0, "other", 1), waiting("other", 1, "dp", 0))),
            "deadlock");
  EXPECT_EQ(harm(both(waiting("dp", 0, "other", 1))), "harmless");
}

TEST(Oracle, TheOrderOfTheTransportCounts) {
  auto at_once = [](const char* first, int a, const char* second, int b) {
    return reduce(0, 64, 128, a, first) + reduce(1, 64, 192, b, second) + "wait 0\nwait 1\n";
  };
  Plan plan = two_ranks(at_once("dp", 0, "other", 1), at_once("other", 1, "dp", 0));
  EXPECT_EQ(harm(plan), "harmless");
  EXPECT_EQ(harm(plan, true), "deadlock");
}

TEST(Oracle, CallsMustAgree) {
  std::string sum = reduce(0, 64, 128, 0) + "wait 0";
  auto other = [&](std::string_view from, std::string_view to) {
    std::string text = sum;
    return two_ranks(sum, text.replace(text.find(from), from.size(), to));
  };
  EXPECT_EQ(harm(other("sum", "max")), "mismatch");
  EXPECT_EQ(harm(other("channel=0", "channel=1")), "mismatch");
  EXPECT_EQ(harm(other("\"dp\"", "\"other\"")), "deadlock");
  EXPECT_EQ(harm(other("all_reduce(f32[4] @64) {group=\"dp\", reduce=\"sum\"",
                       "broadcast_from(f32[4] @64) {group=\"dp\"")),
            "mismatch");
  std::string shorter =
      "f32[2] @192 = slice(f32[4] @64) {starts=[0], stops=[2]}\n"
      "f32[2] @128 = start 0 all_reduce(f32[2] @192) {group=\"dp\", "
      "reduce=\"sum\", channel=0}\nwait 0";
  EXPECT_EQ(harm(two_ranks(sum, shorter)), "mismatch");
  EXPECT_EQ(harm(two_ranks(sum, "")), "deadlock");
}

TEST(Oracle, RowsOfAnAllToAll) {
  auto call = [](const char* rows) {
    return fmt::format(
        "f32[4] @128 = start 0 all_to_all(f32[4] @64) {{group=\"dp\", {}"
        "channel=0}}\nwait 0",
        rows);
  };
  std::string uneven = call("send=[1,3], receive=[1,3], ");
  EXPECT_EQ(harm(both(call(""))), "harmless");
  EXPECT_EQ(
      harm(two_ranks(call("send=[1,3], receive=[1,3], "), call("send=[3,1], receive=[3,1], "))),
      "harmless");
  EXPECT_EQ(harm(both(uneven)), "mismatch");
}

TEST(Oracle, SendsAndReceives) {
  std::string send = "f32[4] @64 = start 0 send(f32[4] @64) {group=\"dp\", to=1, channel=0}\n";
  std::string recv = "f32[4] @128 = start 0 recv {group=\"dp\", from=0, type=f32[4], channel=0}\n";
  EXPECT_EQ(harm(two_ranks(send + "wait 0", recv + "wait 0\nf32[4] @0 = neg(f32[4] @128)")),
            "harmless");
  EXPECT_EQ(harm(two_ranks(send + "wait 0", "")), "deadlock");
  // Each waits for the other before it sends.
  auto exchange = [](int other, bool sends_first) {
    std::string s = fmt::format(
        "f32[4] @64 = start {} send(f32[4] @64) {{group=\"dp\", to={}, "
        "channel={}}}\n",
        sends_first ? 0 : 1, other, other);
    std::string r = fmt::format(
        "f32[4] @128 = start {} recv {{group=\"dp\", from={}, "
        "type=f32[4], channel={}}}\nwait {}\n",
        sends_first ? 1 : 0, other, 1 - other, sends_first ? 1 : 0);
    return sends_first ? s + r + "wait 0" : r + s + "wait 1";
  };
  EXPECT_EQ(harm(two_ranks(exchange(1, false), exchange(0, false))), "deadlock");
  EXPECT_EQ(harm(two_ranks(exchange(1, true), exchange(0, true))), "harmless");
  EXPECT_EQ(harm(two_ranks(exchange(1, false), exchange(0, true))), "harmless");
}

TEST(Oracle, Undefined) {
  EXPECT_EQ(harm(both("f32[4] @192 = neg(f32[4] @128)")), "undefined");
  // Written in the iteration before, but not where values stay.
  EXPECT_EQ(harm(both("f32[4] @0 = neg(f32[4] @0)\nf32[4] @192 = neg(f32[4] @0)")), "harmless");
  // A workspace destroys what lies there.
  EXPECT_EQ(harm(both("f32[4] @128 = neg(f32[4] @64)\n"
                      "f32[4] @192 = neg(f32[4] @64) workspace 64 @128\n"
                      "f32[4] @256 = neg(f32[4] @128)")),
            "undefined");
  // What is sent must be there as well.
  EXPECT_EQ(harm(both(reduce(0, 128, 192, 0) + "wait 0")), "undefined");
}

TEST(Oracle, Torn) {
  std::string two = "f32[4] @128 = neg(f32[4] @64)\nf32[4] @144 = neg(f32[4] @64)\n";
  EXPECT_EQ(harm(both(two + "f32[8] @192 = expm1(f32[8] @128)")), "harmless");
  EXPECT_EQ(harm(both("f32[4] @128 = neg(f32[4] @64)\nf32[4] @136 = neg(f32[4] @64)\n"
                      "f32[4] @192 = neg(f32[4] @128)")),
            "torn");
}

TEST(Oracle, StateIsInPlaceWhenAPhaseEnds) {
  EXPECT_EQ(harm(both("f32[4] @128 = neg(f32[4] @64) workspace 64 @0")), "home");
}

TEST(Oracle, BytesInFlight) {
  std::string text = reduce(0, 64, 128, 0) + "wait 0\n";
  std::string reader = "f32[4] @0 = neg(f32[4] @128)", writer = "f32[4] @64 = neg(f32[4] @0)";
  Plan late = both(text + reader);
  for (std::size_t r : {0, 1}) std::swap(instructions(late, r)[2], instructions(late, r)[3]);
  EXPECT_EQ(harm(late), "in-flight");
  EXPECT_EQ(effect(late), "results");
  Plan early = both(reduce(0, 64, 128, 0) + writer + "\nwait 0");
  EXPECT_EQ(harm(early), "in-flight");
  EXPECT_EQ(harm(both(reduce(0, 64, 128, 0) + "f32[4] @192 = neg(f32[4] @64)\nwait 0")),
            "harmless");
  // The result of another transfer lands in an operand.
  Plan other = both(reduce(0, 64, 128, 0) + reduce(1, 0, 64, 1) +
                    "wait 0\nwait 1\nf32[4] @0 = neg(f32[4] @128)");
  EXPECT_EQ(harm(other), "in-flight");
  EXPECT_EQ(effect(other), "results");
}

TEST(Oracle, Waits) {
  std::string one = reduce(0, 64, 128, 0) + "wait 0";
  Plan missing = both(one);
  instructions(missing, 0).erase(instructions(missing, 0).begin() + 2);
  EXPECT_EQ(harm(missing), "wait");
  Plan twice = both(one);
  instructions(twice, 1).insert(instructions(twice, 1).begin() + 2, instructions(twice, 1)[2]);
  EXPECT_EQ(harm(twice), "wait");
  Plan early = both(one);
  std::swap(instructions(early, 0)[1], instructions(early, 0)[2]);
  EXPECT_EQ(harm(early), "wait");
}

TEST(Oracle, PlacesInTheArena) {
  auto moved = [](std::int64_t offset, std::size_t location) {
    Plan plan = both(reduce(0, 64, 128, 0) + "wait 0\nf32[4] @192 = neg(f32[4] @64)");
    plan.graphs[0].phases[0].locations[location].offset = offset;
    return harm(plan);
  };
  EXPECT_EQ(moved(128, 2), "harmless");
  EXPECT_EQ(moved(136, 2), "alignment");  // a member of a transfer
  EXPECT_EQ(moved(4096 - 8, 4), "arena");
  EXPECT_EQ(moved(-64, 4), "arena");
  EXPECT_EQ(moved(202, 4), "alignment");
  EXPECT_EQ(moved(204, 4), "harmless");
}

constexpr std::string_view carried = R"(plan
version "" source "" passes "" cpu "" numerics "" threads 1 loop depth=1 turns=1
program before passes
| mesh(dp=2)
| graph step(%w: state f32[4] "w" parameter, %x: f32[4] "x") {
|   return %x
| }
program after passes
| mesh(dp=2)
| graph step(%w: state f32[4] "w" parameter, %x: f32[4] "x", %h: state pending f32[4] forwarded) {
|   %a: f32[4] = wait(%h) delay=1
|   %u: f32[4] = sub(%w, %a) delay=1
|   %g: f32[4] = mul(%x, %u)
|   %n: pending f32[4] = all_reduce(%g) {group="dp", reduce="sum", channel=0}
|   next %w = %u
|   next %h = %n
| }
graph step arena=1024 carried=1 {
  home %w: f32[4] @0
  phase "prologue 0" lo=0 hi=0 turn=0 {
    f32[4] @128 = input %x
    f32[4] @64 = mul(f32[4] @128, f32[4] @0)
    f32[4] @64 = start 0 all_reduce(f32[4] @64) {group="dp", reduce="sum", channel=0}
  }
  phase "steady" lo=0 hi=1 turn=0 {
    f32[4] @128 = input %x
    wait 0
    f32[4] @0 = sub(f32[4] @0, f32[4] @64)
    f32[4] @64 = mul(f32[4] @128, f32[4] @0)
    f32[4] @64 = start 0 all_reduce(f32[4] @64) {group="dp", reduce="sum", channel=0}
  }
  phase "drain 1" lo=1 hi=1 turn=0 {
    wait 0
    f32[4] @0 = sub(f32[4] @0, f32[4] @64)
  }
}
)";

TEST(Oracle, CarriedTransfers) {
  Plan plan = parse_plan(carried, ops::all());
  EXPECT_EQ(harm(plan), "harmless");
  auto without = [&](std::size_t phase, std::size_t n) {
    Plan other = plan;
    auto& list = other.graphs[0].phases[phase].instructions;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(n));
    return harm(other);
  };
  EXPECT_EQ(without(0, 2), "wait");  // never started
  EXPECT_EQ(without(1, 1), "in-flight");
  EXPECT_EQ(without(2, 0), "in-flight");
  // The gradient of the iteration before is overwritten while it is still read.
  Plan early = plan;
  auto& steady = early.graphs[0].phases[1].instructions;
  std::swap(steady[1], steady[3]);
  EXPECT_EQ(harm(early), "in-flight");
  // Nothing but its bytes stays: what is computed beside them is gone in the next phase.
  Plan beside = plan;
  for (std::size_t p : {0, 1}) beside.graphs[0].phases[p].locations[p == 0 ? 3 : 7].offset = 256;
  EXPECT_EQ(harm(beside), "undefined");
}

TEST(Oracle, SaysWhenAPlanIsTooLarge) {
  std::string text;
  for (int t = 0; t < 8; ++t) text += reduce(t, 64, 128 + 64 * t, t);
  for (int t = 0; t < 8; ++t) text += fmt::format("wait {}\n", t);
  EXPECT_TRUE(judge(both(text), {.most_states = 500}).too_large);
}

}  // namespace
}  // namespace hocket::testing

// Plans that are not even read: verify_plan refuses them, too. The checker does not depend on that.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "hocket/check/check.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"
#include "support/golden_plans.h"

namespace hocket::testing {
namespace {

Plan plan_of(std::string_view file) {
  return parse_plan(read_golden_plan(fmt::format("{}/{}", HOCKET_CHECK_DIR, file)).plan,
                    ops::all());
}

std::vector<Instruction>& instructions(Plan& p, std::size_t phase) {
  return p.graphs[0].phases[phase].instructions;
}

/// Moves an instruction to another place.
void move(Plan& p, std::size_t phase, std::ptrdiff_t from, std::ptrdiff_t to) {
  std::vector<Instruction>& all = instructions(p, phase);
  Instruction i = all[static_cast<std::size_t>(from)];
  all.erase(all.begin() + from);
  all.insert(all.begin() + to, i);
}

void erase(Plan& p, std::size_t phase, std::ptrdiff_t at) {
  std::vector<Instruction>& all = instructions(p, phase);
  all.erase(all.begin() + at);
}

struct Case {
  std::string_view file;
  void (*edit)(Plan&);
  std::string_view rule, message;
  std::vector<std::string_view> example;
};

const Case cases[] = {
    // An in-place all-reduce is started before the last reader of its operand.
    {"reduced.plan",
     [](Plan& p) { move(p, 0, 2, 3); },
     "in-flight",
     "graph step, steady: f32[4] @192 = neg(f32[4] @128) workspace 64 @256 as %n: reads bytes that "
     "a "
     "transfer in flight writes",
     {"steady: f32[4] @128 = start 0 all_reduce(f32[4] @128) {group=\"dp\", reduce=\"sum\", "
      "channel=0} as %h",
      "steady: f32[4] @192 = neg(f32[4] @128) workspace 64 @256 as %n"}},
    // Its result is read before it has arrived.
    {"reduced.plan",
     [](Plan& p) { move(p, 0, 6, 5); },
     "in-flight",
     "graph step, steady: output y = f32[4] @128: reads bytes that a transfer in flight writes",
     {"steady: f32[4] @128 = start 0 all_reduce(f32[4] @128) {group=\"dp\", reduce=\"sum\", "
      "channel=0} as %h",
      "steady: output y = f32[4] @128"}},
    // Nobody waits for it. The readers are put in front of it, so that nothing else is wrong.
    {"reduced.plan",
     [](Plan& p) {
       move(p, 0, 3, 7);
       erase(p, 0, 4);
     },
     "waits",
     "graph step, steady: f32[4] @128 = start 0 all_reduce(f32[4] @128) {group=\"dp\", "
     "reduce=\"sum\", channel=0} as %h: nobody waits for it",
     {}},
    // A wait in front of the start.
    {"reduced.plan",
     [](Plan& p) { move(p, 0, 5, 3); },
     "waits",
     "graph step, steady: f32[4] @128 = wait 0 as %s: the transfer is not in flight",
     {}},
    // A seam that waits for nothing: the next iteration starts the transfer again.
    {"carried.plan",
     [](Plan& p) {
       erase(p, 1, 1);  // the wait
       erase(p, 1, 1);  // the update, which would read what is in flight
       erase(p, 1, 1);  // the next gradient, which would write there
       erase(p, 1, 1);  // the output of it
     },
     "in-flight",
     "graph step, steady: f32[4] @64 = start 0 all_reduce(f32[4] @64) {group=\"dp\", "
     "reduce=\"sum\", channel=0}: reads bytes that a transfer in flight writes",
     {"prologue 0: f32[4] @64 = start 0 all_reduce(f32[4] @64) {group=\"dp\", reduce=\"sum\", "
      "channel=0}",
      "steady: f32[4] @64 = start 0 all_reduce(f32[4] @64) {group=\"dp\", reduce=\"sum\", "
      "channel=0}"}},
    // The same without operands: a barrier that is carried.
    {"carried.plan",
     [](Plan& p) {
       for (std::size_t phase : {0, 1})
         for (Instruction& i : instructions(p, phase))
           if (i.kind == InstructionKind::start) i.operands = i.results = 0;
       erase(p, 1, 1);  // the wait
       erase(p, 1, 1);  // and the update, here and behind the last wait
       erase(p, 2, 1);
       instructions(p, 2)[0].results = 0;
     },
     "waits",
     "graph step, steady: start 0 all_reduce {group=\"dp\", reduce=\"sum\", channel=0}: the "
     "transfer is still in flight",
     {"prologue 0: start 0 all_reduce {group=\"dp\", reduce=\"sum\", channel=0}",
      "steady: start 0 all_reduce {group=\"dp\", reduce=\"sum\", channel=0}"}},
    // Nothing waits for the transfer that the last iteration starts.
    {"carried.plan",
     [](Plan& p) { instructions(p, 2).clear(); },
     "waits",
     "graph step, prologue 0: f32[4] @64 = start 0 all_reduce(f32[4] @64) {group=\"dp\", "
     "reduce=\"sum\", channel=0}: in flight when a run of 1 iteration has ended",
     {}},
    // The first iteration starts nothing for the second to wait for.
    {"carried.plan",
     [](Plan& p) { instructions(p, 0).pop_back(); },
     "waits",
     "graph step, drain 1: f32[4] @64 = wait 0: the transfer is not in flight",
     {}},
    // A phase writes where the transfer of the one before still writes.
    {"carried.plan",
     [](Plan& p) { move(p, 1, 3, 1); },
     "in-flight",
     "graph step, steady: f32[4] @64 = mul(f32[4] @0, f32[4] @128): writes bytes that a transfer "
     "in "
     "flight writes",
     {"prologue 0: f32[4] @64 = start 0 all_reduce(f32[4] @64) {group=\"dp\", reduce=\"sum\", "
      "channel=0}",
      "steady: f32[4] @64 = mul(f32[4] @0, f32[4] @128)"}},
};

TEST(Check, PlansThatAreNotEvenRead) {
  for (const Case& c : cases) {
    Plan plan = plan_of(c.file);
    ASSERT_FALSE(find_unsafe(plan).has_value()) << c.file;
    c.edit(plan);
    auto found = find_unsafe(plan);
    ASSERT_TRUE(found.has_value()) << c.rule << ": " << c.message;
    EXPECT_EQ(found->message, c.message);
    EXPECT_EQ(found->rule, c.rule) << c.message;
    EXPECT_TRUE(std::ranges::equal(found->example, c.example)) << c.message;
    for (const std::string& line : found->example) EXPECT_FALSE(line.empty());
  }
}

TEST(Check, EverySafetyRuleHasATest) {
  std::set<std::string_view> missing;
  for (const Rule& rule : safety_rules()) missing.insert(rule.name);
  for (const Case& c : cases) missing.erase(c.rule);
  for (const std::string& path : plan_files(HOCKET_CHECK_DIR))
    for (const GoldenPlan::Edit& edit : read_golden_plan(path).edits)
      for (const std::string& line : edit.outcome)
        std::erase_if(missing, [&](std::string_view rule) {
          return line.find("refuted: ") != line.npos && line.ends_with(fmt::format("[{}]", rule));
        });
  for (std::string_view rule : missing) ADD_FAILURE() << "no plan is refuted by rule " << rule;
}

/// Equal ranks are checked once; only lists of rows can disagree between them.
TEST(Check, RowsOfEqualRanks) {
  auto rows = [](std::string_view send, std::string_view receive) {
    return parse_plan(fmt::format(R"(plan
version "" source "" passes "" cpu "" numerics "" threads 1 loop depth=0 turns=1
program before passes
program after passes
| mesh(dp=2)
| graph step(%x: f32[4] "x") {{
|   return %x
| }}
graph step arena=256 {{
  phase "steady" lo=0 hi=0 turn=0 {{
    f32[4] @0 = input %x
    f32[4] @64 = start 0 all_to_all(f32[4] @0) {{group="dp", send={}, receive={}, channel=0}}
    f32[4] @64 = wait 0
    output 0 = f32[4] @0
  }}
}})",
                                  send, receive),
                      ops::all());
  };
  EXPECT_FALSE(find_unsafe(rows("[]", "[]")).has_value());
  EXPECT_FALSE(find_unsafe(rows("[2,2]", "[2,2]")).has_value());
  auto found = find_unsafe(rows("[1,3]", "[1,3]"));  // rank 0 sends 3 rows to rank 1, which wants 1
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rule, "matching");
  EXPECT_EQ(found->message,
            "steady: f32[4] @64 = start 0 all_to_all(f32[4] @0) {group=\"dp\", send=[1,3], "
            "receive=[1,3], channel=0}: sends other rows to a rank than that receives");
}

}  // namespace
}  // namespace hocket::testing

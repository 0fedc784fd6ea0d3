// Violations that no text can have, since reading a text cannot make them.

#include <gtest/gtest.h>

#include "hocket/base/error.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"

namespace hocket::testing {
namespace {

Plan small_plan() {
  return parse_plan(R"(plan
version "" source "" passes "" cpu "" numerics "" threads 1 loop depth=0 turns=1
program before passes
| graph step(%w: state f32[4] "w" parameter, %x: f32[4] "x") {
|   %y: f32[4] = add(%w, %x)
|   return y=%y
| }
program after passes
| graph step(%w: state f32[4] "w" parameter, %x: f32[4] "x") {
|   %s: pending f32[4] = all_reduce(%x) {group="world", reduce="sum", channel=0}
|   %t: f32[4] = wait(%s)
|   %y: f32[4] = add(%w, %t)
|   return y=%y
| }
graph step arena=320 {
  home %w: f32[4] @0
  phase "steady" lo=0 hi=0 turn=0 {
    f32[4] @64 = input %x
    f32[4] @128 = start 0 all_reduce(f32[4] @64) {channel=0} as %s
    f32[4] @128 = wait 0 as %t
    f32[4] @192 = copy(f32[4] @128) because "a test"
    f32[4] @64 = add(f32[4] @0, f32[4] @192) by library workspace 8 @256 as %y
    output y = f32[4] @64
  }
})",
                    ops::all());
}

using PlanEdit = void (*)(Plan&);

struct Case {
  const char* message;
  PlanEdit edit;
};

Instruction& at(Plan& p, std::size_t i) { return p.graphs[0].phases[0].instructions[i]; }
Location& location(Plan& p, std::size_t i) { return p.graphs[0].phases[0].locations[i]; }

const Case cases[] = {
    {"plan: 0 graphs for a program of 1 [form]", [](Plan& p) { p.graphs.clear(); }},
    {"plan: no backends, wanted the reference [form]", [](Plan& p) { p.backends.clear(); }},
    {"type 9 of 1 type [form]", [](Plan& p) { location(p, 0).type = 9; }},
    {"layout 9 of 1 layout [form]", [](Plan& p) { location(p, 0).layout = 9; }},
    {"layout 9 of 1 layout [form]", [](Plan& p) { p.graphs[0].homes[0].location.layout = 9; }},
    {"home 2 of 2 inputs [form]", [](Plan& p) { p.graphs[0].homes[0].input = 2; }},
    {"instruction 0: label 77 of 6 labels [form]", [](Plan& p) { at(p, 0).label = 77; }},
    {"instruction 0: input 2 of 2 inputs [form]", [](Plan& p) { at(p, 0).index = 2; }},
    {"instruction 5: output 1 of 1 output [form]", [](Plan& p) { at(p, 5).index = 1; }},
    {"instruction 3: reason 1 of 1 reason [form]", [](Plan& p) { at(p, 3).index = 1; }},
    {"instruction 1: transfer 1 of 1 transfer [form]", [](Plan& p) { at(p, 1).index = 1; }},
    {"instruction 2: transfer 4294967295 of 1 transfer [form]",
     [](Plan& p) { at(p, 2).index = 0xffffffff; }},
    {"instruction 4: backend 2 of 2 backends [form]", [](Plan& p) { at(p, 4).backend = 2; }},
    {"instruction 4: location 4294967297 of 10 locations [form]",
     [](Plan& p) { at(p, 4).locations = 0xffffffff; }},
    {"instruction 4: it has no op [form]", [](Plan& p) { at(p, 4).op = nullptr; }},
    {"instruction 4: its attributes are not those of sum [form]",
     [](Plan& p) { at(p, 4).op = &ops::sum; }},
    {"instruction 4: its attributes are not those of add [form]",
     [](Plan& p) { at(p, 4).attributes = at(p, 1).attributes; }},
    {"instruction 4: the operand lists of add do not add up to 2 operands [form]",
     [](Plan& p) { at(p, 4).attributes = at(p, 4).attributes.with_list_sizes({2}); }},
    {"instruction 1: lane 0, wanted that of its group [form]", [](Plan& p) { at(p, 1).lane = 0; }},
    {"instruction 1: lane 2, wanted that of its group [form]", [](Plan& p) { at(p, 1).lane = 2; }},
    {"instruction 2: lane 1, wanted 0 [form]", [](Plan& p) { at(p, 2).lane = 1; }},
    {"instruction 3: found 0 operands and 1 result, wanted 1 and 1 [form]",
     [](Plan& p) { at(p, 3).operands = 0; }},
    {"instruction 5: found 0 operands and 1 result, wanted 1 and 0 [form]",
     [](Plan& p) {
       at(p, 5).operands = 0;
       at(p, 5).results = 1;
     }},
    {"on the lane of group \"dp\", wanted \"world\" [groups]",
     [](Plan& p) { p.graphs[0].groups[0] = "dp"; }},
    {"plan: backend \"a b\", wanted a word [words]", [](Plan& p) { p.backends[1] = "a b"; }},
    {"plan: backend reference twice [words]", [](Plan& p) { p.backends[1] = "reference"; }},
    {"plan: the first backend is other, wanted reference [words]",
     [](Plan& p) { p.backends[0] = "other"; }},
    {"graph step: label \"y\", wanted the name of a value [words]",
     [](Plan& p) { p.graphs[0].labels[0].name = "y"; }},
    {"graph step: label of \"\", wanted an op [words]",
     [](Plan& p) { p.graphs[0].labels[0].op = ""; }},
    {"pending f32[4], wanted the type with which it arrives [types]",
     [](Plan& p) { p.types[0].pending = true; }},
    {"found 2 transfers and 1 start, of which 0 carried [transfers]",
     [](Plan& p) { p.graphs[0].phases[0].transfers = 2; }},
    {"found 4000000000 carried transfers and 1 start [carried]",
     [](Plan& p) { p.graphs[0].carried_transfers = p.graphs[0].phases[0].transfers = 4000000000; }},
};

TEST(VerifyPlan, WhatNoTextCanSay) {
  EXPECT_FALSE(find_violation(small_plan()).has_value());
  for (const Case& c : cases) {
    Plan plan = small_plan();
    c.edit(plan);
    auto v = find_violation(plan);
    ASSERT_TRUE(v.has_value()) << c.message;
    EXPECT_NE(describe(plan, *v).find(c.message), std::string::npos) << describe(plan, *v);
    EXPECT_THROW(verify_plan(plan), Error);
  }
}

TEST(VerifyPlan, APlanWithoutFormIsNotPrinted) {
  Plan plan = small_plan();
  location(plan, 0).type = 9;
  EXPECT_THROW(to_text(plan), InternalError);
}

}  // namespace
}  // namespace hocket::testing

// Plans of random programs are printed, read, shuffled and edited.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>

#include "hocket/base/error.h"
#include "hocket/codegen/library/library.h"
#include "hocket/ir/print.h"
#include "hocket/iter/lags.h"
#include "hocket/lower/lower.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"
#include "support/naive_plan.h"
#include "support/random_body.h"
#include "support/random_families.h"

namespace hocket::testing {
namespace {

constexpr int programs = 300;

Program program_at(Random& random, int i) {
  return i % 2 == 0 ? random_case(random, static_cast<std::uint64_t>(i / 2)).program
                    : random_body(random).rotated;
}

TEST(Plan, NaivePlansAreValid) {
  int carried = 0, deep = 0, copies = 0;
  for (int i = 0; i < programs; ++i) {
    Random random = random_at(1, static_cast<std::uint64_t>(i));
    Program program = program_at(random, i);
    Plan plan = naive_plan(program, random);
    if (auto v = find_violation(plan))
      FAIL() << i << ": " << describe(plan, *v) << "\n" << to_text(plan);
    deep += plan.shape.depth > 1;
    copies += !plan.reasons.empty();
    for (const PlanGraph& g : plan.graphs) carried += g.carried_transfers > 0;
  }
  EXPECT_GT(carried, 5);
  EXPECT_GT(deep, 20);
  EXPECT_GT(copies, 50);
}

TEST(Plan, TextHoldsAll) {
  for (int i = 0; i < programs; ++i) {
    Random random = random_at(2, static_cast<std::uint64_t>(i));
    Program program = program_at(random, i);
    Plan plan = naive_plan(program, random);
    std::string text = to_text(plan);
    Plan again = parse_plan(text, ops::all());
    ASSERT_TRUE(again == plan) << i << "\n" << text;
    ASSERT_EQ(to_text(again), text);
  }
}

/// What lowering makes follows the rules, and its text holds all of it.
TEST(Plan, LoweredPlansAreValid) {
  Library library;
  int carried = 0, copies = 0;
  for (int i = 0; i < programs; ++i) {
    Random random = random_at(4, static_cast<std::uint64_t>(i));
    Program program = program_at(random, i);
    Plan plan = lower(program, {.backend = i % 3 == 0 ? nullptr : &library});
    if (auto v = find_violation(plan))
      FAIL() << i << ": " << describe(plan, *v) << "\n" << to_text(plan);
    std::string text = to_text(plan);
    Plan again = parse_plan(text, ops::all());
    ASSERT_TRUE(again == plan) << i << "\n" << text;
    ASSERT_EQ(to_text(again), text);
    copies += !plan.reasons.empty();
    for (const PlanGraph& g : plan.graphs) carried += g.carried_transfers > 0;
  }
  EXPECT_GT(carried, 5);
  EXPECT_GT(copies, 50);
}

TEST(Plan, TheOrderOfTablesIsNoPartOfIt) {
  for (int i = 0; i < programs / 3; ++i) {
    Random random = random_at(3, static_cast<std::uint64_t>(i));
    Program program = program_at(random, i);
    Plan plan = naive_plan(program, random);
    Plan other = shuffled(plan, random);
    EXPECT_TRUE(plan == other);
    EXPECT_EQ(to_text(plan), to_text(other));
    EXPECT_EQ(find_violation(other).has_value(), false);
  }
}

/// Edits of one thing each that the text shows.
using PlanEdit = void (*)(Plan&);
const std::pair<const char*, PlanEdit> edits[] = {
    {"version", [](Plan& p) { p.origin.version += "x"; }},
    {"source", [](Plan& p) { p.origin.source += "x"; }},
    {"passes", [](Plan& p) { p.origin.passes += "x"; }},
    {"cpu", [](Plan& p) { p.origin.cpu += "x"; }},
    {"numerics", [](Plan& p) { p.origin.numerics += "\n"; }},
    {"threads", [](Plan& p) { ++p.origin.threads; }},
    {"arena", [](Plan& p) { ++p.graphs[0].arena_bytes; }},
    {"home", [](Plan& p) { p.graphs[0].homes.pop_back(); }},
    {"home offset", [](Plan& p) { p.graphs[0].homes[0].location.offset += 64; }},
    {"offset", [](Plan& p) { p.graphs[0].phases[0].locations[0].offset += 4; }},
    {"type",
     [](Plan& p) {
       p.types[0] = Type{DType::i16, false, {1, 2, 3}};
     }},
    {"layout",
     [](Plan& p) {
       p.layouts[0] = Layout{{3, 5}};
     }},
    {"window", [](Plan& p) { ++p.graphs[0].phases[0].window.turn; }},
    {"label", [](Plan& p) { p.graphs[0].labels[0].path += "x"; }},
    {"missing", [](Plan& p) { p.graphs[0].phases[0].instructions.pop_back(); }},
    {"backend", [](Plan& p) { p.backends[1] += "x"; }},
    {"shape", [](Plan& p) { ++p.shape.turns; }},
    {"program", [](Plan& p) { p.program.graphs[0].set_name("other"); }},
    {"source program", [](Plan& p) { p.source.graphs[0].set_name("other"); }},
};

TEST(Plan, EqualityAndTextSeeEveryField) {
  Random random(7);
  Program program = random_case(random, 0).program;
  Plan plan = naive_plan(program, random);
  while (plan.graphs[0].homes.empty() || plan.graphs[0].phases[0].locations.empty() ||
         to_text(plan).find(" by library") == std::string::npos) {
    program = random_case(random, 0).program;
    plan = naive_plan(program, random);
  }
  std::string text = to_text(plan);
  for (const auto& [name, edit] : edits) {
    Plan other = plan;
    edit(other);
    EXPECT_FALSE(other == plan) << name;
    EXPECT_NE(to_text(other), text) << name;
  }
}

TEST(Plan, AnInstructionIsSmall) {
  // Equal attributes are kept once when a text is read.
  Random random(3);
  Plan plan = naive_plan(random_case(random, 0).program, random);
  Plan again = parse_plan(to_text(plan), ops::all());
  std::map<std::string, const Attribute*> known;
  for (const PlanGraph& g : again.graphs)
    for (const PlanPhase& phase : g.phases)
      for (const Instruction& i : phase.instructions) {
        if (i.op == nullptr || i.attributes.values().empty()) continue;
        std::string key(i.op->name);
        append(key, *i.op, i.attributes);
        for (std::uint32_t size : i.attributes.list_sizes()) key += fmt::format(" {}", size);
        auto found = known.emplace(key, i.attributes.values().data()).first;
        EXPECT_EQ(found->second, i.attributes.values().data()) << key;
      }
}

TEST(Plan, NoOpHasAWordOfTheGrammar) {
  for (const Op* op : ops::all())
    for (std::string_view word :
         {"copy", "start", "input", "output", "by", "workspace", "as", "because", "pending"})
      EXPECT_NE(op->name, word);
  for (const Op* op : ops::all()) EXPECT_FALSE(find_dtype(op->name).has_value()) << op->name;
}

}  // namespace
}  // namespace hocket::testing

// Fuzzes the reader of plans: it refuses with one line that names a place, or what it accepts
// follows all rules, prints, and reads as the same plan. The checks take any plan, and what they
// find safe is run: no rank waits in vain, and memory stays in order.

#include <fmt/core.h>

#include "fuzz.h"
#include "hocket/base/error.h"
#include "hocket/check/check.h"
#include "hocket/check/meaning.h"
#include "hocket/comm/in_process.h"
#include "hocket/driver/plan_file.h"
#include "hocket/driver/random_inputs.h"
#include "hocket/ir/print.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"
#include "hocket/runtime/loop.h"
#include "hocket/runtime/ranks.h"
#include "require.h"
#include "support/naive_plan.h"
#include "support/random_body.h"
#include "support/random_families.h"

namespace hocket::fuzz {
namespace {

/// What kinds of things a plan has: a line each, to tell inputs apart.
std::string features(const Plan& plan) {
  std::string out = fmt::format("depth:{} turns:{} graphs:{}\n", std::string(plan.shape.depth, 'x'),
                                plan.shape.turns > 1 ? "several" : "one",
                                std::string(std::min<std::size_t>(plan.graphs.size(), 3), 'x'));
  for (const PlanGraph& g : plan.graphs) {
    out += fmt::format("homes:{} carried:{}\n",
                       std::string(std::min<std::size_t>(g.homes.size(), 3), 'x'),
                       g.carried_transfers > 0 ? "yes" : "no");
    for (const PlanPhase& phase : g.phases)
      for (const Instruction& i : phase.instructions) {
        out +=
            fmt::format("{} {} operands:{} results:{} {} {}\n",
                        std::string(static_cast<std::size_t>(i.kind) + 1, 'k'),
                        i.op != nullptr ? i.op->name : "",
                        std::string(std::min<std::uint32_t>(i.operands, 4), 'x'),
                        std::string(std::min<std::uint32_t>(i.results, 4), 'x'),
                        i.backend > 0 ? "backend" : "", i.workspace_bytes > 0 ? "workspace" : "");
        for (const auto& list : {phase.operands(i), phase.results(i)})
          for (const Location& l : list)
            if (const Layout& layout = plan.layouts[l.layout]; !layout.is_row_major())
              out += fmt::format("layout {} {}\n",
                                 std::string(std::min<std::size_t>(layout.axes().size(), 4), 'x'),
                                 layout.is_dense() ? "dense" : "");
      }
  }
  return out;
}

/// Refused kernels, and indices out of range, are errors of the plan; a wait that does not end is
/// one of the check.
void run_if_safe(std::shared_ptr<const Plan> plan) {
  constexpr std::int64_t most_bytes = 1 << 20;
  constexpr int most_ranks = 4;
  bool safe = !find_unsafe(*plan);
  (void)compare_meaning(*plan);
  int ranks = plan->program.world->ranks();
  if (!safe || ranks > most_ranks) return;
  for (const PlanGraph& g : plan->graphs)
    if (g.arena_bytes > most_bytes) return;
  try {
    comm::InProcess transport(ranks, {.deadline = 5});
    Ranks running(plan, transport);
    RandomInputs values(plan->program, 1, ranks);
    Loop loop(running, values.state());
    for (int k = 0; k < 2; ++k) loop.step(values.batch(k));
    loop.finish();
  } catch (const std::runtime_error& e) {
    std::string_view what = e.what();
    for (std::string_view hang : {"did not come", "wait for each other", "rank calls", " left"})
      require(what.find(hang) == what.npos, std::string(what));
  }
}

Outcome check(std::string_view text) {
  Plan plan;
  try {
    plan = parse_plan(text, ops::all());
  } catch (const Error& e) {
    require_one_line(e.what(), "line ");
    return {false, e.what()};
  }
  must("what was read", [&] { verify_plan(plan); });
  std::string printed = must("print", [&] { return to_text(plan); });
  Plan again = must("the printed text", [&] { return parse_plan(printed, ops::all()); });
  require(again == plan, "the printed text is another plan");
  require(to_text(again) == printed, "the printed text prints differently");
  must("the checks and the run", [&] {
    run_if_safe(std::make_shared<const Plan>(std::move(plan)));
    return 0;
  });
  plan = std::move(again);
  return {true, features(plan)};
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  const std::string source = HOCKET_SOURCE_DIR;
  for (const std::string& file : read_corpus(source + "/tests/plan", ".plan"))
    texts.push_back(file.substr(0, file.find("\n===\n") + 1));
  for (std::uint64_t i = 0; i < 60; ++i) {
    testing::Random random = testing::random_at(1, i);
    Program program = i % 2 == 0 ? testing::random_case(random, i / 2).program
                                 : testing::random_body(random).rotated;
    std::string text = to_text(testing::naive_plan(program, random));
    if (text.size() < 20'000) texts.push_back(std::move(text));
  }
  for (std::uint64_t i = 0; i < 60; ++i) {  // these can be run
    testing::Random random = testing::random_at(2, i);
    Step step{.source = "random", .program = testing::random_case(random, i).program};
    std::string text = to_text(make_plan(
        step, {.compile = {.passes = i % 2 == 0 ? "none" : "default"}, .backend = "reference"}));
    if (text.size() < 12'000) texts.push_back(std::move(text));
  }
  texts.emplace_back("");
  texts.emplace_back("plan");
  return texts;
}

std::vector<std::string> dictionary() {
  std::vector<std::string> words{"plan",
                                 "version",
                                 "threads ",
                                 "loop depth=",
                                 " turns=",
                                 "program before passes\n| ",
                                 "\n| ",
                                 "|",
                                 "graph ",
                                 " arena=",
                                 " carried=",
                                 "carried=1",
                                 "home %w: ",
                                 "constant ",
                                 " slot=1",
                                 "phase ",
                                 "\"steady\"",
                                 "\"steady, turn 1\"",
                                 "lo=",
                                 " hi=1",
                                 " turn=0",
                                 " copy(",
                                 ") because \"\"",
                                 "start 0 ",
                                 "start 1 ",
                                 "wait 0",
                                 "wait 1",
                                 "input %x",
                                 "output ",
                                 "output 0 = ",
                                 " by ",
                                 " by library",
                                 " as ",
                                 " as %y",
                                 " @\"a\"",
                                 " workspace 64 @0",
                                 " @",
                                 " @0",
                                 " @64",
                                 " @128",
                                 "[2:1, 2:2]",
                                 "[4:1]",
                                 "[4:-1]",
                                 "[1:1]",
                                 "[0:1]",
                                 "[]",
                                 "f32[4] @0",
                                 "f32[4] @64 = ",
                                 "f32[]",
                                 "f32[0]",
                                 "pending ",
                                 "{",
                                 "}",
                                 "\"world\"",
                                 "{group=\"world\", reduce=\"sum\", channel=7}",
                                 "{channel=",
                                 "9223372036854775807",
                                 "140737488355328",
                                 "4294967295"};
  for (const Op* op : ops::all()) {
    words.emplace_back(op->name);
    for (const AttributeSpec& a : op->attributes) words.push_back(std::string(a.name) + "=");
  }
  for (const DTypeRow& row : dtype_rows()) words.push_back(fmt::format("{}[4] @", row.name));
  return words;
}

}  // namespace
}  // namespace hocket::fuzz

int main(int argc, char** argv) {
  using namespace hocket::fuzz;
  // Each thread reserves address space for its stack and its heap.
  return fuzz_main(argc, argv,
                   {.corpus = corpus(),
                    .dictionary = dictionary(),
                    .target = check,
                    .memory_limit = std::size_t{2} << 30});
}

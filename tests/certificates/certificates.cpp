// Every plan that lowering makes must be found safe: of all steps with values and all further
// graphs under every list of passes in use, and of random programs of all families under random
// lists. `certificates --programs N --seed S --only FAMILY --sources NAME` tries more or others.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>

#include "hocket/base/clock.h"
#include "hocket/base/error.h"
#include "hocket/check/check.h"
#include "hocket/check/meaning.h"
#include "hocket/driver/plan_file.h"
#include "hocket/ir/print.h"
#include "hocket/plan/verify_plan.h"
#include "support/pass_choices.h"
#include "support/random_families.h"
#include "support/sources.h"

namespace hocket::testing {
namespace {

struct Options {
  std::uint64_t programs = 400, seed = 1;
  std::string_view sources = "", only = "";  ///< parts of names: of sources, of families
};

constexpr std::string_view lists[] = {
    "none",
    "default",
    "default,cross-iteration",
    "default,shard-optimizer,cross-iteration",
    "bucket-collectives:first=4KiB:cap=4KiB,split-optimizer:by=bucket,cross-iteration:delay=all",
    "split-collectives:part=4KiB,raise-collectives,sink-waits,fuse-optimizer",
};

struct Count {
  int plans = 0, failures = 0;
  double seconds = 0, meaning_seconds = 0;
};

void check(const std::string& what, const Plan& plan, Count& count) {
  ++count.plans;
  auto report = [&](std::string_view problem) {
    ++count.failures;
    fmt::print("FAILED: {}: {}\n", what, problem);
    if (plan.source.graphs[0].size() < 60) fmt::print("{}", to_text(plan.source));
  };
  if (auto v = find_violation(plan)) report(describe(plan, *v));
  std::size_t instructions = 0;
  for (const PlanGraph& g : plan.graphs)
    for (const PlanPhase& phase : g.phases) instructions += phase.instructions.size();
  double begin = steady_seconds();
  if (auto refuted = find_unsafe(plan)) {
    report(fmt::format("{} [{}]", refuted->message, refuted->rule));
    for (const std::string& line : refuted->example) fmt::print("  {}\n", line);
  }
  count.seconds += steady_seconds() - begin;
  begin = steady_seconds();
  MeaningReport meaning = compare_meaning(plan);
  double meant = steady_seconds() - begin;
  count.meaning_seconds += meant;
  if (instructions > 5000)
    fmt::print("{}: {} instructions, {:.0f} ms\n", what, instructions, meant * 1e3);
  if (meaning.verdict != Verdict::same)
    report(fmt::format("{}: {}", meaning.verdict == Verdict::different ? "different" : "undecided",
                       meaning.message));
}

void check_source(const std::string& source, const Options& options, Count& count) {
  if (source.find(options.sources) == source.npos) return;
  Step step = load_step(source);
  for (std::string_view passes : lists) {
    PlanOptions how;
    how.compile.passes = passes;
    check(fmt::format("{} --passes {}", source, passes), make_plan(step, how), count);
  }
}

void check_random(std::uint64_t index, const Options& options, Count& count) {
  if (family_at(index).name.find(options.only) == std::string_view::npos) return;
  Random random = random_at(options.seed, index);
  Step step;
  step.program = random_case(random, index).program;
  static const PassTable table = standard_passes();
  for (int l = 0; l < 3; ++l) {
    PlanOptions how;
    how.backend = "reference";
    how.compile.passes = l == 0 ? std::string(lists[index % std::size(lists)])
                                : to_text(random_list(random, table, 8, Tensors::tiny));
    std::string what =
        fmt::format("{} {} --passes '{}'", family_at(index).name, index, how.compile.passes);
    try {
      Plan plan = make_plan(step, how);
      check(what, plan, count);
    } catch (const Error&) {  // a list of the captures may not fit
      if (l > 0) throw;
    }
  }
}

int run(const Options& options) {
  Count count;
  for (const std::string& source : sources_and_graphs()) check_source(source, options, count);
  fmt::print("sources: {} plans, {} failures, {:.2f} and {:.2f} s\n", count.plans, count.failures,
             count.seconds, count.meaning_seconds);
  for (std::uint64_t i = 0; i < options.programs && count.failures < 10; ++i)
    check_random(i, options, count);
  fmt::print("with random programs: {} plans, {} failures, {:.2f} and {:.2f} s\n", count.plans,
             count.failures, count.seconds, count.meaning_seconds);
  return count.failures == 0 && count.plans > 0 ? 0 : 1;
}

}  // namespace
}  // namespace hocket::testing

int main(int argc, char** argv) {
  hocket::testing::Options options;
  for (int i = 1; i < argc; i += 2) {
    std::string_view key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    auto read = [&](std::uint64_t& target) {
      return std::from_chars(value.data(), value.data() + value.size(), target).ec == std::errc{};
    };
    bool good = key == "--programs" ? read(options.programs)
                : key == "--seed"   ? read(options.seed)
                                    : key == "--only" || key == "--sources";
    if (!good) {
      fmt::print(
          stderr,
          "usage: certificates [--programs N] [--seed S] [--only FAMILY] [--sources NAME]\n");
      return 2;
    }
    if (key == "--only") options.only = value;
    if (key == "--sources") options.sources = value;
  }
  return hocket::testing::run(options);
}

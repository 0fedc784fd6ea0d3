// How long plans take to be made and certified: a data-parallel step of 40K nodes on 64 ranks, with
// buckets and updates that reach into the next iteration; a pipeline whose 64 ranks have a graph
// each; and the captured step of a large model.
//
// Bars: passes and lowering of the steps under 0.4 s; safety of the 40K nodes under 0.1 s, and of
// 64 graphs of 2K nodes each under 1 s; meaning of the 40K nodes under 0.3 s. All on one core.

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "families.h"
#include "hocket/base/error.h"
#include "hocket/check/check.h"
#include "hocket/check/meaning.h"
#include "hocket/driver/compile.h"
#include "hocket/driver/load.h"
#include "hocket/ir/verify.h"
#include "hocket/lower/lower.h"
#include "measure.h"
#include "sentinel.h"

namespace hocket::bench {
namespace {

constexpr std::size_t step_nodes = 40'000, rank_nodes = 2'000;
constexpr int stages = 16, copies = 4;
constexpr int ranks = stages * copies;
constexpr double most_plan = 0.4, most_safety = 0.1, most_safety_of_graphs = 1, most_meaning = 0.3;

/// A program, the passes that its plan is made with, and the plan.
struct Subject {
  std::string name, passes;
  Program source;
  Plan plan = {};
};

Plan plan_of(const Subject& s) {
  CompileOptions options{.passes = s.passes};
  Program program = s.source;
  compile(program, options);
  return lower(program);
}

Subject prepared(std::string name, std::string passes, Program source) {
  Subject s{std::move(name), std::move(passes), std::move(source)};
  verify(s.source);
  s.plan = plan_of(s);
  s.plan.source = s.source;
  std::size_t nodes = 0, instructions = 0;
  for (const Graph& g : s.source.graphs) nodes += g.size();
  for (const PlanGraph& g : s.plan.graphs)
    for (const PlanPhase& phase : g.phases) instructions += phase.instructions.size();
  fmt::print("{}: {} nodes, {} instructions in {} phases, passes {}\n", s.name, nodes, instructions,
             s.plan.graphs[0].phases.size(), s.passes);
  return s;
}

/// A sample is the median of several calls that take 20 ms together.
template <class F>
Variant timed(std::string name, F f) {
  return {std::move(name), [f = std::move(f)] {
            std::vector<double> runs;
            double total = 0;
            while (total < 0.02 && runs.size() < 15) {
              double begin = thread_seconds();
              f();
              runs.push_back(thread_seconds() - begin);
              total += runs.back();
            }
            return median(std::move(runs));
          }};
}

/// What is measured, and the seconds that it may take; 0 where nothing is promised.
struct Row {
  Variant variant;
  double most = 0;
};

Row safety_row(const Subject& s, LaunchOrder order, double most) {
  return {timed(fmt::format("safety of {}{}", s.name,
                            order == LaunchOrder::total ? ", total launch order" : ""),
                [&s, order] {
                  if (auto f = find_unsafe(s.plan, order))
                    internal_fail("{}: {}", s.name, f->message);
                }),
          most};
}

Row meaning_row(const Subject& s, double most) {
  return {timed("meaning of " + s.name,
                [&s] {
                  if (MeaningReport r = compare_meaning(s.plan); r.verdict != Verdict::same)
                    internal_fail("{}: {}", s.name, r.message);
                }),
          most};
}

Row plan_row(const Subject& s, double most) {
  return {timed("passes and lowering of " + s.name, [&s] { plan_of(s); }), most};
}

int main_certificates() {
  print_machine(probe());
  std::vector<Subject> steps;
  steps.push_back(prepared("a step of 40K nodes",
                           "default,bucket-collectives:first=1KiB:cap=4KiB,cross-iteration",
                           Program(make_data_parallel(step_nodes, ranks))));
  if (const char* file = HOCKET_DATA "/graphs/llama8b_fsdp"; std::filesystem::exists(file))
    steps.push_back(
        prepared("llama8b_fsdp", "default,shard-optimizer,cross-iteration", load(file)));
  Subject pipeline =
      prepared("64 ranks of 2K nodes", "none", make_pipeline(rank_nodes, stages, copies));

  std::vector<Row> rows;
  for (const Subject& s : steps) {
    rows.push_back(plan_row(s, most_plan));
    rows.push_back(safety_row(s, LaunchOrder::per_group, most_safety));
    rows.push_back(meaning_row(s, most_meaning));
  }
  rows.push_back(plan_row(pipeline, 0));
  rows.push_back(safety_row(pipeline, LaunchOrder::per_group, most_safety_of_graphs));
  rows.push_back(safety_row(pipeline, LaunchOrder::total, most_safety_of_graphs));
  rows.push_back(meaning_row(pipeline, 0));

  std::vector<Variant> variants;
  for (const Row& row : rows) variants.push_back(row.variant);
  std::vector<Measured> measured =
      measure(variants, {.samples = 7, .sentinel_seconds = 0.01, .progress = "certificates"});
  print_table(measured);
  Bars bars;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].most > 0)
      bars.expect(measured[i].median < rows[i].most, measured[i].name,
                  time_text(measured[i].median), "under " + time_text(rows[i].most));
  return bars.exit_code();
}

}  // namespace
}  // namespace hocket::bench

int main() { return hocket::bench::main_certificates(); }

// How close memory plans come to the least possible: arenas against live_bytes_bound and against
// the sum of all values, on the steps in the folder of further data, with four pass lists, and on
// random programs; and what ranks really write in their arenas.
//
// Bars: an arena is never below its bound, at most 1.05 times the bound on every step, and at most
// 1.15 times on 99 % of the random programs; at most half the sum of all values on every capture;
// ranks write at least 0.95 of it, and not more than all of it.

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "hocket/driver/plan_file.h"
#include "hocket/driver/run.h"
#include "hocket/ir/print.h"
#include "hocket/lower/live_bound.h"
#include "measure.h"
#include "support/random_program.h"
#include "support/random_step.h"

namespace hocket::bench {
namespace {

constexpr double most_over_bound = 1.05, most_over_bound_random = 1.15, most_of_values = 0.5;
constexpr int random_programs = 1000, most_random_misses = random_programs / 100;
constexpr std::int64_t least_random_bytes = 1'000'000;
constexpr std::string_view pass_lists[] = {"none", "default", "default,cross-iteration",
                                           "default,shard-optimizer,cross-iteration"};

/// What comes of a program: of the graph with the largest arena.
struct Row {
  std::string name;
  std::int64_t arena = 0, bound = 0;
  std::int64_t values = 0;  ///< bytes when every value has memory of its own
  double written = 0;       ///< of the arena; 0 where the program has not run

  double over_bound() const { return static_cast<double>(arena) / static_cast<double>(bound); }
  double of_values() const { return static_cast<double>(arena) / static_cast<double>(values); }
};

/// Waits return what is in flight, so only pending values count of a transfer.
std::int64_t bytes_of_values(const Graph& g) {
  std::int64_t total = 0;
  for (const Input& in : g.inputs())
    total += g.type(in.value).ready().bytes() * std::max(in.slots, 1);
  for (NodeId n : g.nodes())
    if (!g[n].op->is_wait)
      for (Value v : g.results(n)) total += g.type(v).ready().bytes();
  return total;
}

Row row_of(std::string name, const Plan& plan, Backend* backend) {
  Row row{.name = std::move(name)};
  for (std::size_t g = 0; g < plan.graphs.size(); ++g)
    if (plan.graphs[g].arena_bytes > row.arena) {
      row.arena = plan.graphs[g].arena_bytes;
      row.bound = live_bytes_bound(plan.program, g, backend);
      row.values = bytes_of_values(plan.program.graphs[g]);
    }
  return row;
}

void print_head() {
  fmt::print("\n{:64} {:>14} {:>14} {:>6} {:>10} {:>8}\n", "", "arena", "bound", "ratio",
             "of values", "written");
}

void print_row(const Row& r) {
  fmt::print("{:64} {:>14} {:>14} {:>6.3f} {:>10.3f} {:>8}\n", r.name, r.arena, r.bound,
             r.over_bound(), r.of_values(), r.written > 0 ? fmt::format("{:.4f}", r.written) : "");
}

std::vector<std::string> steps_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(HOCKET_DATA "/" + folder))
    if (entry.is_directory()) names.push_back(folder + "/" + entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// All steps of a folder, with all pass lists. The shared graphs have no values, and some are too
/// large to run.
std::vector<Row> rows_of(const std::string& folder, bool runs) {
  std::vector<Row> rows;
  print_head();
  for (const std::string& name : steps_in(folder))
    for (std::string_view passes : pass_lists) {
      Step step = load_step(HOCKET_DATA "/" + name);
      PlanOptions options{.compile = {.passes = std::string(passes)}};
      std::unique_ptr<Backend> backend = make_backend(options.backend, options.threads);
      auto plan = std::make_shared<const Plan>(make_plan(step, options));
      Row row = row_of(fmt::format("{} {}", name, passes), *plan, backend.get());
      if (runs) {
        RunReport report = run(std::move(step), {.compile = options.compile}, plan);
        row.written = static_cast<double>(report.peak_bytes) / static_cast<double>(row.arena);
      }
      print_row(row);
      rows.push_back(std::move(row));
    }
  return rows;
}

void expect_steps(Bars& bars, std::string_view name, const std::vector<Row>& rows) {
  auto over = [](const Row& a, const Row& b) { return a.over_bound() < b.over_bound(); };
  auto [least, most] = std::ranges::minmax_element(rows, over);
  bars.expect(least->over_bound() >= 1, fmt::format("{}: {}", name, least->name),
              fmt::format("{:.3f} of the bound", least->over_bound()), "at least 1");
  for (const Row& r : rows)
    if (r.over_bound() > most_over_bound && &r != &*most)
      bars.expect(false, r.name, fmt::format("{:.3f} of the bound", r.over_bound()),
                  fmt::format("at most {}", most_over_bound));
  bars.expect(most->over_bound() <= most_over_bound, fmt::format("{}: {}", name, most->name),
              fmt::format("{:.3f} of the bound", most->over_bound()),
              fmt::format("at most {}", most_over_bound));
}

void expect_captures(Bars& bars, const std::vector<Row>& rows) {
  expect_steps(bars, "captures", rows);
  auto [least, most] = std::ranges::minmax_element(rows, {}, &Row::written);
  bars.expect(least->written >= 0.95, least->name, fmt::format("{:.4f} written", least->written),
              "at least 0.95 of the arena");
  bars.expect(most->written <= 1, most->name, fmt::format("{:.4f} written", most->written),
              "at most the arena");
  auto large = std::ranges::max_element(
      rows, [](const Row& a, const Row& b) { return a.of_values() < b.of_values(); });
  bars.expect(large->of_values() <= most_of_values, large->name,
              fmt::format("{:.3f} of the sum of all values", large->of_values()),
              fmt::format("at most {}", most_of_values));
}

Program random_program_at(std::uint64_t seed) {
  testing::Random random(seed);
  if (seed % 4 == 0) return testing::random_step(random, 2, 1 << 17);
  return testing::random_program(random,
                                 {.ranks = 1 << testing::below(random, 3),
                                  .nodes = 40 + static_cast<int>(testing::below(random, 160)),
                                  .loop = testing::chance(random, 50),
                                  .largest = 96});
}

void expect_random(Bars& bars) {
  std::vector<Row> rows;
  std::uint64_t seed = 0;
  for (; std::ssize(rows) < random_programs; ++seed) {
    if (seed % 50 == 0) show_progress(fmt::format("{} random programs", rows.size()));
    Row row = row_of(fmt::format("seed {}", seed), lower(random_program_at(seed)), nullptr);
    if (row.arena >= least_random_bytes) rows.push_back(std::move(row));
  }
  show_progress("");
  std::ranges::sort(rows,
                    [](const Row& a, const Row& b) { return a.over_bound() > b.over_bound(); });
  fmt::print(
      "\n{} programs of at least {} bytes from seeds 0 to {}: random_program, and every "
      "fourth random_step; the worst of them, and the least\n",
      rows.size(), least_random_bytes, seed - 1);
  print_head();
  for (std::size_t i = 0; i < 15; ++i) print_row(rows[i]);
  print_row(rows.back());
  auto missed = std::ranges::count_if(
      rows, [](const Row& r) { return r.over_bound() > most_over_bound_random; });
  bars.expect(rows.back().over_bound() >= 1, "random programs",
              fmt::format("{:.3f} of the bound", rows.back().over_bound()), "at least 1");
  bars.expect(missed <= most_random_misses, "random programs",
              fmt::format("{} above {} of the bound", missed, most_over_bound_random),
              fmt::format("at most {} of {}", most_random_misses, rows.size()));
}

}  // namespace
}  // namespace hocket::bench

int main(int argc, char** argv) {
  using namespace hocket::bench;
  if (argc == 3 && std::string_view(argv[1]) == "--print") {
    fmt::print("{}", to_text(random_program_at(std::stoull(argv[2]))));
    return 0;
  }
  std::vector<Row> captures = rows_of("captures", true), graphs = rows_of("graphs", false);
  Bars bars;
  expect_captures(bars, captures);
  expect_steps(bars, "graphs", graphs);
  expect_random(bars);
  return bars.exit_code();
}

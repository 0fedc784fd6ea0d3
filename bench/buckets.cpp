// What bucketing and late waits give on two steps with random values, two ranks, and a link on
// which communication takes about as long as compute: `none` against `default`, with several sizes
// of buckets, all in one run.
//
// Bar: the best setting is at least 1.2 times as fast as `none`.

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "hocket/driver/run.h"
#include "measure.h"
#include "sentinel.h"

namespace hocket::bench {
namespace {

struct Setting {
  std::string name, passes;
};

struct Row {
  std::vector<double> step, compute, communication, exposed;
  std::int64_t collectives = 0;
};

RunReport run_once(const Step& step, const std::string& passes, std::optional<comm::Link> link) {
  RunOptions options;
  options.compile.passes = passes;
  options.link = link;
  options.iterations = 3;
  options.random_inputs = 1;
  return run(step, options);
}

void check(Bars& bars, const std::string& name) {
  Step step = load_step(HOCKET_DATA "/graphs/" + name);
  RunReport bare = run_once(step, "none", {});
  double total = 0, on_link = 0;
  for (const Bucket& b : bare.buckets) {
    total += static_cast<double>(b.bytes);
    on_link += comm::link_bytes(comm::Kind::all_reduce, bare.ranks, static_cast<double>(b.bytes));
  }
  constexpr double latency = 50e-6;
  double waits = latency * static_cast<double>(bare.buckets.size());
  comm::Link link{on_link / (bare.times->compute - waits), latency};
  auto sized = [&](double part) {
    auto bytes = static_cast<std::int64_t>(total / part);
    return Setting{fmt::format("default, cap total/{:.0f}", part),
                   fmt::format("default,bucket-collectives:first={0}:cap={0}", bytes)};
  };
  const Setting settings[] = {
      {"none", "none"}, {"default, 1 MiB and 25 MiB", "default"}, sized(32), sized(8)};
  std::vector<Row> rows(std::size(settings));
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      show_progress(
          fmt::format("{}: round {} of {}, {}", name, round + 1, rounds, settings[i].name));
      RunReport r = run_once(step, settings[i].passes, link);
      rows[i].step.push_back(r.step_seconds);
      rows[i].compute.push_back(r.times->compute);
      rows[i].communication.push_back(r.times->communication);
      rows[i].exposed.push_back(r.times->exposed);
      rows[i].collectives = r.collectives;
    }
  show_progress("");
  fmt::print("\n{}: {:.1f} MB of gradients, link {:.1f} MB/s, {:.0f} us\n", name, total / 1e6,
             link.bandwidth / 1e6, link.latency * 1e6);
  fmt::print("  {:26} {:>11} {:>9} {:>9} {:>14} {:>9} {:>6}\n", "", "collectives", "step",
             "compute", "communication", "exposed", "ratio");
  double none = median(rows[0].step), best = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double ratio = none / median(rows[i].step);
    best = std::max(best, ratio);
    fmt::print("  {:26} {:>11} {:>9} {:>9} {:>14} {:>9} {:>6.2f}\n", settings[i].name,
               rows[i].collectives, time_text(median(rows[i].step)),
               time_text(median(rows[i].compute)), time_text(median(rows[i].communication)),
               time_text(median(rows[i].exposed)), ratio);
  }
  bars.expect(best >= 1.2, name, fmt::format("{:.2f} times as fast as none", best), "at least 1.2");
}

}  // namespace
}  // namespace hocket::bench

int main() {
  using namespace hocket::bench;
  print_machine(probe());
  Bars bars;
  check(bars, "gpt2_bench");
  check(bars, "resnet18_bench");
  return bars.exit_code();
}

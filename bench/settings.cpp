#include "settings.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "measure.h"

namespace hocket::bench {
namespace {

constexpr double latency = 50e-6;  // seconds

RunReport run_once(const Step& step, const std::string& passes, std::optional<comm::Link> link) {
  RunOptions options;
  options.compile.passes = passes;
  options.link = link;
  options.iterations = 4;
  options.random_inputs = 1;
  return run(step, options);
}

}  // namespace

double SettingRow::seconds() const { return median(step); }

Trial make_trial(const std::string& name, double part) {
  Trial trial{.name = name, .step = load_step(HOCKET_DATA "/graphs/" + name)};
  double on_link = 0, waits = 0, compute = 0;
  std::optional<comm::Link> link;
  // The first runs of a process can be much slower than later ones: repeats until two agree.
  for (int attempt = 0; attempt < 8; ++attempt) {
    show_progress(fmt::format("{}: a link as slow as compute, attempt {}", name, attempt + 1));
    RunReport r = run_once(trial.step, "none", link);
    if (attempt == 0) {
      for (const Bucket& b : r.buckets) {
        auto bytes = static_cast<double>(b.bytes);
        trial.total_bytes += bytes;
        on_link += link_bytes(CollectiveKind::all_reduce, r.ranks, bytes);
      }
      waits = latency * static_cast<double>(r.buckets.size());
    }
    double before = std::exchange(compute, r.times->compute);
    link = {on_link / (part * compute - waits), latency};
    if (attempt > 1 && std::abs(compute - before) < 0.05 * compute) break;
  }
  trial.link = *link;
  return trial;
}

Setting with_cap(const Trial& trial, double part) {
  return {fmt::format("default, cap total/{:.0f}", part),
          fmt::format("default,bucket-collectives:first={0}:cap={0}",
                      static_cast<std::int64_t>(trial.total_bytes / part))};
}

std::vector<SettingRow> compare(const Trial& trial, std::span<const Setting> settings, int rounds) {
  std::vector<SettingRow> rows(settings.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      show_progress(
          fmt::format("{}: round {} of {}, {}", trial.name, round + 1, rounds, settings[i].name));
      RunReport r = run_once(trial.step, settings[i].passes, trial.link);
      rows[i].step.push_back(r.step_seconds);
      rows[i].compute.push_back(r.times->compute);
      rows[i].communication.push_back(r.times->communication);
      rows[i].exposed.push_back(r.times->exposed);
      rows[i].collectives = r.collectives;
    }
  show_progress("");
  fmt::print("\n{}: {:.1f} MB in collectives, link {:.1f} MB/s, {:.0f} us\n", trial.name,
             trial.total_bytes / 1e6, trial.link.bandwidth / 1e6, trial.link.latency * 1e6);
  fmt::print("  {:44} {:>11} {:>9} {:>9} {:>14} {:>9} {:>6}\n", "", "collectives", "step",
             "compute", "communication", "exposed", "ratio");
  for (std::size_t i = 0; i < rows.size(); ++i)
    fmt::print("  {:44} {:>11} {:>9} {:>9} {:>14} {:>9} {:>6.2f}\n", settings[i].name,
               rows[i].collectives, time_text(rows[i].seconds()),
               time_text(median(rows[i].compute)), time_text(median(rows[i].communication)),
               time_text(median(rows[i].exposed)), rows[0].seconds() / rows[i].seconds());
  return rows;
}

}  // namespace hocket::bench

// Ranks of one process on a slow link: compares the time of transfers with the formula, and
// measures how much of a transfer overlaps with compute when it starts early and is waited for
// late.
//
// Bars: gpt2 on a link of 1Gbps,50us, 20 iterations: communication within 10 % of the formula. One
// transfer beside compute: exposed time falls by at least 90 % of the time that the compute could
// hide.

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "hocket/driver/run.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"
#include "measure.h"
#include "sentinel.h"

namespace hocket::bench {
namespace {

RunOptions on_link(std::string_view link, std::int64_t iterations) {
  RunOptions options;
  options.compile.passes = "none";
  options.link = comm::parse_link(link);
  options.iterations = iterations;
  return options;
}

void check_formula(Bars& bars) {
  constexpr std::string_view link_text = "1Gbps,50us";
  comm::Link link = comm::parse_link(link_text);
  RunReport report = run(load_step(HOCKET_CAPTURES "/gpt2"), on_link(link_text, 20));
  double wanted = 0;
  for (const Bucket& b : report.buckets)  // all of them all-reduces
    wanted += link.latency +
              link_bytes(CollectiveKind::all_reduce, report.ranks, static_cast<double>(b.bytes)) /
                  link.bandwidth;
  double ratio = report.times->communication / wanted;
  fmt::print("\ngpt2 on {}: step {}, compute {}, communication {}, exposed {}\n", link_text,
             time_text(report.step_seconds), time_text(report.times->compute),
             time_text(report.times->communication), time_text(report.times->exposed));
  bars.expect(std::abs(ratio - 1) <= 0.1, "communication",
              fmt::format("{:.4f} of the formula", ratio), "0.9 to 1.1");
  // Each wait directly follows its start here, so exposed time is the time of the transfers.
  double sat = report.times->exposed / wanted;
  fmt::print("      exposed: {:.4f} of the formula, ranks that wait for each other included\n",
             sat);
}

/// One all-reduce and a chain of matrix products that does not depend on it.
Step one_transfer(bool late, std::int64_t elements) {
  std::string chain;
  for (int i = 0; i < 12; ++i)
    chain += fmt::format("  %m{}: f32[512,512] = matmul(%m{}, %w)\n", i + 1, i);
  std::string wait = fmt::format("  %s: f32[{}] = wait(%h)\n", elements);
  std::string text = fmt::format(
      "mesh(dp=2)\ngraph step(%m0: f32[512,512], %w: f32[512,512], %g: f32[{0}]) {{\n"
      "  %h: pending f32[{0}] = all_reduce(%g) {{group=\"dp\"}}\n{1}{2}{3}  return %m12, %s\n}}\n",
      elements, late ? "" : wait, chain, late ? wait : "");
  Step step;
  step.source = late ? "late" : "early";
  step.program = parse(text, ops::all());
  return step;
}

void check_overlap(Bars& bars, double transfer_of_compute) {
  constexpr std::int64_t elements = 1 << 18;
  RunOptions options = on_link("1000Gbps,0us", 15);
  options.random_inputs = 1;
  double compute = run(one_transfer(true, elements), options).times->compute;
  options.link = comm::Link{4.0 * elements / (compute * transfer_of_compute), 0};
  // Alternates, so that both are measured under the same conditions.
  std::vector<double> falls;
  double last_early = 0, last_late = 0, hidden = 0;
  for (int i = 0; i < 5; ++i) {
    RunReport early = run(one_transfer(false, elements), options);
    RunReport late = run(one_transfer(true, elements), options);
    last_early = early.times->exposed;
    last_late = late.times->exposed;
    hidden = std::min(late.times->communication, late.times->compute);
    falls.push_back((last_early - last_late) / hidden);
  }
  double fall = median(falls);
  fmt::print(
      "\na transfer of {:.1f} times the compute: exposed {} when waited for at once, {} when "
      "late; compute could hide {}\n",
      transfer_of_compute, time_text(last_early), time_text(last_late), time_text(hidden));
  bars.expect(fall >= 0.9, fmt::format("transfer of {:.1f} times the compute", transfer_of_compute),
              fmt::format("{:.1f} % of what could hide is hidden", fall * 100), "at least 90 %");
}

int main_lanes() {
  print_machine(probe());
  Bars bars;
  check_formula(bars);
  for (double part : {0.5, 0.9, 1.5}) check_overlap(bars, part);
  return bars.exit_code();
}

}  // namespace
}  // namespace hocket::bench

int main() { return hocket::bench::main_lanes(); }

// The speedup by bucketing and late waits on two steps with random values, on two ranks and a link
// on which communication takes about as long as compute. Compares `none` with `default`, with
// several bucket sizes, in one run.
//
// Bar: the best setting is at least 1.2 times as fast as `none`.

#include <fmt/core.h>

#include <algorithm>

#include "measure.h"
#include "sentinel.h"
#include "settings.h"

namespace hocket::bench {
namespace {

void check(Bars& bars, const std::string& name) {
  Trial trial = make_trial(name);
  const Setting settings[] = {{"none", "none"},
                              {"default, 1 MiB and 25 MiB", "default"},
                              with_cap(trial, 32),
                              with_cap(trial, 8)};
  auto rows = compare(trial, settings, 5);
  double best = 0;
  for (const SettingRow& row : rows) best = std::max(best, rows[0].seconds() / row.seconds());
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

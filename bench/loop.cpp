// The speedup by moving work across iterations, on two steps with random values, on two ranks and a
// link on which communication takes about as long as compute. Compares `none`, `default` with three
// bucket sizes, and the best of these with cross-iteration, with shard-optimizer, and with both.
//
// Bars: communication over compute is between 0.8 and 1.25 under `none`; on one of the steps the
// best is at least 1.10 times as fast as the best `default`.

#include <fmt/core.h>

#include <algorithm>

#include "measure.h"
#include "sentinel.h"
#include "settings.h"

namespace hocket::bench {
namespace {

/// The speedup over the best `default`.
double gain(Bars& bars, const std::string& name) {
  Trial trial = make_trial(name, 0.95);
  std::vector<Setting> settings{{"none", "none"},
                                {"default, 1 MiB and 25 MiB", "default"},
                                with_cap(trial, 32),
                                with_cap(trial, 8)};
  auto first = compare(trial, settings, 3);
  double ratio = median(first[0].communication) / median(first[0].compute);
  bars.expect(ratio >= 0.8 && ratio <= 1.25, name,
              fmt::format("communication {:.2f} of compute under none", ratio), "0.8 to 1.25");
  auto best = std::min_element(first.begin() + 1, first.end(), [](const auto& a, const auto& b) {
    return a.seconds() < b.seconds();
  });
  Setting base = settings[static_cast<std::size_t>(best - first.begin())];
  std::vector<Setting> moved{base};
  for (const char* more : {"cross-iteration", "shard-optimizer", "shard-optimizer,cross-iteration"})
    moved.push_back({fmt::format("  + {}", more), fmt::format("{},{}", base.passes, more)});
  auto second = compare(trial, moved, 5);
  double most = 0;
  for (std::size_t i = 1; i < second.size(); ++i)
    most = std::max(most, second[0].seconds() / second[i].seconds());
  return most;
}

}  // namespace
}  // namespace hocket::bench

int main() {
  using namespace hocket::bench;
  print_machine(probe());
  Bars bars;
  double most = 0;
  for (const char* name : {"gpt2_bench", "resnet18_bench"}) most = std::max(most, gain(bars, name));
  bars.expect(most >= 1.10, "best over the best default", fmt::format("{:.2f} times as fast", most),
              "at least 1.10 on one step");
  return bars.exit_code();
}

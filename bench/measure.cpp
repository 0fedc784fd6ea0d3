#include "bench/measure.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "bench/sentinel.h"

namespace hocket::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// The best rates measured so far.
struct Best {
  double gflops = 0, gops = 0;

  void learn(const MachineState& state) {
    for (const CoreState& core : state.cores) {
      gflops = std::max(gflops, core.gflops);
      gops = std::max(gops, core.gops);
    }
  }
  bool calm(const CoreState& core, double tolerance) const {
    return core.gflops >= (1 - tolerance) * gflops && core.gops >= (1 - tolerance) * gops &&
           core.starved <= tolerance;
  }
};

constexpr std::size_t all_cores = static_cast<std::size_t>(-1);

struct Sample {
  double seconds = 0;
  double delayed = 0;            // share of that time in which the thread had no core
  std::size_t core = all_cores;  // index of the core that counts
  MachineState before, after;
};

/// True when the cores that count run at nearly their best rates.
bool calm(const MachineState& state, std::size_t core, const Best& best, double tolerance) {
  if (core != all_cores) return best.calm(state.cores[core], tolerance);
  return std::ranges::all_of(state.cores,
                             [&](const CoreState& c) { return best.calm(c, tolerance); });
}

bool quiet(const Sample& s, const Best& best, double tolerance) {
  // Cores that share a cache differ from others by a factor of three or more; smaller differences
  // are noise.
  double ping = s.before.ping_ns, other = s.after.ping_ns;
  bool moved = s.core == all_cores && std::max(ping, other) > 1.5 * std::min(ping, other);
  return !moved && s.delayed <= tolerance && calm(s.before, s.core, best, tolerance) &&
         calm(s.after, s.core, best, tolerance);
}

std::size_t best_core(const MachineState& state) {
  auto worth = [](const CoreState& c) { return c.gops * (1 - c.starved); };
  return static_cast<std::size_t>(std::ranges::max_element(state.cores, {}, worth) -
                                  state.cores.begin());
}

class Run {
 public:
  Run(std::span<const Variant> variants, const MeasureOptions& options)
      : variants_(variants), options_(options), samples_(variants.size()) {
    look();
  }

  void take_all() {
    for (bool going = true; going;) {
      going = false;
      for (std::size_t i = 0; i < variants_.size(); ++i) {
        if (done(i)) continue;
        going = true;
        take(i);
      }
    }
    show_progress("");
  }

  Measured summary(std::size_t i) const {
    Measured m{.name = variants_[i].name, .attempts = static_cast<int>(samples_[i].size())};
    m.quiet = count_quiet(i);
    m.guarded = m.quiet >= wanted(i);
    std::vector<double> kept, others;
    for (const Sample& s : samples_[i]) (is_quiet(s) ? kept : others).push_back(s.seconds);
    std::ranges::sort(others);
    for (double s : others)
      if (static_cast<int>(kept.size()) < wanted(i)) kept.push_back(s);
    std::ranges::sort(kept);
    m.samples = static_cast<int>(kept.size());
    m.median = median(kept);
    auto quartile = [&](double q) {
      double at = q * static_cast<double>(kept.size() - 1);
      auto low = static_cast<std::size_t>(at);
      return std::lerp(kept[low], kept[std::min(low + 1, kept.size() - 1)], at - std::floor(at));
    };
    m.spread = (quartile(0.75) - quartile(0.25)) / m.median;
    return m;
  }

 private:
  int wanted(std::size_t i) const {
    return variants_[i].samples > 0 ? variants_[i].samples : options_.samples;
  }
  bool is_quiet(const Sample& s) const { return quiet(s, best_, options_.tolerance); }
  int count_quiet(std::size_t i) const {
    return static_cast<int>(
        std::ranges::count_if(samples_[i], [&](const Sample& s) { return is_quiet(s); }));
  }
  bool done(std::size_t i) const {
    int taken = static_cast<int>(samples_[i].size());
    if (taken < wanted(i)) return false;
    return patience_used_ > options_.patience || taken >= wanted(i) * options_.attempts ||
           count_quiet(i) >= wanted(i);
  }

  void look() {
    now_ = probe(options_.sentinel_seconds);
    best_.learn(now_);
  }
  std::size_t chosen_core() const { return options_.one_core ? best_core(now_) : all_cores; }

  /// Disturbances of a core last tenths of seconds, so it is probed again soon.
  void wait_until_calm() {
    auto start = Clock::now();
    while (!calm(now_, chosen_core(), best_, options_.tolerance) &&
           patience_used_ + since(start) < options_.patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      look();
    }
    patience_used_ += since(start);
  }

  void take(std::size_t i) {
    show_progress(fmt::format("{}: {}, sample {}", options_.progress, variants_[i].name,
                              samples_[i].size() + 1));
    wait_until_calm();
    bool extra = static_cast<int>(samples_[i].size()) >= wanted(i);
    Sample s{.core = chosen_core(), .before = now_};
    std::vector<int> cpus = usable_cpus();
    if (options_.one_core) bind_thread({&s.before.cores[s.core].cpu, 1});
    double delay = run_delay_seconds();
    auto start = Clock::now();
    s.seconds = variants_[i].sample();
    double wall = since(start);
    s.delayed = (run_delay_seconds() - delay) / wall;
    if (options_.one_core) bind_thread(cpus);
    look();
    s.after = now_;
    if (extra) patience_used_ += since(start);
    samples_[i].push_back(std::move(s));
  }

  std::span<const Variant> variants_;
  const MeasureOptions& options_;
  std::vector<std::vector<Sample>> samples_;  // by variant
  MachineState now_;
  Best best_;
  double patience_used_ = 0;
};

}  // namespace

std::vector<Measured> measure(std::span<const Variant> variants, const MeasureOptions& options) {
  Run run(variants, options);
  run.take_all();
  std::vector<Measured> results;
  for (std::size_t i = 0; i < variants.size(); ++i) results.push_back(run.summary(i));
  return results;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string time_text(double seconds) {
  auto digits = [](double x) { return x < 9.995 ? 2 : x < 99.95 ? 1 : 0; };
  for (auto [unit, size] : {std::pair{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}})
    if (seconds >= size)
      return fmt::format("{:.{}f} {}", seconds / size, digits(seconds / size), unit);
  return fmt::format("{:.0f} ns", seconds * 1e9);
}

std::string quiet_text(const Measured& m) {
  if (m.guarded) return fmt::format("{} quiet", m.quiet);
  return fmt::format("{} of {} quiet", m.quiet, m.attempts);
}

void print_table(std::span<const Measured> rows) {
  std::size_t width = 4;
  for (const Measured& m : rows) width = std::max(width, m.name.size());
  fmt::print("  {:{}}  {:>9} {:>7} {:>7}  samples\n", "", width, "median", "spread", "ratio");
  for (const Measured& m : rows)
    fmt::print("  {:{}}  {:>9} {:>6.1f}% {:>7.3f}  {}\n", m.name, width, time_text(m.median),
               m.spread * 100, m.median / rows[0].median, quiet_text(m));
}

void show_progress(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

void Bars::expect(bool ok, std::string_view name, std::string_view measured,
                  std::string_view wanted) {
  fmt::print("{}  {}: {}, wanted {}\n", ok ? "pass" : "FAIL", name, measured, wanted);
  if (!ok) ++failed_;
}

}  // namespace hocket::bench

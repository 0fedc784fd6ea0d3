#include "bench/sentinel.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/fma.h"

namespace hocket::bench {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// ---- the probe

struct Busy {
  double gflops = 0;
  double starved = 0;
};

/// Speed counts CPU time and starvation the rest, so that a slow core and a shared one differ.
Busy multiply_for(double seconds) {
  constexpr std::int64_t rounds = 5000;
  auto start = Clock::now();
  double cpu = thread_cpu_seconds();
  std::int64_t blocks = 0;
  [[maybe_unused]] volatile float sink = 0;
  do {
    sink = multiply_add(rounds);
    ++blocks;
  } while (since(start) < seconds);
  double wall = since(start);
  cpu = thread_cpu_seconds() - cpu;
  double flops = static_cast<double>(blocks * rounds * multiply_add_flops());
  return {flops / cpu * 1e-9, std::max(0.0, 1 - cpu / wall)};
}

/// The cache line that travels. Odd: the second thread is to answer.
struct alignas(128) Ball {
  std::atomic<std::uint32_t> count{0};
};
constexpr std::uint32_t game_over = 0xffffffff;

/// Nanoseconds of one way: the median of small batches, because one lost time slice is longer than
/// all of them.
double serve(Ball& ball, double seconds) {
  constexpr int batch = 64;
  std::vector<double> times;
  auto start = Clock::now();
  std::uint32_t count = 0;
  do {
    auto from = Clock::now();
    for (int i = 0; i < batch; ++i) {
      ball.count.store(++count, std::memory_order_release);
      ++count;
      while (ball.count.load(std::memory_order_acquire) != count) {
      }
    }
    times.push_back(since(from) / (2 * batch) * 1e9);
  } while (since(start) < seconds);
  ball.count.store(game_over, std::memory_order_release);
  return median(std::move(times));
}

void answer(Ball& ball) {
  while (true) {
    std::uint32_t count = ball.count.load(std::memory_order_acquire);
    if (count == game_over) return;
    if (count % 2 == 1) ball.count.store(count + 1, std::memory_order_release);
  }
}

/// Percent of the last ten seconds in which some task waited for a core.
double cpu_pressure() {
  std::ifstream file("/proc/pressure/cpu");
  std::string word;
  while (file >> word)
    if (word.starts_with("avg10=")) return std::stod(word.substr(6));
  return -1;
}

/// Seconds that the living threads of this process were ready and had no core.
double run_delay_seconds() {
  double total = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "schedstat");
    double on_core = 0, waiting = 0;
    if (file >> on_core >> waiting) total += waiting * 1e-9;
  }
  return total;
}

// ---- samples

struct Sample {
  double seconds = 0;
  bool quiet = false;
};

Measured summary(const Variant& variant, const std::vector<Sample>& samples, int wanted) {
  Measured m{.name = variant.name, .attempts = static_cast<int>(samples.size())};
  for (const Sample& s : samples) m.quiet += s.quiet ? 1 : 0;
  m.guarded = m.quiet >= wanted;
  bool use_all = 2 * m.quiet < wanted;
  std::vector<double> kept;
  for (const Sample& s : samples)
    if (s.quiet || use_all) kept.push_back(s.seconds);
  std::ranges::sort(kept);
  m.samples = static_cast<int>(kept.size());
  m.median = median(kept);
  auto quartile = [&](double q) {
    double at = q * static_cast<double>(kept.size() - 1);
    auto low = static_cast<std::size_t>(at);
    std::size_t high = std::min(low + 1, kept.size() - 1);
    return std::lerp(kept[low], kept[high], at - std::floor(at));
  };
  m.spread = (quartile(0.75) - quartile(0.25)) / m.median;
  return m;
}

}  // namespace

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) return {0};
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  return cpus;
}

void pin_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);  // refused in some containers: then it stays free
}

MachineState probe(double seconds) {
  std::vector<int> cpus = usable_cpus();
  if (cpus.size() > 2) cpus.resize(2);
  std::vector<Busy> busy(cpus.size());
  std::atomic<std::size_t> arrived{0};
  Ball ball;
  MachineState state;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    threads.emplace_back([&, i] {
      pin_thread(cpus[i]);
      ++arrived;
      while (arrived < cpus.size()) std::this_thread::yield();
      busy[i] = multiply_for(0.6 * seconds);
      if (i == 1) state.ping_ns = serve(ball, 0.4 * seconds);
      if (i == 0 && cpus.size() > 1) answer(ball);
    });
  threads.clear();  // joins
  for (const Busy& b : busy) {
    state.gflops.push_back(b.gflops);
    state.starved = std::max(state.starved, b.starved);
  }
  state.pressure = cpu_pressure();
  return state;
}

bool same_state(const MachineState& a, const MachineState& b, double tolerance) {
  auto moved = [](double x, double y) { return std::abs(x - y) / std::max({x, y, 1e-9}); };
  for (std::size_t i = 0; i < std::min(a.gflops.size(), b.gflops.size()); ++i)
    if (moved(a.gflops[i], b.gflops[i]) > tolerance) return false;
  return moved(a.ping_ns, b.ping_ns) <= 5 * tolerance &&
         std::abs(a.starved - b.starved) <= tolerance;
}

std::vector<Measured> measure(std::span<const Variant> variants, const MeasureOptions& options) {
  std::vector<std::vector<Sample>> samples(variants.size());
  auto wanted = [&](std::size_t i) {
    return variants[i].samples > 0 ? variants[i].samples : options.samples;
  };
  auto quiet = [&](std::size_t i) {
    return static_cast<int>(std::ranges::count_if(samples[i], &Sample::quiet));
  };
  auto done = [&](std::size_t i) {
    return quiet(i) >= wanted(i) ||
           static_cast<int>(samples[i].size()) >= wanted(i) * options.attempts;
  };

  MachineState before = probe(options.sentinel_seconds);
  for (bool going = true; going;) {
    going = false;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (done(i)) continue;
      going = true;
      show_progress(fmt::format("{}: {}, sample {}", options.progress, variants[i].name,
                                samples[i].size() + 1));
      double delay = run_delay_seconds();
      auto start = Clock::now();
      double seconds = variants[i].sample();
      double wall = since(start);
      delay = run_delay_seconds() - delay;
      MachineState after = probe(options.sentinel_seconds);
      bool still = same_state(before, after, options.tolerance);
      double starved = std::max({before.starved, after.starved, delay / wall});
      samples[i].push_back({seconds, still && starved <= options.tolerance});
      before = std::move(after);
    }
  }
  show_progress("");

  std::vector<Measured> results;
  for (std::size_t i = 0; i < variants.size(); ++i)
    results.push_back(summary(variants[i], samples[i], wanted(i)));
  return results;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// ---- printing

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
  fmt::print("{:{}}  {:>9} {:>7} {:>7}  samples\n", "", width, "median", "spread", "ratio");
  for (const Measured& m : rows)
    fmt::print("{:{}}  {:>9} {:>6.1f}% {:>7.3f}  {}\n", m.name, width, time_text(m.median),
               m.spread * 100, m.median / rows[0].median, quiet_text(m));
}

void print_machine(const MachineState& state) {
  std::string cores;
  for (double g : state.gflops) cores += fmt::format("{}{:.0f}", cores.empty() ? "" : " + ", g);
  fmt::print("machine: {} GF/s fp32, ping {:.0f} ns, starved {:.0f} %", cores, state.ping_ns,
             state.starved * 100);
  if (state.pressure >= 0) fmt::print(", pressure {:.0f} %", state.pressure);
  fmt::print("\n");
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

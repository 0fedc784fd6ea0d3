#include "bench/sentinel.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "bench/kernels.h"

namespace hocket::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls `block` for this many seconds; returns the calls per second of CPU time.
template <class Block>
double rate_of(double seconds, Block block) {
  auto start = Clock::now();
  double cpu = thread_seconds();
  double blocks = 0;
  do {
    [[maybe_unused]] volatile auto used = block();
    ++blocks;
  } while (since(start) < seconds);
  return blocks / (thread_seconds() - cpu);
}

void run_kernels(CoreState& core, double seconds) {
  constexpr std::int64_t rounds = 5000;  // about 50 us, long compared with reading the clock
  auto start = Clock::now();
  double cpu = thread_seconds();
  double unit = 1e-9 * static_cast<double>(rounds);
  core.gflops = rate_of(seconds / 2, [] { return multiply_adds(rounds); }) * unit *
                static_cast<double>(multiply_add_flops());
  core.gops = rate_of(seconds / 2, [] { return integer_adds(rounds); }) * unit *
              static_cast<double>(integer_add_instructions());
  core.starved = std::max(0.0, 1 - (thread_seconds() - cpu) / since(start));
}

/// The cache line that two threads pass back and forth. Odd: it is the second thread's turn.
struct alignas(128) Ball {
  std::atomic<std::uint32_t> count{0};
};
constexpr std::uint32_t game_over = 0xffffffff;

/// Nanoseconds of one way: the median over small batches, since one lost time slice is longer than
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
  std::ranges::sort(times);
  return times[times.size() / 2];
}

void answer(Ball& ball) {
  while (true) {
    std::uint32_t count = ball.count.load(std::memory_order_acquire);
    if (count == game_over) return;
    if (count % 2 == 1) ball.count.store(count + 1, std::memory_order_release);
  }
}

double cpu_pressure() {
  std::ifstream file("/proc/pressure/cpu");
  for (std::string word; file >> word;)
    if (word.starts_with("avg10=")) return std::stod(word.substr(6));
  return -1;
}

}  // namespace

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

MachineState probe(double seconds) {
  std::vector<int> cpus = usable_cpus();
  if (cpus.size() > 2) cpus.resize(2);
  MachineState state;
  for (int cpu : cpus) state.cores.push_back({.cpu = cpu});
  std::atomic<std::size_t> arrived{0};
  Ball ball;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    threads.emplace_back([&, i] {
      bind_thread({&cpus[i], 1});
      ++arrived;
      while (arrived < cpus.size()) std::this_thread::yield();
      run_kernels(state.cores[i], 0.8 * seconds);
      if (i == 1) state.ping_ns = serve(ball, 0.2 * seconds);
      if (i == 0 && cpus.size() > 1) answer(ball);
    });
  threads.clear();  // joins
  state.pressure = cpu_pressure();
  return state;
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  std::vector<int> cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  return cpus;
}

void bind_thread(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set,
                    &set);  // some containers refuse this; then the thread is not bound
}

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

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

void print_machine(const MachineState& state) {
  fmt::print("machine:");
  for (const CoreState& core : state.cores)
    fmt::print(" cpu {} {:.0f} GF/s {:.1f} Gop/s starved {:.0f} %,", core.cpu, core.gflops,
               core.gops, core.starved * 100);
  fmt::print(" ping {:.0f} ns", state.ping_ns);
  if (state.pressure >= 0) fmt::print(", pressure {:.0f} %", state.pressure);
  fmt::print("\n");
}

}  // namespace hocket::bench

#pragma once
// The sentinel measures the current speed of the machine. In a virtual machine it varies: a core
// may share a physical core with other users, two cores may be on one chip or on two, and each may
// lose CPU time.

#include <chrono>
#include <span>
#include <vector>

namespace hocket::bench {

/// Rates are per CPU time, and `starved` is the time without CPU; so slow cores and shared cores
/// can be told apart.
struct CoreState {
  int cpu = 0;
  double gflops = 0;   ///< single-precision multiply-adds, all probed cores busy at once
  double gops = 0;     ///< integer instructions, 10^9 per second
  double starved = 0;  ///< share of the probe in which its thread was ready but did not run
};

struct MachineState {
  std::vector<CoreState> cores;  ///< the first two usable cores
  double ping_ns = 0;    ///< time to pass a cache line between them, one way; 0 with one core
  double pressure = -1;  ///< percent of the last 10 s in which some task waited; negative: unknown
};

/// Measures for about `seconds`; 0.01 is enough to recognise a disturbed core.
MachineState probe(double seconds = 0.1);

/// Seconds since `start`.
double since(std::chrono::steady_clock::time_point start);

/// The cores that the calling thread may use, ascending.
std::vector<int> usable_cpus();
/// Binds the calling thread to these cores; threads that it creates inherit this.
void bind_thread(std::span<const int> cpus);

/// CPU time of the calling thread, which does not depend on other users of its core. Equal to wall
/// time on a quiet machine.
double thread_seconds();
/// Seconds in which the current threads of this process were ready but had no core.
double run_delay_seconds();

/// One line on stdout.
void print_machine(const MachineState& state);

}  // namespace hocket::bench

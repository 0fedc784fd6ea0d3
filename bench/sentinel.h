#pragma once
// The sentinel: what the machine can do at this moment. Virtual machines move: a core may be one
// thread of a physical core that others use, two cores may sit on one chip or on two, and any of
// them may be starved.

#include <chrono>
#include <span>
#include <vector>

namespace hocket::bench {

/// Rates count CPU time and `starved` the rest, so that a slow core and a shared one differ.
struct CoreState {
  int cpu = 0;
  double gflops = 0;   ///< single-precision multiply-adds, all probed cores busy at once
  double gops = 0;     ///< integer instructions, 10^9 per second
  double starved = 0;  ///< part of the probe in which its thread was ready and did not run
};

struct MachineState {
  std::vector<CoreState> cores;  ///< the first two that may be used
  double ping_ns = 0;            ///< one way of a cache line between them; 0 with one core
  double pressure = -1;  ///< percent of the last 10 s in which some task waited; negative: unknown
};

/// Takes about `seconds`; 0.01 is enough to tell a disturbed core from a quiet one.
MachineState probe(double seconds = 0.1);

/// Seconds from then to now.
double since(std::chrono::steady_clock::time_point start);

/// The cores that the calling thread may use, ascending.
std::vector<int> usable_cpus();
/// Binds the calling thread; threads that it makes inherit this.
void bind_thread(std::span<const int> cpus);

/// CPU time of the calling thread: what work on one core takes, whoever else wants that core. Equal
/// to wall time on a quiet machine.
double thread_seconds();
/// Seconds that the living threads of this process were ready and had no core.
double run_delay_seconds();

/// One line on stdout.
void print_machine(const MachineState& state);

}  // namespace hocket::bench

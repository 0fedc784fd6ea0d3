#pragma once
// Measuring on a machine that moves: a probe of its state around every sample, samples kept only
// where the state did not change, variants interleaved, medians with spread, and bars.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::bench {

/// What the machine could do at one moment.
struct MachineState {
  std::vector<double> gflops;  ///< of each probed core per second of its CPU time, all busy at once
  double ping_ns = 0;          ///< one way of a cache line between two cores; 0 with one core
  double starved = 0;          ///< largest part of the probe in which a ready thread did not run
  double pressure = -1;  ///< percent of the last 10 s in which some task waited; negative: unknown
};

/// The cores this process may use, ascending.
std::vector<int> usable_cpus();
/// Binds the calling thread. Bind threads that compute, not the main one: the probe takes its cores
/// from the main thread, and helpers inherit the binding.
void pin_thread(int cpu);

/// Probes the first two usable cores for about `seconds`.
MachineState probe(double seconds = 0.1);

/// True when nothing moved by more than `tolerance` (a fraction; the ping may move five times as
/// far, because it is the noisiest).
bool same_state(const MachineState& a, const MachineState& b, double tolerance);

/// One of the things compared. `sample` does it once and returns its seconds, so that it decides
/// what to leave out; a short one should repeat itself for some milliseconds.
struct Variant {
  std::string name;
  std::function<double()> sample;
  int samples = 0;  ///< quiet ones wanted; 0: as many as the options say
};

struct MeasureOptions {
  int samples = 5;                ///< quiet ones wanted of each variant
  int attempts = 2;               ///< at most this many samples taken for each one wanted
  double sentinel_seconds = 0.1;  ///< a short probe (0.01) for many or cheap samples
  double tolerance = 0.1;         ///< for changes of the state, and for time without a core
  std::string progress = {};      ///< title on the terminal
};

struct Measured {
  std::string name;
  double median = 0;  ///< seconds
  double spread = 0;  ///< interquartile range over median
  int samples = 0;    ///< that median and spread are of
  int quiet = 0;      ///< samples during which the machine did not change
  int attempts = 0;
  bool guarded = false;  ///< enough were quiet
};

/// Takes samples of all variants in turn, a probe between any two. A sample is quiet when the state
/// was the same before and after and nobody else wanted the cores. Where too few are quiet after
/// all attempts `guarded` is false: then those count that are, or all when they are very few.
std::vector<Measured> measure(std::span<const Variant> variants, const MeasureOptions& options);

/// Of a list that is not empty.
double median(std::vector<double> values);

/// `1.23 ms`, three digits.
std::string time_text(double seconds);
/// `9 quiet`, or `2 of 9 quiet` when more were wanted.
std::string quiet_text(const Measured& m);
/// One row per variant: median, spread, ratio to the first, samples.
void print_table(std::span<const Measured> rows);
/// One line about the machine.
void print_machine(const MachineState& state);
/// Replaces the line on the terminal; does nothing when stderr is none. Empty text clears it.
void show_progress(std::string_view text);

/// What must hold: prints a line for each bar and remembers failures.
class Bars {
 public:
  /// `pass  name: measured, wanted ...` or `FAIL  ...`.
  void expect(bool ok, std::string_view name, std::string_view measured, std::string_view wanted);
  int exit_code() const { return failed_ > 0 ? 1 : 0; }

 private:
  int failed_ = 0;
};

}  // namespace hocket::bench

#pragma once
// Measuring on a machine that moves: variants interleaved in one run, the sentinel before and after
// every sample, samples kept where the machine was at its best, medians with spread; and bars.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::bench {

/// One of the things compared. `sample` does it once and returns its seconds, so that it decides
/// what to leave out; a short one should repeat itself for some milliseconds.
struct Variant {
  std::string name;
  std::function<double()> sample;
  int samples = 0;  ///< quiet ones wanted; 0: as many as the options say
};

struct MeasureOptions {
  int samples = 5;   ///< quiet ones wanted of each variant
  int attempts = 3;  ///< at most this many samples are taken for each one wanted
  /// Seconds that may be spent, over all variants, on waiting for a quiet machine and on more
  /// samples than are wanted.
  double patience = 20;
  double sentinel_seconds = 0.1;  ///< 0.01 where samples are many or short
  double tolerance = 0.15;        ///< below the best rates seen, and of the time without a core
  /// The sample runs in this thread alone: it is bound to the better core, and only that one
  /// counts.
  bool one_core = true;
  std::string progress = {};  ///< title on the terminal
};

struct Measured {
  std::string name;
  double median = 0;  ///< seconds
  double spread = 0;  ///< interquartile range over median
  int samples = 0;    ///< that median and spread are of
  int quiet = 0;      ///< samples with the machine at its best before and after
  int attempts = 0;
  bool guarded = false;  ///< enough were quiet
};

/// Takes samples of all variants in turn. A sample is quiet when its cores had the best rates of
/// this run before and after, and were its own: so all quiet samples saw the same machine. Where
/// too few are quiet the fastest others stand in, because a disturbance only ever adds time.
std::vector<Measured> measure(std::span<const Variant> variants, const MeasureOptions& options);

/// Of a list that is not empty.
double median(std::vector<double> values);

/// `1.23 ms`, three digits.
std::string time_text(double seconds);
/// `9 quiet`, or `2 of 9 quiet` when more were wanted.
std::string quiet_text(const Measured& m);
/// One row per variant: median, spread, ratio to the first, samples.
void print_table(std::span<const Measured> rows);
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

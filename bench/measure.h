#pragma once
// Measures on a machine whose speed varies: variants are interleaved in one run, the sentinel
// probes the machine before and after every sample, samples taken at full speed are kept, and
// medians are reported with their spread. Also the bars that results must meet.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::bench {

/// One of the compared variants. `sample` runs it once and returns the seconds to count; if it is
/// short, it should repeat the work for some milliseconds.
struct Variant {
  std::string name;
  std::function<double()> sample;
  int samples = 0;  ///< number of quiet samples wanted; 0: that of the options
};

struct MeasureOptions {
  int samples = 5;   ///< number of quiet samples wanted of each variant
  int attempts = 3;  ///< at most this many samples are taken for each one wanted
  /// Seconds, over all variants, to spend on waiting for a quiet machine and on additional samples.
  double patience = 20;
  double sentinel_seconds = 0.1;  ///< use 0.01 for many or short samples
  double tolerance = 0.15;        ///< largest loss of rate, and share of time without a core
  /// The sample runs in this thread alone. The thread is bound to the better core, and only that
  /// core counts.
  bool one_core = true;
  std::string progress = {};  ///< title on the terminal
};

struct Measured {
  std::string name;
  double median = 0;  ///< seconds
  double spread = 0;  ///< interquartile range over median
  int samples = 0;    ///< used for median and spread
  int quiet = 0;      ///< samples with the machine at full speed before and after
  int attempts = 0;
  bool guarded = false;  ///< true when enough samples were quiet
};

/// Takes samples of all variants in turn. A sample is quiet when its cores reached the best rates
/// of this run before and after it and were not shared, so that all quiet samples were taken under
/// the same conditions. If too few are quiet, the fastest other samples are used, since
/// disturbances only add time.
std::vector<Measured> measure(std::span<const Variant> variants, const MeasureOptions& options);

/// The median of a list, which must not be empty.
double median(std::vector<double> values);

/// Formats a time with three digits, such as `1.23 ms`.
std::string time_text(double seconds);
/// `9 quiet`, or `2 of 9 quiet` when more were wanted.
std::string quiet_text(const Measured& m);
/// One row per variant: median, spread, ratio to the first, samples.
void print_table(std::span<const Measured> rows);
/// Replaces the line on the terminal; does nothing when stderr is none. Empty text clears it.
void show_progress(std::string_view text);

/// Limits on the results: prints a line for each and counts failures.
class Bars {
 public:
  /// `pass  name: measured, wanted ...` or `FAIL  ...`.
  void expect(bool ok, std::string_view name, std::string_view measured, std::string_view wanted);
  int exit_code() const { return failed_ > 0 ? 1 : 0; }

 private:
  int failed_ = 0;
};

}  // namespace hocket::bench

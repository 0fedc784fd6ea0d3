#pragma once
// What a rank did when: summed up for each step, and kept as spans where a trace is wanted.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hocket/base/trace.h"

namespace hocket {

/// For the thread of one rank. The spans of the compute lane follow each other without gaps: each
/// begins where the one before it ended. Without a trace the clock is not read between two kernels,
/// and nothing is allocated.
class Recorder {
 public:
  /// The labels must outlive this.
  Recorder(int rank, std::span<const std::string> groups, std::span<const TraceLabel> labels,
           bool keep);
  /// How many at most end in one step.
  void expect_transfers(std::size_t count) { transfers_.reserve(count); }

  /// Names the next step; else the iterations are counted.
  void announce(std::int64_t iteration, int drain) { iteration_ = iteration, drain_ = drain; }
  void begin_step();
  void end_step();

  bool keeps() const { return keep_; }
  /// A kernel or a copy has ended.
  void computed(SpanKind kind, std::uint32_t label, std::int64_t reads) {
    if (keep_)
      note(kind, label, -1, reads);
    else
      computing_ = true;
  }
  /// What ran up to now was kernels.
  void settle();
  /// After settle(): something else has ended.
  void note(SpanKind kind, std::uint32_t label, std::int64_t call, std::int64_t reads = -1);
  /// After settle(): transfers were tested, which may have taken some arithmetic.
  void tested(std::uint32_t label, std::int64_t call);
  void transferred(std::uint32_t lane, std::uint32_t label, std::int64_t call, double begin,
                   double end, double bytes);
  /// Notes the value of a counter, from the last span on, if it is another than before.
  void count(CounterKind kind, std::int64_t value);

  /// The step failed in this; after settle(), where that was called.
  void abandon(SpanKind kind, std::uint32_t label, std::int64_t call);

  /// When the clock was read last, in seconds of the steady clock. For any thread.
  double clock() const { return clock_.load(std::memory_order_relaxed); }
  std::int64_t iteration() const { return iteration_; }  ///< of the next step, or of this one
  int drain() const { return drain_; }
  const StepTimes& times() const { return times_; }  ///< of the last step
  /// Of all steps, where they are kept.
  RankTrace trace() const;

 private:
  void set_clock(double time) { clock_.store(time, std::memory_order_relaxed); }

  bool keep_, computing_ = false;
  // When the last span of the compute lane ended. Written by the rank only.
  std::atomic<double> clock_{0};
  std::int64_t iteration_ = 0;
  int drain_ = 0;
  StepTimes times_, sums_;
  std::vector<std::pair<double, double>> transfers_;  // of this step
  std::int64_t counted_[2] = {-1, -1};                // by CounterKind
  RankTrace trace_;                                   // without labels
  std::span<const TraceLabel> labels_;
};

}  // namespace hocket

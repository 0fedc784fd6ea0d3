#pragma once
// Timelines of a run or a prediction: spans of time on the lanes of every rank.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// The node of a graph that a span belongs to.
struct TraceLabel {
  std::string name;  ///< `%y`
  std::string op;
  std::string path;  ///< of the module it came from
  friend bool operator==(const TraceLabel&, const TraceLabel&) = default;
};

enum class SpanKind : std::uint8_t {
  kernel,    ///< compute lane: a node is executed
  copy,      ///< compute lane: bytes are moved for a node, without computing anything
  start,     ///< compute lane: a transfer is handed over
  progress,  ///< compute lane: arithmetic for a transfer in flight
  wait,      ///< compute lane: blocked until a transfer has ended
  transfer,  ///< lane of a group: bytes on the link
};

/// Seconds are of the steady clock.
struct Span {
  SpanKind kind = SpanKind::kernel;
  std::uint32_t lane = 0;   ///< index in RankTrace::lanes
  std::uint32_t label = 0;  ///< index in RankTrace::labels
  std::int64_t iteration = 0;
  double begin = 0, end = 0;
  double bytes = 0;         ///< of a transfer: bytes through this rank's link
  std::int64_t call = -1;   ///< number of the transfer that it belongs to, counted per rank
  std::int64_t reads = -1;  ///< number of the transfer whose result this span is the first to read
  bool unfinished = false;  ///< the run failed in it
};

enum class CounterKind : std::uint8_t {
  live_bytes,       ///< of values that were written and will be read, and of transfers
  bytes_in_flight,  ///< of operands that were handed over and whose transfer has not ended
};

/// A counter has this value from this time on.
struct CounterChange {
  CounterKind kind = CounterKind::live_bytes;
  double time = 0;
  std::int64_t value = 0;
};

struct RankTrace {
  int rank = 0;                                  ///< its number in the world
  std::vector<std::string> lanes = {"compute"};  ///< then one for each group
  std::vector<TraceLabel> labels;
  std::vector<Span> spans;  ///< ordered, on each lane, by their ends
  /// One kernel iteration: an iteration of the loop, or one of a drain after it.
  struct Step {
    double begin = 0, end = 0;
    std::int64_t iteration = 0;
    int drain = 0;  ///< counted from 1
  };
  std::vector<Step> steps;
  std::vector<CounterChange> counters;  ///< of each kind in the order of times
};

struct Trace {
  std::vector<RankTrace> ranks;
};

/// Seconds of one rank in one iteration.
struct StepTimes {
  double compute = 0;        ///< time in which a kernel or a copy runs
  double communication = 0;  ///< time in which some transfer is on the link
  double exposed = 0;        ///< time in which the compute lane waits
};

/// Length of the union of intervals of time, which are sorted by this. O(n log n), in place.
double length_of_union(std::span<std::pair<double, double>> intervals);

}  // namespace hocket

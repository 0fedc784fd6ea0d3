#include "hocket/base/trace.h"

#include <algorithm>
#include <utility>

namespace hocket {
namespace {

using Interval = std::pair<double, double>;

double length_of_union(std::vector<Interval>& intervals) {
  std::ranges::sort(intervals);
  double total = 0, covered = -1;
  for (auto [begin, end] : intervals) {
    total += std::max(0.0, end - std::max(begin, covered));
    covered = std::max(covered, end);
  }
  return total;
}

}  // namespace

StepTimes step_times(std::span<const Span> spans) {
  auto seconds = [&](SpanKind kind) {
    std::vector<Interval> intervals;
    for (const Span& s : spans)
      if (s.kind == kind) intervals.emplace_back(s.begin, s.end);
    return length_of_union(intervals);
  };
  return {seconds(SpanKind::kernel), seconds(SpanKind::transfer), seconds(SpanKind::wait)};
}

}  // namespace hocket

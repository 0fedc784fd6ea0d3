#include "hocket/runtime/recorder.h"

#include "hocket/base/clock.h"

namespace hocket {
namespace {

constexpr double worth_noting = 2e-6;  // seconds: shorter tests of transfers are not shown

}  // namespace

Recorder::Recorder(int rank, std::span<const std::string> groups,
                   std::span<const TraceLabel> labels, bool keep)
    : keep_(keep), labels_(labels) {
  trace_.rank = rank;
  trace_.lanes.insert(trace_.lanes.end(), groups.begin(), groups.end());
}

void Recorder::begin_step() {
  sums_ = {};
  transfers_.clear();
  computing_ = false;
  set_clock(steady_seconds());
  if (keep_) trace_.steps.push_back({clock(), clock(), iteration_, drain_});
}

void Recorder::end_step() {
  settle();
  if (keep_) trace_.steps.back().end = steady_seconds();
  sums_.communication = length_of_union(transfers_);
  times_ = sums_;
  announce(iteration_ + 1, 0);
}

void Recorder::settle() {
  if (!computing_) return;
  computing_ = false;
  double time = steady_seconds();
  sums_.compute += time - clock();
  set_clock(time);
}

void Recorder::note(SpanKind kind, std::uint32_t label, std::int64_t call, std::int64_t reads) {
  double time = steady_seconds();
  if (kind == SpanKind::kernel || kind == SpanKind::copy) sums_.compute += time - clock();
  if (kind == SpanKind::wait) sums_.exposed += time - clock();
  if (keep_) trace_.spans.push_back({kind, 0, label, iteration_, clock(), time, 0, call, reads});
  set_clock(time);
}

void Recorder::abandon(SpanKind kind, std::uint32_t label, std::int64_t call) {
  if (!keep_) return;
  double time = steady_seconds();
  trace_.spans.push_back({kind, 0, label, iteration_, clock(), time, 0, call, -1, true});
  trace_.steps.back().end = time;
}

void Recorder::tested(std::uint32_t label, std::int64_t call) {
  double time = steady_seconds();
  if (keep_ && time - clock() > worth_noting)
    trace_.spans.push_back({SpanKind::progress, 0, label, iteration_, clock(), time, 0, call, -1});
  set_clock(time);
}

void Recorder::transferred(std::uint32_t lane, std::uint32_t label, std::int64_t call, double begin,
                           double end, double bytes) {
  transfers_.emplace_back(begin, end);
  if (keep_)
    trace_.spans.push_back(
        {SpanKind::transfer, lane, label, iteration_, begin, end, bytes, call, -1});
}

void Recorder::count(CounterKind kind, std::int64_t value) {
  std::int64_t& last = counted_[static_cast<std::size_t>(kind)];
  if (!keep_ || last == value) return;
  last = value;
  trace_.counters.push_back({kind, clock(), value});
}

RankTrace Recorder::trace() const {
  RankTrace trace = trace_;
  trace.labels.assign(labels_.begin(), labels_.end());
  return trace;
}

}  // namespace hocket

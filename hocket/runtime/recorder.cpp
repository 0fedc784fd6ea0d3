#include "hocket/runtime/recorder.h"

#include <chrono>

namespace hocket {
namespace {

constexpr double worth_noting = 2e-6;  // seconds: shorter tests of transfers are not shown

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
  clock_ = now();
  if (keep_) trace_.steps.push_back({clock_, clock_, iteration_, drain_});
}

void Recorder::end_step() {
  settle();
  if (keep_) trace_.steps.back().end = now();
  sums_.communication = length_of_union(transfers_);
  times_ = sums_;
  announce(iteration_ + 1, 0);
}

void Recorder::settle() {
  if (!computing_) return;
  computing_ = false;
  double time = now();
  sums_.compute += time - clock_;
  clock_ = time;
}

void Recorder::note(SpanKind kind, std::uint32_t label, std::int64_t call, std::int64_t reads) {
  double time = now();
  if (kind == SpanKind::kernel || kind == SpanKind::copy) sums_.compute += time - clock_;
  if (kind == SpanKind::wait) sums_.exposed += time - clock_;
  if (keep_) trace_.spans.push_back({kind, 0, label, iteration_, clock_, time, 0, call, reads});
  clock_ = time;
}

void Recorder::tested(std::uint32_t label, std::int64_t call) {
  double time = now();
  if (keep_ && time - clock_ > worth_noting)
    trace_.spans.push_back({SpanKind::progress, 0, label, iteration_, clock_, time, 0, call, -1});
  clock_ = time;
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
  trace_.counters.push_back({kind, clock_, value});
}

RankTrace Recorder::trace() const {
  RankTrace trace = trace_;
  trace.labels.assign(labels_.begin(), labels_.end());
  return trace;
}

}  // namespace hocket

#include "hocket/report/perfetto.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "hocket/base/json_writer.h"

namespace hocket {
namespace {

// The thread that shows the iterations; the threads of the lanes follow.
constexpr std::int64_t steps_thread = 0;

constexpr double a_moment = 1e-9;  // seconds: the resolution of the file

std::int64_t thread_of(const Span& s) { return 1 + static_cast<std::int64_t>(s.lane); }

class Writer {
 public:
  explicit Writer(double origin) : origin_(origin) {
    json_.begin_object().key("traceEvents").begin_array();
  }

  void name(std::int64_t rank, std::string_view what, std::int64_t thread, std::string_view text) {
    json_.begin_object().field("ph", "M").field("name", what).field("pid", rank);
    json_.field("tid", thread).key("args").begin_object().field("name", text).end_object();
    json_.end_object();
    // Sorts the lanes by number instead of by name.
    if (what != "thread_name") return;
    json_.begin_object().field("ph", "M").field("name", "thread_sort_index").field("pid", rank);
    json_.field("tid", thread).key("args").begin_object().field("sort_index", thread).end_object();
    json_.end_object();
  }

  void slice(std::int64_t rank, const RankTrace& trace, const Span& s) {
    static constexpr std::string_view kinds[] = {"kernel",   "copy", "start",
                                                 "progress", "wait", "transfer"};
    const TraceLabel& label = trace.labels[s.label];
    begin_event("X", rank, thread_of(s), s.begin);
    std::string title = label.op;
    if (s.kind == SpanKind::copy) title = "copy for " + title;
    if (s.kind == SpanKind::start) title = "start " + title;
    if (s.kind == SpanKind::progress) title = "help " + title;
    if (s.unfinished) title += " (not finished)";
    json_.field("dur", micros(s.end - s.begin)).field("name", title);
    json_.field("cat", kinds[static_cast<std::size_t>(s.kind)]).key("args").begin_object();
    if (!label.name.empty()) json_.field("node", label.name);
    if (!label.path.empty()) json_.field("module", label.path);
    if (s.kind == SpanKind::transfer) json_.field("bytes", s.bytes);
    if (s.unfinished) json_.field("unfinished", true);
    json_.field("iteration", s.iteration).end_object().end_object();
  }

  void step(std::int64_t rank, const RankTrace::Step& s) {
    begin_event("X", rank, steps_thread, s.begin);
    std::string title =
        s.drain == 0 ? fmt::format("iteration {}", s.iteration) : fmt::format("drain {}", s.drain);
    json_.field("dur", micros(s.end - s.begin)).field("name", title);
    json_.field("cat", "iteration").end_object();
  }

  void counter(std::int64_t rank, const CounterChange& c) {
    static constexpr std::string_view names[] = {"live bytes", "bytes in flight"};
    begin_event("C", rank, steps_thread, c.time);
    json_.field("name", names[static_cast<std::size_t>(c.kind)]).key("args").begin_object();
    json_.field("bytes", c.value).end_object().end_object();
  }

  /// `phase`: s begins an arrow, t continues it, f ends it. It is attached to the slice that
  /// encloses it.
  void arrow(std::string_view phase, std::int64_t rank, std::int64_t id, const Span& s, double at) {
    begin_event(phase, rank, thread_of(s), at);
    json_.field("id", id).field("name", "transfer").field("cat", "flow");
    if (phase != "s") json_.field("bp", "e");
    json_.end_object();
  }

  std::string take() {
    return json_.end_array().field("displayTimeUnit", "ms").end_object().take() + "\n";
  }

 private:
  void begin_event(std::string_view phase, std::int64_t rank, std::int64_t thread, double at) {
    json_.begin_object().field("ph", phase).field("pid", rank).field("tid", thread);
    json_.field("ts", micros(at - origin_));
  }
  /// Rounded to nanoseconds.
  static double micros(double seconds) { return std::round(seconds * 1e9) / 1e3; }

  JsonWriter json_;
  double origin_;
};

/// The spans in which a transfer was started, carried, waited for and first read.
struct Journey {
  const Span *start = nullptr, *transfer = nullptr, *wait = nullptr, *reader = nullptr;
};

void draw_arrows(Writer& writer, std::int64_t rank, std::int64_t first_id, const RankTrace& trace) {
  std::vector<Journey> journeys;
  for (const Span& s : trace.spans) {
    auto set = [&](std::int64_t call, const Span* Journey::*place) {
      if (call < 0) return;
      if (std::ssize(journeys) <= call) journeys.resize(static_cast<std::size_t>(call) + 1);
      const Span*& first = journeys[static_cast<std::size_t>(call)].*place;
      first = first == nullptr ? &s : first;
    };
    if (s.kind == SpanKind::start) set(s.call, &Journey::start);
    if (s.kind == SpanKind::transfer) set(s.call, &Journey::transfer);
    if (s.kind == SpanKind::wait) set(s.call, &Journey::wait);
    set(s.reads, &Journey::reader);
  }
  for (std::size_t i = 0; i < journeys.size(); ++i) {
    const Journey& j = journeys[i];
    const Span* stops[] = {j.start, j.transfer, j.wait, j.reader};
    std::int64_t id = first_id + static_cast<std::int64_t>(i);
    const Span* last = nullptr;
    for (const Span* s : stops) last = s != nullptr ? s : last;
    if (j.start == nullptr || last == j.start) continue;
    // A transfer can begin while its start still runs, or after its wait has begun; but viewers
    // need each stop to be later than the one before.
    double at = j.start->begin;
    for (const Span* s : stops) {
      if (s == nullptr) continue;
      if (s != j.start) at = std::max(s->begin, std::min(at + a_moment, s->end));
      writer.arrow(s == j.start ? "s" : s == last ? "f" : "t", rank, id, *s, at);
    }
  }
}

}  // namespace

std::string to_perfetto(const Trace& trace) {
  double origin = std::numeric_limits<double>::infinity();
  for (const RankTrace& r : trace.ranks)
    if (!r.steps.empty()) origin = std::min(origin, r.steps[0].begin);
  Writer writer(std::isfinite(origin) ? origin : 0);
  std::int64_t first_id = 0;
  for (const RankTrace& mine : trace.ranks) {
    std::int64_t rank = mine.rank;
    writer.name(rank, "process_name", steps_thread, fmt::format("rank {}", rank));
    writer.name(rank, "thread_name", steps_thread, "iterations");
    for (std::size_t i = 0; i < mine.lanes.size(); ++i)
      writer.name(rank, "thread_name", 1 + static_cast<std::int64_t>(i),
                  i == 0 ? mine.lanes[i] : fmt::format("group {}", mine.lanes[i]));
    for (const RankTrace::Step& s : mine.steps) writer.step(rank, s);
    for (const CounterChange& c : mine.counters) writer.counter(rank, c);
    std::int64_t calls = 0;
    for (const Span& s : mine.spans) {
      writer.slice(rank, mine, s);
      calls = std::max(calls, s.call + 1);
    }
    draw_arrows(writer, rank, first_id, mine);
    first_id += calls;
  }
  return writer.take();
}

}  // namespace hocket

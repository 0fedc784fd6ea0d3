// The bytes of one graph, in runs of any length. A run is followed phase by phase until what the
// bytes hold at a boundary repeats:
//
//     prologue 0 .. depth-1, steady, steady, ...      a drain behind each of them

#include <algorithm>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/check/bytes.h"
#include "hocket/iter/lags.h"
#include "hocket/plan/plan_text.h"

namespace hocket::check {
namespace {

/// Where a transfer was started; no instruction where it is not in flight.
struct Started {
  static constexpr std::size_t nowhere = SIZE_MAX;
  std::size_t phase = 0, instruction = nowhere;
  bool in_flight() const { return instruction != nowhere; }
  friend bool operator==(Started, Started) = default;
};

/// What a phase begins with.
struct Boundary {
  WrittenBytes bytes;
  std::vector<Started> carried;  // by transfer
  friend bool operator==(const Boundary&, const Boundary&) = default;
};

using Finding = std::optional<Refutation>;

/// One phase from one boundary to the next.
class PhaseWalk {
 public:
  PhaseWalk(const Plan& plan, std::size_t graph, std::size_t phase, Boundary& boundary)
      : plan_(plan),
        graph_(graph),
        number_(phase),
        phase_(plan.graphs[graph].phases[phase]),
        bytes_(boundary.bytes),
        boundary_(boundary),
        started_(boundary.carried) {
    started_.resize(std::max<std::size_t>(phase_.transfers, started_.size()));
    for (const Started& s : started_) set_in_flight(s, true);
  }

  Finding walk() {
    for (std::size_t n = 0; n < phase_.instructions.size(); ++n)
      if (Finding f = step(n)) return f;
    for (std::size_t t = boundary_.carried.size(); t < started_.size(); ++t)
      if (started_[t].in_flight())
        return refuse("waits", "nobody waits for it", started_[t].instruction);
    std::copy_n(started_.begin(), boundary_.carried.size(), boundary_.carried.begin());
    return homes();
  }

 private:
  Refutation refuse(std::string_view rule, const std::string& what, std::size_t n) const {
    Place place{graph_, number_, n};
    std::string where = graph_text(plan_, graph_);
    return {rule, fmt::format("{}, {}: {}", where, text_of(plan_, place), what), {}};
  }

  std::span<const Location> results(const Started& s) const {
    const PlanPhase& phase = plan_.graphs[graph_].phases[s.phase];
    const Instruction& i = phase.instructions[s.instruction];
    return written_by(i, phase.results(i));
  }
  std::span<const Location> operands(const Started& s) const {
    const PlanPhase& phase = plan_.graphs[graph_].phases[s.phase];
    return phase.operands(phase.instructions[s.instruction]);
  }

  /// What a start writes: the result of a send is its operand.
  static std::span<const Location> written_by(const Instruction& i, std::span<const Location> all) {
    bool sends = i.kind == InstructionKind::start && i.op->collective->kind == CollectiveKind::send;
    return sends ? std::span<const Location>() : all;
  }

  /// A transfer writes its results and reads its operands at any time.
  void set_in_flight(const Started& s, bool on) {
    if (!s.in_flight()) return;
    auto change = [&](CountedRanges& ranges, Range r) { on ? ranges.add(r) : ranges.remove(r); };
    for (const Location& l : results(s)) change(written_, range_of(plan_, l));
    for (const Location& l : operands(s)) change(read_, range_of(plan_, l));
  }

  Finding step(std::size_t n) {
    const Instruction& i = phase_.instructions[n];
    if (i.kind == InstructionKind::wait) return wait(n);
    for (const Location& l : phase_.operands(i))
      if (Finding f = read(n, range_of(plan_, l))) return f;
    if (i.workspace_bytes > 0) {
      Range r{i.workspace, i.workspace + i.workspace_bytes};
      if (Finding f = require_free(n, r)) return f;
      bytes_.forget(r);
    }
    for (const Location& l : written_by(i, phase_.results(i))) {
      Range r = range_of(plan_, l);
      if (Finding f = require_free(n, r)) return f;
      if (i.kind == InstructionKind::start)
        bytes_.forget(r);  // until its wait
      else
        bytes_.write(r);
    }
    return i.kind == InstructionKind::start ? start(n) : std::nullopt;
  }

  Finding read(std::size_t n, Range r) const {
    if (written_.meet(r)) return touches(n, r, "reads bytes that a transfer in flight writes");
    switch (bytes_.read(r)) {
      case WrittenBytes::Finding::whole:
        return std::nullopt;
      case WrittenBytes::Finding::undefined:
        return refuse(
            "written",
            fmt::format("reads bytes {} to {}, not all of which are written", r.begin, r.end - 1),
            n);
      case WrittenBytes::Finding::torn:
        break;
    }
    Refutation f = refuse(
        "torn",
        fmt::format("reads bytes {} to {}, of which some were overwritten", r.begin, r.end - 1), n);
    add_writers(f, n, r);
    return f;
  }

  Finding require_free(std::size_t n, Range r) const {
    if (written_.meet(r)) return touches(n, r, "writes bytes that a transfer in flight writes");
    if (read_.meet(r)) return touches(n, r, "writes bytes that a transfer in flight reads");
    return std::nullopt;
  }

  /// The transfer is looked for only now.
  Refutation touches(std::size_t n, Range r, std::string_view what) const {
    Refutation f = refuse("in-flight", std::string(what), n);
    for (const Started& s : started_) {
      if (!s.in_flight()) continue;
      auto meets = [&](const Location& l) { return range_of(plan_, l).overlaps(r); };
      if (std::ranges::any_of(results(s), meets) || std::ranges::any_of(operands(s), meets))
        f.example.push_back(text_of(plan_, {graph_, s.phase, s.instruction}));
    }
    f.example.push_back(text_of(plan_, {graph_, number_, n}));
    return f;
  }

  /// The last instructions of this phase that have written to the bytes.
  void add_writers(Refutation& f, std::size_t n, Range r) const {
    constexpr std::size_t most = 2;
    for (std::size_t k = n; k-- > 0 && f.example.size() < most;) {
      const Instruction& i = phase_.instructions[k];
      Range space{i.workspace, i.workspace + i.workspace_bytes};
      auto meets = [&](const Location& l) { return range_of(plan_, l).overlaps(r); };
      if (std::ranges::any_of(phase_.results(i), meets) || space.overlaps(r))
        f.example.insert(f.example.begin(), text_of(plan_, {graph_, number_, k}));
    }
    if (n < phase_.instructions.size()) f.example.push_back(text_of(plan_, {graph_, number_, n}));
  }

  Finding start(std::size_t n) {
    Started& s = started_[phase_.instructions[n].index];
    if (s.in_flight()) {
      Refutation f = refuse("waits", "the transfer is still in flight", n);
      f.example = {text_of(plan_, {graph_, s.phase, s.instruction}),
                   text_of(plan_, {graph_, number_, n})};
      return f;
    }
    s = {number_, n};
    set_in_flight(s, true);
    return std::nullopt;
  }

  Finding wait(std::size_t n) {
    const Instruction& i = phase_.instructions[n];
    Started& s = started_[i.index];
    if (!s.in_flight()) return refuse("waits", "the transfer is not in flight", n);
    set_in_flight(s, false);
    for (const Location& l : results(s)) bytes_.write(range_of(plan_, l));
    s = {};
    for (const Location& l : phase_.results(i))  // it shows them
      if (Finding f = read(n, range_of(plan_, l))) return f;
    return std::nullopt;
  }

  /// State is in place at the end of a phase, or in flight.
  Finding homes() const {
    const Graph& body = plan_.program.graphs[graph_];
    for (const Home& home : plan_.graphs[graph_].homes) {
      Range r = range_of(plan_, home.location);
      if (home.kind == HomeKind::state &&
          (is_forwarded(body, body.inputs()[home.input].value) || written_.meet(r)))
        continue;
      if (bytes_.read(r) == WrittenBytes::Finding::whole) continue;
      std::string name = home_text(plan_, graph_, home);
      Refutation f{"homes",
                   fmt::format("{}, {}: {} is not in place at the end", graph_text(plan_, graph_),
                               window_name(plan_.shape, phase_.window), name),
                   {}};
      add_writers(f, phase_.instructions.size(), r);
      return f;
    }
    return std::nullopt;
  }

  const Plan& plan_;
  std::size_t graph_, number_;
  const PlanPhase& phase_;
  WrittenBytes& bytes_;
  Boundary& boundary_;
  std::vector<Started> started_;  // by transfer
  CountedRanges written_, read_;  // by transfers in flight
};

/// Follows runs of all lengths.
class RunWalk {
 public:
  RunWalk(const Plan& plan, std::size_t graph)
      : plan_(plan), graph_(graph), kept_(kept_ranges(plan, graph)) {}

  Finding walk() {
    Boundary now = begin();
    LoopShape shape = plan_.shape;
    std::vector<Boundary> seen;  // when all iterations before the steady phase have run, and later
    if (shape.depth == 0) seen.push_back(now);
    // What is written only grows from turn to turn, and few things can.
    constexpr int most_turns = 8;
    for (int t = 0; t < shape.depth + most_turns * shape.turns; ++t) {
      if (Finding f = run(step_window(shape, t), now)) return f;
      Boundary drained = now;
      for (int j = 1; j <= shape.depth; ++j)
        if (Window w = drain_window(shape, t + 1, j); w.lo <= w.hi)
          if (Finding f = run(w, drained)) return f;
      if (Finding f = ended(drained, t + 1)) return f;
      if (t + 1 < shape.depth) continue;
      auto turn = static_cast<std::size_t>(t + 1 - shape.depth);
      if (turn >= static_cast<std::size_t>(shape.turns) &&
          seen[turn - static_cast<std::size_t>(shape.turns)] == now)
        return std::nullopt;
      seen.push_back(now);
    }
    return Refutation{
        "written", graph_text(plan_, graph_) + ": bytes at the end of a turn never repeat", {}};
  }

 private:
  Boundary begin() const {
    const PlanGraph& g = plan_.graphs[graph_];
    const Graph& body = plan_.program.graphs[graph_];
    Boundary b;
    b.carried.resize(g.carried_transfers);
    for (const Home& home : g.homes)
      if (home.kind == HomeKind::constant || !is_forwarded(body, body.inputs()[home.input].value))
        b.bytes.write(range_of(plan_, home.location));
    return b;
  }

  /// Runs that come to a phase with the same bytes go on equally.
  Finding run(Window window, Boundary& now) {
    std::size_t phase = plan_.phase_index(window);
    for (const auto& [known, before, after] : runs_)
      if (known == phase && before == now) {
        now = after;
        return std::nullopt;
      }
    Boundary before = now;
    if (Finding f = PhaseWalk(plan_, graph_, phase, now).walk()) return f;
    now.bytes.keep_only(kept_);
    runs_.emplace_back(phase, std::move(before), now);
    return std::nullopt;
  }

  Finding ended(const Boundary& b, int steps) const {
    for (const Started& s : b.carried)
      if (s.in_flight())
        return Refutation{
            "waits",
            fmt::format("{}, {}: in flight when a run of {} has ended", graph_text(plan_, graph_),
                        text_of(plan_, {graph_, s.phase, s.instruction}),
                        count_of(steps, "iteration")),
            {}};
    return std::nullopt;
  }

  const Plan& plan_;
  std::size_t graph_;
  std::vector<Range> kept_;  // from phase to phase; disjoint and ascending
  std::vector<std::tuple<std::size_t, Boundary, Boundary>> runs_;  // phase, before, after
};

}  // namespace

std::vector<Range> kept_ranges(const Plan& plan, std::size_t graph) {
  const PlanGraph& g = plan.graphs[graph];
  std::vector<Range> all, joined;
  for (const Home& home : g.homes) all.push_back(range_of(plan, home.location));
  for (const PlanPhase& phase : g.phases)
    for (const Instruction& i : phase.instructions)
      if (i.kind == InstructionKind::start && i.index < g.carried_transfers)
        for (auto list : {phase.operands(i), phase.results(i)})
          for (const Location& l : list) all.push_back(range_of(plan, l));
  std::ranges::sort(all, {}, &Range::begin);
  for (Range r : all)
    if (joined.empty() || joined.back().end < r.begin)
      joined.push_back(r);
    else
      joined.back().end = std::max(joined.back().end, r.end);
  return joined;
}

Finding find_in_memory(const Plan& plan, std::size_t graph) {
  if (plan.graphs[graph].phases.empty()) return std::nullopt;
  return RunWalk(plan, graph).walk();
}

}  // namespace hocket::check

#include "hocket/iter/seams.h"

#include <algorithm>
#include <set>

#include "hocket/base/error.h"
#include "hocket/ir/collective_matching.h"
#include "hocket/iter/lags.h"

namespace hocket {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Forwarded values between two phases, by name.
class Table {
 public:
  explicit Table(const Names& read_by_any) : read_by_any_(read_by_any) {}

  void pass(const RunPhase& phase) {
    for (const Seam::Slot& slot : phase.seam->forwarded) {
      auto held = values_.find(slot.name);
      if (slot.read && held == values_.end())
        fail("{}: reads %{}, which no phase before it has written", phase.name, slot.name);
      if (slot.read && held->second != slot.type)
        fail("{}: reads %{} as {}, it was written as {}", phase.name, slot.name, to_text(slot.type),
             to_text(held->second));
      if (!slot.read && held != values_.end() && read_by_any_.contains(slot.name))
        fail("{}: overwrites %{}, which nobody has read yet", phase.name, slot.name);
      if (slot.written)
        values_.insert_or_assign(slot.name, *slot.written);
      else
        values_.erase(slot.name);
    }
  }

  void end() const {
    for (const auto& entry : values_)
      if (read_by_any_.contains(entry.first))
        fail("%{}: left over when the loop has been drained", entry.first);
  }

 private:
  const Names& read_by_any_;
  std::map<std::string, Type> values_;
};

/// Checks all runs that are too short for a steady phase, and longer runs that end at each turn.
void check_runs(const Graph& body, LoopShape shape) {
  const Lags lags(body);
  std::map<Window, Seam> seams;
  auto seam = [&](Window w) {
    auto it = seams.find(w);
    if (it == seams.end()) it = seams.emplace(w, seam_of(phase(body, lags, w))).first;
    return &it->second;
  };
  for (int steps = 1; steps <= shape.depth + shape.turns; ++steps) {
    std::vector<RunPhase> run;
    for (int t = 0; t < steps; ++t)
      run.push_back({fmt::format("{} {}", t < shape.depth ? "prologue" : "steady", t),
                     seam(step_window(shape, t))});
    for (int j = 1; j <= shape.depth; ++j)
      if (Window w = drain_window(shape, steps, j); w.lo <= w.hi)
        run.push_back({fmt::format("drain {}", j), seam(w)});
    check_run(run);
  }
}

/// Ranks with different graphs must start a collective in the same kernel iteration.
void check_matching(const Program& program) {
  const CollectiveMatching matching(program);
  std::vector<const CallSite*> first(matching.count);
  for (const CallSite& c : matching.calls) {
    if (first[c.match] == nullptr) first[c.match] = &c;
    const Graph &g = program.graphs[c.graph], &other = program.graphs[first[c.match]->graph];
    NodeId met = first[c.match]->node;
    if (g[c.node].delay != other[met].delay)
      throw LoopError(
          g, c.node,
          fmt::format(
              "graph {}: {} has delay {}, but {} of graph {}, on channel {} as well, has {}",
              g.name(), g.describe(c.node), g[c.node].delay, other.describe(met), other.name(),
              g[c.node].attr<std::int64_t>("channel"), other[met].delay));
  }
}

/// Runs a check of a rotated program and turns the error that it throws into a violation.
template <class Check>
std::optional<ProgramViolation> violation_of(const Program& program, Check check) {
  if (std::ranges::none_of(program.graphs, is_rotated)) return std::nullopt;
  try {
    check();
  } catch (const LoopError& e) {
    return ProgramViolation{static_cast<std::size_t>(e.graph - program.graphs.data()), e.node,
                            e.what()};
  } catch (const Error& e) {
    return ProgramViolation{0, {}, fmt::format("{} [loop]", e.what())};
  }
  return std::nullopt;
}

}  // namespace

Seam seam_of(const Graph& phase) {
  Seam seam;
  for (const Input& in : phase.inputs()) {
    const Type& type = phase.type(in.value);
    if (is_forwarded(phase, in.value)) {
      Seam::Slot& slot = seam.forwarded.emplace_back(
          Seam::Slot{phase.name(in.value), type, !phase.uses(in.value).empty()});
      if (Value next = phase.next(in.value)) slot.written = phase.type(next);
    } else if (in.state) {
      seam.state.emplace(phase.name(in.value), type);
    }
  }
  return seam;
}

void check_run(std::span<const RunPhase> run) {
  Names read_by_any;
  for (const RunPhase& phase : run) {
    if (phase.seam->state != run[0].seam->state)
      fail("{}: its state is not that of {}", phase.name, run[0].name);
    for (const Seam::Slot& slot : phase.seam->forwarded)
      if (slot.read) read_by_any.insert(slot.name);
  }
  Table table(read_by_any);
  for (const RunPhase& phase : run) table.pass(phase);
  table.end();
}

void check_seams(const Graph& body) { check_runs(body, loop_shape(body)); }

void check_seams(const Program& program) {
  LoopShape shape = loop_shape(program);
  check_matching(program);
  for (const Graph& g : program.graphs) check_runs(g, shape);
}

std::optional<ProgramViolation> find_lag_violation(const Program& program) {
  return violation_of(program, [&] {
    loop_shape(program);
    check_matching(program);
  });
}

std::optional<ProgramViolation> find_loop_violation(const Program& program) {
  return violation_of(program, [&] { check_seams(program); });
}

}  // namespace hocket

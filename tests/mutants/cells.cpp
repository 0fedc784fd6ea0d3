#include "cells.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/hash.h"
#include "hocket/iter/lags.h"

namespace hocket::testing {
namespace {

struct Bytes {
  std::int64_t begin = 0, end = 0;
};

Bytes bytes_of_location(const Plan& plan, const Location& l) {
  auto [low, high] = plan.layouts[l.layout].bounds();
  std::int64_t size = bytes(plan.types[l.type].dtype);
  return {l.offset + low * size, l.offset + (high + 1) * size};
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 1;
  for (char c : text) h = mixed(h ^ static_cast<unsigned char>(c)) + 1;
  return h;
}

std::uint64_t salt_of(const Plan& plan, const PlanPhase& phase, const Instruction& i) {
  std::string text = fmt::format("{} {}", static_cast<int>(i.kind), i.index);
  if (i.op != nullptr) {
    text = fmt::format("{} {}", static_cast<int>(i.kind), i.op->name);
    for (const Attribute& a : i.attributes.values()) append(text += ' ', a);
  }
  for (const auto& list : {phase.operands(i), phase.results(i)})
    for (const Location& l : list)
      text += fmt::format(" {} {}", to_text(plan.types[l.type]), to_text(plan.layouts[l.layout]));
  return hash_of(text);
}

/// Finds the cells of one graph.
class CellMap {
 public:
  CellMap(const Plan& plan, const PlanGraph& graph) : plan_(plan) {
    auto add = [&](Bytes b) {
      if (b.begin >= b.end) return;
      edges_.push_back(b.begin);
      edges_.push_back(b.end);
    };
    for (const Home& home : graph.homes) add(bytes_of_location(plan, home.location));
    for (const PlanPhase& phase : graph.phases)
      for (const Instruction& i : phase.instructions) {
        for (const auto& list : {phase.operands(i), phase.results(i)})
          for (const Location& l : list) add(bytes_of_location(plan, l));
        if (i.workspace_bytes > 0) add({i.workspace, i.workspace + i.workspace_bytes});
      }
    std::ranges::sort(edges_);
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }

  std::uint32_t size() const {
    return edges_.empty() ? 0 : static_cast<std::uint32_t>(edges_.size() - 1);
  }
  Cells of(Bytes b) const {
    if (b.begin >= b.end) return {};
    auto index = [&](std::int64_t edge) {
      return static_cast<std::uint32_t>(std::ranges::lower_bound(edges_, edge) - edges_.begin());
    };
    return {index(b.begin), index(b.end)};
  }
  Cells of(const Location& l) const { return of(bytes_of_location(plan_, l)); }
  std::vector<Cells> of(std::span<const Location> list) const {
    std::vector<Cells> all;
    for (const Location& l : list)
      if (Cells c = of(l); !c.empty()) all.push_back(c);
    return all;
  }

 private:
  const Plan& plan_;
  std::vector<std::int64_t> edges_;
};

/// Why a location is not where it may be; empty if it is.
std::string misplaced(const Plan& plan, const PlanGraph& graph, const Location& l,
                      std::int64_t unit) {
  Bytes b = bytes_of_location(plan, l);
  if (l.offset < 0 || l.offset > graph.arena_bytes ||
      (b.begin < b.end && (b.begin < 0 || b.end > graph.arena_bytes)))
    return fmt::format("arena: @{}", l.offset);
  unit = std::max(unit, bytes(plan.types[l.type].dtype));
  return l.offset % unit == 0 ? "" : fmt::format("alignment: @{}", l.offset);
}

std::string find_misplaced(const Plan& plan, const PlanGraph& graph) {
  std::string found;
  auto check = [&](const Location& l, std::int64_t unit) {
    if (found.empty()) found = misplaced(plan, graph, l, unit);
  };
  for (const Home& home : graph.homes) check(home.location, 64);
  for (const PlanPhase& phase : graph.phases)
    for (const Instruction& i : phase.instructions) {
      bool member = i.kind == InstructionKind::start || i.kind == InstructionKind::wait;
      for (const auto& list : {phase.operands(i), phase.results(i)})
        for (const Location& l : list)
          if (i.kind != InstructionKind::wait) check(l, member ? 64 : 1);
      if (i.workspace_bytes > 0 && found.empty() &&
          (i.workspace % 64 != 0 || i.workspace < 0 ||
           i.workspace + i.workspace_bytes > graph.arena_bytes))
        found = fmt::format("workspace: @{}", i.workspace);
    }
  return found;
}

bool is_send(const Instruction& i) { return i.op->collective->kind == CollectiveKind::send; }

Action action_of(const Plan& plan, const CellMap& map, const PlanPhase& phase,
                 const Instruction& i) {
  Action a{.kind = i.kind,
           .salt = salt_of(plan, phase, i),
           .transfer = i.index,
           .phase = &phase,
           .instruction = &i};
  if (a.is_wait()) return a;  // its results are those of the start
  a.reads = map.of(phase.operands(i));
  if (!a.is_start() || !is_send(i)) a.writes = map.of(phase.results(i));
  if (i.kind == InstructionKind::kernel && i.workspace_bytes > 0)
    a.scratch = map.of(Bytes{i.workspace, i.workspace + i.workspace_bytes});
  return a;
}

}  // namespace

CellGraph cells_of(const Plan& plan, std::size_t number) {
  const PlanGraph& graph = plan.graphs[number];
  const Graph& body = plan.program.graphs[number];
  CellGraph out;
  out.misplaced = find_misplaced(plan, graph);
  if (!out.misplaced.empty()) return out;
  CellMap map(plan, graph);
  out.cells = map.size();
  out.kept.resize(out.cells);
  out.carried = graph.carried_transfers;
  auto keep = [&](Cells c) {
    std::fill(out.kept.begin() + c.begin, out.kept.begin() + c.end, true);
  };
  for (const Home& home : graph.homes) {
    CellHome h{map.of(home.location)};
    h.is_state =
        home.kind == HomeKind::state && !is_forwarded(body, body.inputs()[home.input].value);
    h.written_before = h.is_state || home.kind == HomeKind::constant;
    out.homes.push_back(h);
    keep(h.cells);
  }
  for (const PlanPhase& phase : graph.phases) {
    std::vector<Action>& actions = out.phases.emplace_back();
    for (const Instruction& i : phase.instructions) {
      actions.push_back(action_of(plan, map, phase, i));
      if (actions.back().is_start() && i.index < graph.carried_transfers)
        for (const auto& list : {actions.back().reads, actions.back().writes})
          for (Cells c : list) keep(c);
    }
  }
  return out;
}

namespace {

/// Walks the phases of one rank in order.
class LocalWalk {
 public:
  explicit LocalWalk(const CellGraph& graph) : graph_(graph), writer_(graph.cells) {
    for (const CellHome& home : graph.homes)
      if (home.written_before) write(home.cells);
  }

  std::string walk(const std::vector<std::size_t>& phases) {
    for (std::size_t p : phases) {
      begin_phase();
      for (const Action& a : graph_.phases[p]) {
        step(a);
        if (!harm_.empty()) return harm_;
      }
      end_phase();
      if (!harm_.empty()) return harm_;
    }
    if (!in_flight_.empty())
      return fmt::format("wait: transfer {} is in flight at the end", in_flight_[0]->transfer);
    return "";
  }

 private:
  struct Write {
    Cells cells;
  };

  void fail(std::string harm) {
    if (harm_.empty()) harm_ = std::move(harm);
  }

  // A cell holds the number of the write that made it what it is; 0: undefined.
  void write(Cells cells) {
    writes_.push_back({cells});
    for (std::uint32_t c = cells.begin; c < cells.end; ++c)
      writer_[c] = static_cast<std::uint32_t>(writes_.size());
  }
  void forget(Cells cells) {
    for (std::uint32_t c = cells.begin; c < cells.end; ++c) writer_[c] = 0;
  }

  std::string broken(Cells range) const {
    for (std::uint32_t c = range.begin; c < range.end; ++c) {
      if (writer_[c] == 0) return "undefined";
      Cells whole = writes_[writer_[c] - 1].cells;
      for (std::uint32_t d = std::max(whole.begin, range.begin); d < std::min(whole.end, range.end);
           ++d)
        if (writer_[d] != writer_[c]) return "torn";
    }
    return "";
  }
  void read(Cells range) {
    if (std::string what = broken(range); !what.empty())
      fail(fmt::format("{}: cells {} to {} are read", what, range.begin, range.end));
  }

  /// No transfer in flight may write what is read, or use what is written.
  void touch(Cells range, bool writes) {
    for (const Action* t : in_flight_) {
      for (Cells c : t->writes)
        if (c.overlaps(range))
          fail(fmt::format("in-flight: touches what transfer {} writes", t->transfer));
      if (!writes) continue;
      for (Cells c : t->reads)
        if (c.overlaps(range))
          fail(fmt::format("in-flight: writes what transfer {} reads", t->transfer));
    }
  }

  void step(const Action& a) {
    if (a.is_wait()) return wait(a);
    for (Cells c : a.reads) touch(c, false);
    for (Cells c : a.writes) touch(c, true);
    touch(a.scratch, true);
    for (Cells c : a.reads) read(c);
    if (!harm_.empty()) return;
    if (a.is_start()) return start(a);
    forget(a.scratch);
    for (Cells c : a.writes) write(c);
  }

  void start(const Action& a) {
    for (const Action* t : in_flight_)
      if (t->transfer == a.transfer)
        return fail(fmt::format("wait: transfer {} is started again", a.transfer));
    in_flight_.push_back(&a);
    for (Cells c : a.writes) forget(c);
  }

  void wait(const Action& a) {
    auto t = std::ranges::find(in_flight_, a.transfer, [](const Action* x) { return x->transfer; });
    if (t == in_flight_.end())
      return fail(fmt::format("wait: transfer {} is not in flight", a.transfer));
    for (Cells c : (*t)->writes) write(c);
    in_flight_.erase(t);
  }

  void begin_phase() {
    for (std::uint32_t c = 0; c < graph_.cells; ++c)
      if (!graph_.kept[c]) writer_[c] = 0;
  }

  void end_phase() {
    for (const Action* t : in_flight_)
      if (t->transfer >= graph_.carried)
        fail(fmt::format("wait: transfer {} outlives its phase", t->transfer));
    for (const CellHome& home : graph_.homes) {
      if (!home.is_state) continue;
      bool arriving = false;
      for (const Action* t : in_flight_)
        for (Cells c : t->writes) arriving = arriving || c.overlaps(home.cells);
      if (std::string what = arriving ? "" : broken(home.cells); !what.empty())
        fail(fmt::format("home: {} when a phase ends", what));
    }
  }

  const CellGraph& graph_;
  std::vector<std::uint32_t> writer_;
  std::vector<Write> writes_;
  std::vector<const Action*> in_flight_;
  std::string harm_;
};

}  // namespace

std::string local_harm(const CellGraph& graph, const std::vector<std::size_t>& phases) {
  return LocalWalk(graph).walk(phases);
}

}  // namespace hocket::testing

#include "hocket/check/plan_run.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "hocket/base/error.h"
#include "hocket/iter/lags.h"
#include "hocket/plan/plan_text.h"

namespace hocket::check {
namespace {

/// Element i of the result is what lies at place i, for a value that lies so.
Layout inverse(const Layout& dense) {
  std::vector<Layout::Axis> axes(dense.axes().begin(), dense.axes().end());
  std::vector<std::pair<Layout::Axis, std::int64_t>> weighted;  // with the weight of its digit
  std::int64_t weight = 1;
  for (std::size_t k = axes.size(); k-- > 0; weight *= axes[k].size)
    weighted.emplace_back(axes[k], weight);
  std::ranges::stable_sort(weighted, std::greater<>{},
                           [](const auto& w) { return w.first.stride; });
  std::vector<Layout::Axis> out;
  for (const auto& [axis, own] : weighted) out.push_back({axis.size, own});
  return Layout(out);
}

/// Why a value cannot be followed.
struct Lost {
  std::string message;
};

}  // namespace

// ---- memory

void Memory::forget(Range r) {
  if (r.empty()) return;
  auto it = held_.lower_bound(r.begin);
  if (it != held_.begin()) {
    auto before = std::prev(it);
    if (before->second.end > r.begin) {
      Held rest = before->second;
      before->second.end = r.begin;
      if (rest.end > r.end) {
        held_.emplace_hint(it, r.end, std::move(rest));
        return;
      }
    }
  }
  while (it != held_.end() && it->first < r.end) {
    if (it->second.end <= r.end) {
      it = held_.erase(it);
      continue;
    }
    Held rest = std::move(it->second);
    held_.erase(it);
    held_.emplace(r.end, std::move(rest));
    return;
  }
}

void Memory::write(Range r, DType dtype, Elements value) {
  if (r.empty()) return;
  if (auto it = held_.find(r.begin); it != held_.end() && it->second.end == r.end) {
    it->second = {r.end, r, dtype, std::move(value)};
    return;
  }
  forget(r);
  held_[r.begin] = {r.end, r, dtype, std::move(value)};
}

std::optional<Elements> Memory::read(Values& values, Range r, DType dtype) const {
  int width = bytes(dtype);
  if (r.empty()) return Elements();
  auto it = held_.upper_bound(r.begin);
  if (it == held_.begin()) return std::nullopt;
  --it;
  if (it->first == r.begin && it->second.end == r.end && it->second.whole == r &&
      it->second.dtype == dtype)
    return it->second.value;
  Elements all;
  for (std::int64_t at = r.begin; at < r.end; ++it) {
    if (it == held_.end() || it->first > at || it->second.end <= at || it->second.dtype != dtype)
      return std::nullopt;
    const Held& h = it->second;
    std::int64_t end = std::min(h.end, r.end);
    if ((at - h.whole.begin) % width != 0 || (end - at) % width != 0) return std::nullopt;
    values.append(all, values.range(h.value, (at - h.whole.begin) / width, (end - at) / width));
    at = end;
  }
  return all;
}

void Memory::keep_only(std::span<const Range> ranges) {
  std::int64_t from = 0;
  for (Range r : ranges) {
    forget({from, r.begin});
    from = r.end;
  }
  if (!held_.empty()) forget({from, std::max(from, held_.rbegin()->second.end)});
}

// ---- runs

SourceInputs source_inputs(const Plan& plan) {
  SourceInputs all;
  for (std::size_t g = 0; g < plan.program.graphs.size(); ++g) {
    const Graph &now = plan.program.graphs[g], &before = plan.exact().graphs.at(g);
    std::unordered_map<std::uint32_t, std::size_t> places;  // by value
    for (std::size_t i = 0; i < before.inputs().size(); ++i)
      places.emplace(before.inputs()[i].value.index, i);
    auto& list = all.emplace_back();
    for (const Input& in : now.inputs()) {
      auto found = places.find(before.find(now.name(in.value)).index);
      list.push_back(found == places.end() ? no_input : found->second);
    }
  }
  return all;
}

/// The ranks of a graph in one kernel iteration.
struct PlanRun::Walk {
  std::size_t graph, phase_number;
  const PlanGraph& plan;
  const PlanPhase& phase;
  Arena& arena;
  std::int64_t batch, run;
  std::vector<Transfer> transfers;  // by number
  std::size_t at = 0;
  bool blocked = false;
};

PlanRun::PlanRun(const Plan& plan, const SourceInputs& inputs, Evaluator& evaluator,
                 Exchange& exchange, Makers& makers)
    : plan_(&plan),
      inputs_(&inputs),
      e_(&evaluator),
      exchange_(&exchange),
      makers_(&makers),
      arenas_(plan.graphs.size()) {
  for (std::size_t g = 0; g < plan.graphs.size(); ++g) {
    arenas_[g].transfers.resize(plan.graphs[g].carried_transfers);
    kept_.push_back(kept_ranges(plan, g));
  }
}

Elements PlanRun::read(Walk& w, const Location& l) {
  const Type& type = plan_->types[l.type];
  const Layout& layout = plan_->layouts[l.layout];
  auto width = static_cast<int>(bytes(type.dtype));
  Range r = range_of(*plan_, l);
  auto held = w.arena.memory.read(e_->values, r, type.dtype);
  if (!held) {
    Place place{w.graph, w.phase_number, w.at};
    throw Lost{fmt::format("{}: reads @{}, where no value of its type lies", text_of(*plan_, place),
                           l.offset)};
  }
  if (layout.is_row_major()) return std::move(*held);
  return e_->values.view(*held, (l.offset - r.begin) / width, layout);
}

void PlanRun::write(Walk& w, const Location& l, const Elements& value) {
  const Type& type = plan_->types[l.type];
  const Layout& layout = plan_->layouts[l.layout];
  Elements lies = layout.is_row_major() ? value : e_->values.view(value, 0, inverse(layout));
  w.arena.memory.write(range_of(*plan_, l), type.dtype, std::move(lies));
}

void PlanRun::load(const States& state) {
  for (std::size_t g = 0; g < plan_->graphs.size(); ++g) {
    const Graph& body = plan_->program.graphs[g];
    for (const Home& home : plan_->graphs[g].homes) {
      const Type& type = plan_->types[home.location.type];
      Range r = range_of(*plan_, home.location);
      Elements value;
      if (home.kind == HomeKind::constant) {
        value = e_->constant(home.constant, type);
      } else if (!is_forwarded(body, body.inputs()[home.input].value)) {
        value = state[g][home.input];
      } else {
        continue;
      }
      if (elements_in(value) != type.elements()) continue;  // nothing that can be read
      const Layout& layout = plan_->layouts[home.location.layout];
      if (!layout.is_row_major()) value = e_->values.view(value, 0, inverse(layout));
      arenas_[g].memory.write(r, type.dtype, std::move(value));
    }
  }
}

std::optional<std::string> PlanRun::step(Window window, std::int64_t batch, std::int64_t run,
                                         const Sink& output) {
  std::size_t number = plan_->phase_index(window);
  std::vector<Walk> walks;
  for (std::size_t g = 0; g < plan_->graphs.size(); ++g) {
    const PlanGraph& plan = plan_->graphs[g];
    const PlanPhase& phase = plan.phases[number];
    walks.push_back({g, number, plan, phase, arenas_[g], batch, run, arenas_[g].transfers});
    walks.back().transfers.resize(std::max<std::size_t>(phase.transfers, plan.carried_transfers));
  }
  try {
    for (bool moved = true; moved;) {
      moved = false;
      for (Walk& w : walks) {
        std::size_t before = w.at;
        advance(w, output);
        moved |= w.at != before;
      }
    }
  } catch (const Lost& lost) {
    return lost.message;
  }
  for (Walk& w : walks) {
    if (w.at < w.phase.instructions.size())
      return fmt::format("{}: waits for a call that never comes",
                         text_of(*plan_, {w.graph, number, w.at}));
    std::copy_n(w.transfers.begin(), w.arena.transfers.size(), w.arena.transfers.begin());
    w.arena.memory.keep_only(kept_[w.graph]);
  }
  return std::nullopt;
}

void PlanRun::advance(Walk& w, const Sink& output) {
  for (; w.at < w.phase.instructions.size(); ++w.at) {
    const Instruction& i = w.phase.instructions[w.at];
    switch (i.kind) {
      case InstructionKind::kernel:
        kernel(w, i);
        break;
      case InstructionKind::copy:
        write(w, w.phase.results(i)[0], read(w, w.phase.operands(i)[0]));
        break;
      case InstructionKind::start:
        start(w, w.at);
        break;
      case InstructionKind::wait:
        if (w.transfers[i.index].in_flight && !exchange_->arrived(w.transfers[i.index].call))
          return;
        wait(w, i);
        break;
      case InstructionKind::input: {
        const Location& l = w.phase.results(i)[0];
        std::size_t of = (*inputs_)[w.graph][i.index];
        if (of == no_input) throw Lost{"an input that the source does not have"};
        write(w, l, e_->input(w.graph, of, plan_->types[l.type], w.batch));
        break;
      }
      case InstructionKind::output:
        output(w.graph, i.index, read(w, w.phase.operands(i)[0]));
        break;
    }
  }
}

void PlanRun::kernel(Walk& w, const Instruction& i) {
  makers_->instruction({w.graph, w.phase_number, w.at});
  SmallVector<const Type*, 4> types, result_types;
  std::vector<Elements> operands, results(i.results);
  SmallVector<const Elements*, 4> list;
  operands.reserve(i.operands);
  for (const Location& l : w.phase.operands(i)) {
    operands.push_back(read(w, l));
    list.push_back(&operands.back());
    types.push_back(&plan_->types[l.type]);
  }
  for (const Location& l : w.phase.results(i)) result_types.push_back(&plan_->types[l.type]);
  EvaluateCall call{*i.op,
                    i.attributes,
                    {types.data(), types.size()},
                    {result_types.data(), result_types.size()},
                    w.graph};
  e_->apply(call, {list.data(), list.size()}, results);
  if (i.workspace_bytes > 0) w.arena.memory.forget({i.workspace, i.workspace + i.workspace_bytes});
  for (std::size_t k = 0; k < results.size(); ++k) write(w, w.phase.results(i)[k], results[k]);
}

void PlanRun::start(Walk& w, std::size_t n) {
  const Instruction& i = w.phase.instructions[n];
  makers_->instruction({w.graph, w.phase_number, n});
  std::vector<Elements> operands;
  std::vector<const Type*> types, result_types;
  for (const Location& l : w.phase.operands(i)) {
    operands.push_back(read(w, l));
    types.push_back(&plan_->types[l.type]);
  }
  for (const Location& l : w.phase.results(i)) {
    result_types.push_back(&plan_->types[l.type]);
    // The result of a send is its operand.
    if (i.op->collective->kind != CollectiveKind::send) w.arena.memory.forget(range_of(*plan_, l));
  }
  w.transfers[i.index] = {exchange_->post(w.graph, w.run, *i.op, i.attributes, std::move(operands),
                                          std::move(types), std::move(result_types)),
                          w.phase_number, n, true};
}

void PlanRun::wait(Walk& w, const Instruction& i) {
  Transfer& t = w.transfers[i.index];
  if (!t.in_flight) return;
  t.in_flight = false;
  const PlanPhase& phase = w.plan.phases[t.phase];
  const Instruction& started = phase.instructions[t.instruction];
  if (started.results == 0) return;
  makers_->instruction({w.graph, t.phase, t.instruction});
  const std::vector<Elements>& results = exchange_->results(t.call);
  for (std::size_t k = 0; k < results.size(); ++k) write(w, phase.results(started)[k], results[k]);
}

std::optional<Elements> PlanRun::in_home(std::size_t graph, const Home& home) const {
  const Type& type = plan_->types[home.location.type];
  auto width = static_cast<int>(bytes(type.dtype));
  Range r = range_of(*plan_, home.location);
  auto held = arenas_[graph].memory.read(e_->values, r, type.dtype);
  const Layout& layout = plan_->layouts[home.location.layout];
  if (held && !layout.is_row_major())
    return e_->values.view(*held, (home.location.offset - r.begin) / width, layout);
  return held;
}

std::optional<std::string> PlanRun::find_other_content(const PlanRun& other) const {
  for (std::size_t g = 0; g < arenas_.size(); ++g) {
    const Arena &mine = arenas_[g], &its = other.arenas_[g];
    for (std::size_t t = 0; t < mine.transfers.size(); ++t) {
      const Transfer &a = mine.transfers[t], &b = its.transfers[t];
      bool same = a.in_flight == b.in_flight;  // all its starts have the same places for results
      if (same && a.in_flight)
        same = exchange_->arrived(a.call) && exchange_->arrived(b.call) &&
               exchange_->results(a.call) == exchange_->results(b.call);
      if (!same)
        return fmt::format("{}: transfer {} does not carry the same from iteration to iteration",
                           graph_text(*plan_, g), t);
    }
    std::optional<std::string> found;
    its.memory.for_each([&](Range r, DType dtype) {
      if (found) return;
      if (mine.memory.read(e_->values, r, dtype) != its.memory.read(e_->values, r, dtype))
        found = fmt::format("{}: bytes {} to {} do not hold the same from iteration to iteration",
                            graph_text(*plan_, g), r.begin, r.end - 1);
    });
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace hocket::check

#include "hocket/runtime/rank.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/iter/lags.h"
#include "hocket/ops/copy.h"

namespace hocket {
namespace {

/// The most transfers that can end in one step, counting those of each dtype.
std::size_t most_calls(const std::vector<BoundPhase>& phases) {
  std::size_t most = 0, carried = 0;
  for (const BoundPhase& p : phases) {
    std::size_t calls = 0;
    for (const BoundStart& s : p.starts) calls += s.calls.calls.size();
    most = std::max(most, calls);
    carried += calls;
  }
  return std::min(2 * most, carried);
}

}  // namespace

Rank::Rank(const Plan& plan, Identity identity, comm::Transport& transport,
           ReferenceKernels& kernels, std::unique_ptr<Backend> backend, std::span<Produced> outputs,
           bool keep_trace)
    : number_(identity.number),
      plan_(plan),
      graph_(plan.graphs.at(plan.program.graph_index(identity.role))),
      body_(plan.program.graph_of(identity.role)),
      backend_(std::move(backend)),
      outputs_(outputs),
      arena_(graph_.arena_bytes),
      recorder_(identity.number, graph_.groups, graph_.labels, keep_trace) {
  join_groups(transport, identity);
  bind(identity, kernels, keep_trace);
  announce_calls();
  place_homes();
}

void Rank::join_groups(comm::Transport& transport, Identity identity) {
  for (const std::string& name : graph_.groups) {
    std::vector<int> members = plan_.program.world->members(name, identity.role);
    for (int& member : members) member += identity.number - identity.role;  // of a copy
    groups_.push_back(transport.group(identity.number, name, members));
  }
}

void Rank::bind(Identity identity, ReferenceKernels& kernels, bool keep_trace) {
  RankParts parts{plan_,   graph_,         identity.role, arena_,
                  kernels, backend_.get(), groups_,       keep_trace};
  std::uint32_t transfers = 0;
  for (const PlanPhase& phase : graph_.phases) {
    phases_.push_back(bind_phase(parts, phase));
    transfers = std::max(transfers, phase.transfers);
  }
  transfers_.resize(transfers);
  in_flight_.reserve(transfers);
  recorder_.expect_transfers(most_calls(phases_));
  for (const BoundPhase& phase : phases_)
    for (const auto& [index, place] : phase.outputs)
      if (!outputs_[index].value) outputs_[index].value = Tensor(place.type);
}

/// A node starts one transfer in a phase. Another one of the same node is in flight beside it only
/// where it is carried from phase to phase, in several slots.
void Rank::announce_calls() {
  std::set<std::tuple<std::int64_t, std::uint32_t, std::size_t>> known;
  for (const BoundPhase& phase : phases_)
    for (const BoundStart& s : phase.starts) {
      auto& works = transfers_[s.transfer].works;
      works.reserve(s.calls.calls.size());
      std::uint32_t slot = s.transfer < graph_.carried_transfers ? s.transfer : UINT32_MAX;
      for (std::size_t i = 0; i < s.calls.calls.size(); ++i)
        if (known.emplace(s.calls.calls[i].channel, slot, i).second)
          s.group->expect(s.calls.calls[i]);
    }
}

/// Finds the places of state, and writes constants.
void Rank::place_homes() {
  std::vector<bool> found(body_.inputs().size());
  for (const Home& home : graph_.homes) {
    View place = view_of(plan_, arena_, home.location);
    if (home.kind == HomeKind::constant) {
      auto value = plan_.program.constants.find(home.constant);
      if (value == plan_.program.constants.end() || value->second.type() != place.type)
        fail("the program has no value {} for the constant {}", to_text(place.type),
             quoted(home.constant));
      copy_value(view_of(value->second), place);
    } else if (const Input& in = body_.inputs()[home.input]; !is_forwarded(body_, in.value)) {
      states_.emplace_back(home.input, place);
      found[home.input] = true;
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (const Input& in = body_.inputs()[i];
        in.state && !is_forwarded(body_, in.value) && !found[i])
      fail("the plan has no place for %{}", body_.name(in.value));
}

void Rank::load(std::span<const Tensor> state) {
  if (!in_flight_.empty())
    fail("state is set while {} in flight: drain the loop before",
         in_flight_.size() == 1 ? "a transfer is" : "transfers are");
  for (const auto& [input, place] : states_) copy_value(view_of(state[input]), place);
}

std::vector<Tensor> Rank::state() const {
  std::vector<Tensor> all(body_.inputs().size());
  for (const auto& [input, place] : states_) {
    all[input] = Tensor(place.type);
    copy_value(read_only(place), view_of(all[input]));
  }
  return all;
}

void Rank::run(std::size_t number, std::span<const Tensor> batch) {
  const BoundPhase& phase = phases_[number];
  iteration_ = recorder_.iteration();
  drain_ = recorder_.drain();
  recorder_.begin_step();
  const BoundInstruction* at = nullptr;
  std::uint64_t position = std::uint64_t{number} << 32;
  try {
    for (const BoundInstruction& i : phase.instructions) {
      at = &i;
      at_.store(position++, std::memory_order_relaxed);
      if (recorder_.keeps())
        recorder_.count(CounterKind::live_bytes,
                        phase.live_bytes[static_cast<std::size_t>(&i - phase.instructions.data())]);
      execute(phase, i, batch);
      if (!in_flight_.empty()) progress();
    }
  } catch (const Error& e) {
    ended_ = Ended::by_itself;
    give_up(*at);
    throw RunError(describe(graph_.labels[at->label], e.what()));
  } catch (const RunError&) {
    ended_ = Ended::with_others;
    give_up(*at);
    throw;
  } catch (...) {
    ended_ = Ended::by_itself;
    give_up(*at);
    throw;
  }
  at_.store(position, std::memory_order_relaxed);
  recorder_.end_step();
}

/// Notes in the trace what the rank was doing when the step failed.
void Rank::give_up(const BoundInstruction& i) {
  if (testing_) {
    const Transfer& t = transfers_[in_flight_.front()];
    return recorder_.abandon(SpanKind::progress, t.label, t.call);
  }
  bool waits = i.kind == InstructionKind::wait;
  SpanKind kind = waits                               ? SpanKind::wait
                  : i.kind == InstructionKind::start  ? SpanKind::start
                  : i.kind == InstructionKind::kernel ? SpanKind::kernel
                                                      : SpanKind::copy;
  recorder_.abandon(kind, i.label, waits ? transfers_[i.index].call : -1);
}

void Rank::execute(const BoundPhase& phase, const BoundInstruction& i,
                   std::span<const Tensor> batch) {
  switch (i.kind) {
    case InstructionKind::kernel:
      i.kernel->run();
      return recorder_.computed(SpanKind::kernel, i.label, call_of(i.reads));
    case InstructionKind::copy:
      i.kernel->run();
      return recorder_.computed(SpanKind::copy, i.label, call_of(i.reads));
    case InstructionKind::start:
      return start(phase.starts[i.index], i);
    case InstructionKind::wait:
      return wait(i);
    case InstructionKind::input:
      put_in(phase.inputs[i.index], batch);
      return recorder_.computed(SpanKind::copy, i.label, -1);
    case InstructionKind::output:
      hand_out(phase.outputs[i.index]);
      return recorder_.computed(SpanKind::copy, i.label, call_of(i.reads));
  }
}

void Rank::start(const BoundStart& s, const BoundInstruction& i) {
  Transfer& t = transfers_[s.transfer];
  if (t.in_flight) internal_fail("transfer {} is started again in flight", s.transfer);
  recorder_.settle();
  t.works.clear();
  for (const comm::CollectiveCall& call : s.calls.calls) t.works.push_back(s.group->start(call));
  t.lane = s.lane;
  t.label = i.label;
  t.bytes = s.bytes;
  std::int64_t reads = call_of(i.reads);
  t.call = calls_++;
  t.in_flight = true;
  in_flight_.push_back(s.transfer);
  bytes_in_flight_ += t.bytes;
  recorder_.note(SpanKind::start, i.label, t.call, reads);
  t.from = &s;
  t.started_at = recorder_.clock();
  recorder_.count(CounterKind::bytes_in_flight, bytes_in_flight_);
}

void Rank::wait(const BoundInstruction& i) {
  recorder_.settle();
  Transfer& t = transfers_[i.index];
  if (t.in_flight)
    for (comm::Work& w : t.works) w.wait();
  recorder_.note(SpanKind::wait, i.label, t.call);
  if (t.in_flight) arrived(i.index);
}

/// Tests transfers, oldest first, which also does this rank's share of their arithmetic.
void Rank::progress() {
  recorder_.settle();
  testing_ = true;
  while (!in_flight_.empty()) {
    std::uint32_t number = in_flight_.front();
    Transfer& t = transfers_[number];
    bool done = std::ranges::all_of(t.works, [](comm::Work& w) { return w.test(); });
    recorder_.tested(t.label, t.call);
    if (!done) break;
    arrived(number);
  }
  testing_ = false;
}

void Rank::arrived(std::uint32_t number) {
  Transfer& t = transfers_[number];
  t.in_flight = false;
  in_flight_.erase(std::ranges::find(in_flight_, number));
  for (const comm::Work& w : t.works) {
    const comm::Transfer& passed = w.transfer();
    recorder_.transferred(t.lane, t.label, t.call, passed.begin, passed.end, passed.bytes);
  }
  bytes_in_flight_ -= t.bytes;
  recorder_.count(CounterKind::bytes_in_flight, bytes_in_flight_);
}

void Rank::put_in(const BoundPhase::HostValue& v, std::span<const Tensor> batch) {
  const Tensor& value = batch[v.index];
  if (v.place.layout.is_row_major())
    std::memcpy(v.place.data, value.bytes().data(), value.bytes().size());
  else
    copy_value(view_of(value), v.place);
}

void Rank::hand_out(const BoundPhase::HostValue& v) {
  Tensor& to = outputs_[v.index].value;
  if (!to.unique()) to = Tensor(v.place.type);
  copy_elements(to.bytes().data(), v.place.data, v.place.layout, bytes(v.place.type.dtype));
}

}  // namespace hocket

// What a rank says about itself after a failed step.

#include <algorithm>
#include <map>

#include "hocket/base/text.h"
#include "hocket/comm/issued_order.h"
#include "hocket/plan/plan_text.h"
#include "hocket/runtime/rank.h"

namespace hocket {

StoppedRank Rank::stopped(Position at, double failed_at) const {
  // A rank that had not begun its step at the time of the failure stopped in it.
  if (ended_ != Ended::well && at.instruction == phases_[at.phase].instructions.size())
    at = position();
  auto graph = static_cast<std::size_t>(&graph_ - plan_.graphs.data());
  const PlanPhase& phase = graph_.phases[at.phase];
  StoppedRank r{.rank = number_, .iteration = iteration_, .drain = drain_};
  r.seconds = std::max(0.0, failed_at - at.since);
  r.phase = window_name(plan_.shape, phase.window);
  r.instruction = static_cast<std::int64_t>(at.instruction);
  r.instructions = std::ssize(phase.instructions);
  for (std::uint32_t t : in_flight_) r.in_flight.push_back(open(transfers_[t], failed_at));
  r.issued = issued();
  if (r.instruction == r.instructions) {
    r.state = Standing::done;
    return r;
  }
  const Instruction& i = phase.instructions[at.instruction];
  r.text = instruction_text(plan_, graph, at.phase, i);
  r.label = graph_.labels[i.label];
  bool here = position().instruction == at.instruction;
  if (here && ended_ == Ended::by_itself) {
    r.state = Standing::failed;
  } else if (here && testing_) {
    r.state = Standing::tests;
  } else if (i.kind == InstructionKind::start) {
    r.state = Standing::starts;
  } else if (i.kind == InstructionKind::wait) {
    r.state = Standing::waits;
    r.waits_for = open(transfers_[i.index], failed_at);
  }
  return r;
}

OpenTransfer Rank::open(const Transfer& t, double failed_at) const {
  const TraceLabel& label = graph_.labels[t.label];
  OpenTransfer o{.node = label.name, .op = label.op, .seconds = failed_at - t.started_at};
  if (t.from != nullptr) {
    o.group = graph_.groups[t.from->lane - 1];
    o.channel = t.from->calls.calls.front().channel;
  }
  for (const comm::Work& w : t.works)
    for (int rank : w.missing())
      if (std::ranges::find(o.missing, rank) == o.missing.end()) o.missing.push_back(rank);
  return o;
}

/// Calls are named after the nodes that own their channels.
std::vector<IssuedCalls> Rank::issued() const {
  std::map<std::int64_t, std::string_view> nodes;
  for (const BoundPhase& phase : phases_)
    for (const BoundInstruction& i : phase.instructions)
      if (i.kind == InstructionKind::start)
        nodes[phase.starts[i.index].calls.calls.front().channel] = graph_.labels[i.label].name;
  std::vector<IssuedCalls> all;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const comm::IssuedSequence& sequence : groups_[g]->issued()) {
      const comm::IssuedOrder& order = sequence.order;
      if (order.count() == 0) continue;
      IssuedCalls& calls = all.emplace_back(
          IssuedCalls{graph_.groups[g], sequence.ranks, sequence.pair, order.count(), {}});
      for (std::int64_t n = order.first_kept(); n < order.count(); ++n) {
        const comm::IssuedCall& call = order.at(n);
        std::string_view node = nodes[call.channel];
        calls.calls.push_back(
            {n, call.order, fmt::format("{}{}{}", node, node.empty() ? "" : " = ", call.text())});
      }
    }
  return all;
}

}  // namespace hocket

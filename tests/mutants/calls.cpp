#include "calls.h"

#include <fmt/core.h>

#include <map>
#include <tuple>

namespace hocket::testing {
namespace {

/// Group, its ranks, and for a pair the sender and the receiver.
using Sequence = std::tuple<std::string, std::vector<int>, int, int>;

template <class T>
const T& attr(const Instruction& i, std::string_view name) {
  return attribute<T>(*i.op, i.attributes, name);
}

CollectiveKind kind_of(const Instruction& i) { return i.op->collective->kind; }

Sequence sequence_of(const World& world, int rank, const Instruction& i) {
  const auto& group = attr<std::string>(i, "group");
  std::vector<int> members = world.members(group, rank);
  Sequence s{group, members, -1, -1};
  if (kind_of(i) != CollectiveKind::send && kind_of(i) != CollectiveKind::recv) return s;
  bool sends = kind_of(i) == CollectiveKind::send;
  int peer = members.at(static_cast<std::size_t>(attr<std::int64_t>(i, sends ? "to" : "from")));
  std::get<2>(s) = sends ? rank : peer;
  std::get<3>(s) = sends ? peer : rank;
  return s;
}

std::vector<int> participants(const Sequence& s) {
  if (std::get<2>(s) < 0) return std::get<1>(s);
  return {std::get<2>(s), std::get<3>(s)};
}

/// What must be equal in matched calls.
std::string agreed(const Plan& plan, const Action& a) {
  const Instruction& i = *a.instruction;
  CollectiveKind kind = kind_of(i);
  bool pair = kind == CollectiveKind::send || kind == CollectiveKind::recv;
  std::string text =
      fmt::format("{} channel {}", pair ? "pair" : name(kind), attr<std::int64_t>(i, "channel"));
  if (i.op->collective->reduces) text += " " + attr<std::string>(i, "reduce");
  if (i.op->collective->rooted())
    text += fmt::format(" root {}", attr<std::int64_t>(i, i.op->collective->peer));
  auto members = kind == CollectiveKind::recv ? a.phase->results(i) : a.phase->operands(i);
  for (const Location& l : members) {
    const Type& type = plan.types[l.type];
    std::int64_t count = type.elements();
    if (kind == CollectiveKind::all_to_all) {  // the size of a row
      count = 1;
      for (std::size_t d = 1; d < type.shape.size(); ++d) count *= type.shape[d];
    }
    text += fmt::format(" {} of {}", count, name(type.dtype));
  }
  return text;
}

std::int64_t rows_between(const Plan& plan, const Action& a, const char* list, std::size_t member,
                          std::size_t peer, std::size_t ranks) {
  const Ints& rows = attr<Ints>(*a.instruction, list);
  if (!rows.empty()) return rows.at(peer);
  const Location& l = a.phase->operands(*a.instruction)[member];
  return plan.types[l.type].shape[0] / static_cast<std::int64_t>(ranks);
}

std::string rows_differ(const Plan& plan, const std::vector<const Action*>& all) {
  if (all[0] == nullptr || kind_of(*all[0]->instruction) != CollectiveKind::all_to_all) return "";
  for (std::size_t from = 0; from < all.size(); ++from)
    for (std::size_t to = 0; to < all.size(); ++to) {
      if (all[from] == nullptr || all[to] == nullptr) continue;
      for (std::size_t m = 0; m < all[from]->instruction->operands; ++m)
        if (rows_between(plan, *all[from], "send", m, to, all.size()) !=
            rows_between(plan, *all[to], "receive", m, from, all.size()))
          return fmt::format("rows from {} to {}", from, to);
    }
  return "";
}

std::string mismatch(const Plan& plan, const Run& run, const MatchedCall& call) {
  std::vector<const Action*> all;
  std::string first;
  for (const Part& p : call.parts) {
    all.push_back(nullptr);
    if (p.start < 0) continue;
    all.back() =
        run.ranks[static_cast<std::size_t>(p.rank)].actions[static_cast<std::size_t>(p.start)];
    std::string text = agreed(plan, *all.back());
    if (first.empty()) first = text;
    if (text != first) return fmt::format("{} meets {}", first, text);
  }
  return rows_differ(plan, all);
}

}  // namespace

Run match_calls(const Plan& plan, const std::vector<CellGraph>& graphs,
                const std::vector<std::size_t>& phases) {
  const World& world = *plan.program.world;
  Run run;
  std::map<std::pair<Sequence, std::size_t>, std::int32_t> known;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    RankTrace& trace = run.ranks.emplace_back();
    trace.graph = &graphs[plan.program.graph_index(rank)];
    std::map<Sequence, std::size_t> counts;
    std::map<std::uint32_t, std::int32_t> in_flight;
    std::int32_t previous = -1;
    for (std::uint32_t t = 0; t < phases.size(); ++t)
      for (const Action& a : trace.graph->phases[phases[t]]) {
        trace.actions.push_back(&a);
        trace.iteration.push_back(t);
        trace.call.push_back(a.is_wait() ? in_flight.at(a.transfer) : -1);
        trace.part.push_back(-1);
        if (!a.is_start()) continue;
        Sequence s = sequence_of(world, rank, *a.instruction);
        std::size_t k = counts[s]++;
        auto [entry, fresh] = known.emplace(std::pair(s, k), std::ssize(run.calls));
        if (fresh) {
          MatchedCall& call = run.calls.emplace_back();
          for (int r : participants(s)) call.parts.push_back({r});
          call.bit = run.parts;
          run.parts += call.parts.size();
          if (k > 0) call.predecessor = known.at({s, k - 1});
        }
        MatchedCall& call = run.calls[static_cast<std::size_t>(entry->second)];
        for (std::size_t p = 0; p < call.parts.size(); ++p)
          if (call.parts[p].rank == rank) {
            call.parts[p].start = static_cast<std::int32_t>(trace.actions.size()) - 1;
            call.parts[p].previous = previous;
            trace.part.back() = static_cast<std::int32_t>(p);
          }
        trace.call.back() = previous = in_flight[a.transfer] = entry->second;
      }
  }
  for (const MatchedCall& call : run.calls)
    if (run.mismatch.empty()) run.mismatch = mismatch(plan, run, call);
  return run;
}

}  // namespace hocket::testing

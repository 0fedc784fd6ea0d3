// The calls of all ranks, in one kernel iteration after the other. What ranks do depends only on
// which calls have been started, and a start never blocks. So if one interleaving of the ranks
// comes to an end, all do, and one is enough to look at: each rank goes on as far as it can.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/check/calls.h"

namespace hocket::check {
namespace {

using Finding = std::optional<Refutation>;

/// The sets of a group, and the one that each rank is in.
struct Group {
  std::vector<std::vector<int>> sets;
  std::vector<std::int32_t> set_of;  // by rank; -1: none
};

Group group_of(const World& world, const std::string& name) {
  Group g;
  g.set_of.resize(static_cast<std::size_t>(world.ranks()), -1);
  for (int r = 0; r < world.ranks(); ++r) {
    if (g.set_of[static_cast<std::size_t>(r)] >= 0) continue;
    std::vector<int> members = world.members(name, r);
    if (members.empty()) continue;
    for (int m : members)
      g.set_of[static_cast<std::size_t>(m)] = static_cast<std::int32_t>(g.sets.size());
    g.sets.push_back(std::move(members));
  }
  return g;
}

/// A start or a wait of a phase.
struct Event {
  std::size_t instruction = 0;
  std::uint32_t transfer = 0;
  const Group* group = nullptr;  // of a start
  int peer = -1;                 // of a send or recv: index in the set
  bool sends = false;
};

struct Transfer {
  std::vector<int> ranks;    // in the order of the group; sender, receiver
  std::vector<Place> calls;  // by rank, once posted
  std::vector<char> posted;
  std::size_t missing = 0;
  bool complete = false;
  std::vector<int> waiting;  // ranks
};

/// All ranks in one kernel iteration.
class IterationRun {
 public:
  IterationRun(const Plan& plan, std::size_t phase, LaunchOrder order,
               const std::vector<std::vector<Event>>& events, const std::vector<std::size_t>& graph)
      : plan_(plan), phase_(phase), order_(order), events_(events), graph_of_(graph) {
    ranks_.resize(graph.size());
  }

  Finding run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ready_.push_back(static_cast<int>(r));
      while (!ready_.empty()) {
        int rank = ready_.back();
        ready_.pop_back();
        if (Finding f = advance(rank)) return f;
      }
    }
    // A call without partner explains more than the waits that it leads to.
    for (const Transfer& t : transfers_)
      if (t.missing > 0 && nobody_comes(t)) return without_partner(t);
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (!ended(static_cast<int>(r))) return stuck(static_cast<int>(r));
    for (const Transfer& t : transfers_)
      if (!t.complete) return crossed(t);
    return std::nullopt;
  }

 private:
  struct Rank {
    std::size_t next = 0;                            // event
    std::map<std::uint32_t, std::size_t> by_number;  // transfers started here
    std::vector<std::size_t> launched;               // transfers in the order of their starts
    std::size_t passed = 0;                          // of these, complete in order
    std::map<std::tuple<const Group*, int, int>, std::size_t> positions;  // by sequence
  };
  /// A collective's set and -1, or two ranks.
  using Sequence = std::tuple<const Group*, int, int>;

  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  const std::vector<Event>& events(int r) const {
    return events_[graph_of_[static_cast<std::size_t>(r)]];
  }
  bool ended(int r) const { return ranks_[static_cast<std::size_t>(r)].next == events(r).size(); }
  Place place(int r, const Event& e) const {
    return {graph_of_[static_cast<std::size_t>(r)], phase_, e.instruction};
  }

  Finding advance(int r) {
    Rank& me = rank(r);
    for (; me.next < events(r).size(); ++me.next) {
      const Event& e = events(r)[me.next];
      if (e.group != nullptr) {
        if (Finding f = post(r, e)) return f;
        continue;
      }
      auto started = me.by_number.find(e.transfer);
      if (started == me.by_number.end()) continue;  // in an earlier iteration, where all came
      Transfer& t = transfers_[started->second];
      if (t.complete) continue;
      t.waiting.push_back(r);
      break;
    }
    return std::nullopt;
  }

  Finding post(int r, const Event& e) {
    const std::vector<int>& set =
        e.group->sets[static_cast<std::size_t>(e.group->set_of[static_cast<std::size_t>(r)])];
    Sequence sequence{e.group, e.group->set_of[static_cast<std::size_t>(r)], -1};
    std::vector<int> pair;
    if (e.peer >= 0) {
      int other = set[static_cast<std::size_t>(e.peer)];
      pair = e.sends ? std::vector{r, other} : std::vector{other, r};
      sequence = {e.group, pair[0], pair[1] + static_cast<int>(ranks_.size())};
    }
    std::vector<std::size_t>& calls = sequences_[sequence];
    std::size_t position = rank(r).positions[sequence]++;
    if (position == calls.size()) {
      calls.push_back(transfers_.size());
      Transfer fresh;
      fresh.ranks = e.peer >= 0 ? pair : set;
      fresh.missing = fresh.ranks.size();
      fresh.calls.resize(fresh.ranks.size());
      fresh.posted.resize(fresh.ranks.size());
      transfers_.push_back(std::move(fresh));
    }
    std::size_t number = calls[position];
    rank(r).by_number[e.transfer] = number;
    rank(r).launched.push_back(number);
    return join(r, e, transfers_[number]);
  }

  Finding join(int r, const Event& e, Transfer& t) {
    auto me = static_cast<std::size_t>(std::ranges::find(t.ranks, r) - t.ranks.begin());
    auto other = static_cast<std::size_t>(std::ranges::find(t.posted, 1) - t.posted.begin());
    t.calls[me] = place(r, e);
    t.posted[me] = 1;
    --t.missing;
    if (other < t.ranks.size())
      if (auto d = compared(t.calls[other], t.calls[me]))
        return differ(t, other, me, d->first, d->second);
    if (t.missing > 0) return std::nullopt;
    if (auto wrong = wrong_rows(plan_, t.calls))
      return differ_in_rows(t, wrong->first, wrong->second);
    settle(t);
    return std::nullopt;
  }

  /// Pairs of instructions are compared once.
  Difference compared(Place a, Place b) {
    if (a == b) return std::nullopt;
    if (!compared_.emplace(a.graph, a.instruction, b.graph, b.instruction).second)
      return std::nullopt;
    return difference(plan_, a, b);
  }

  /// All ranks have posted the transfer.
  void settle(Transfer& t) {
    if (order_ == LaunchOrder::per_group) return complete(t);
    std::vector<int> at = t.ranks;
    while (!at.empty()) {  // ranks whose oldest transfer may be complete
      int r = at.back();
      at.pop_back();
      Rank& me = rank(r);
      if (me.passed == me.launched.size()) continue;
      std::size_t oldest = me.launched[me.passed];
      Transfer& next = transfers_[oldest];
      bool first_everywhere =
          next.missing == 0 && std::ranges::all_of(next.ranks, [&](int m) {
            const Rank& o = rank(m);
            return o.passed < o.launched.size() && o.launched[o.passed] == oldest;
          });
      if (!first_everywhere) continue;
      for (int m : next.ranks) ++rank(m).passed;
      complete(next);
      at.insert(at.end(), next.ranks.begin(), next.ranks.end());
    }
  }

  void complete(Transfer& t) {
    t.complete = true;
    ready_.insert(ready_.end(), t.waiting.begin(), t.waiting.end());
    t.waiting.clear();
  }

  // ---- what to say

  std::string line(int r, Place p) const {
    return fmt::format("rank {}, {}", r, text_of(plan_, p));
  }

  Refutation differ(const Transfer& t, std::size_t a, std::size_t b, const std::string& first,
                    const std::string& second) const {
    return {"matching",
            fmt::format("{}: rank {} calls {}, rank {} calls {}", text_of(plan_, t.calls[a]),
                        t.ranks[a], first, t.ranks[b], second),
            {line(t.ranks[a], t.calls[a]), line(t.ranks[b], t.calls[b])}};
  }

  Refutation differ_in_rows(const Transfer& t, std::size_t a, std::size_t b) const {
    return {"matching",
            fmt::format("{}: rank {} sends other rows to rank {} than that receives",
                        text_of(plan_, t.calls[a]), t.ranks[a], t.ranks[b]),
            {line(t.ranks[a], t.calls[a]), line(t.ranks[b], t.calls[b])}};
  }

  /// No rank that has not posted it comes further.
  bool nobody_comes(const Transfer& t) const {
    for (std::size_t i = 0; i < t.ranks.size(); ++i)
      if (t.posted[i] == 0 && ended(t.ranks[i])) return true;
    return false;
  }

  Refutation without_partner(const Transfer& t) const {
    Refutation f{"matching", "", {}};
    int gone = -1;
    for (std::size_t i = 0; i < t.ranks.size(); ++i)
      if (t.posted[i] != 0)
        f.example.push_back(line(t.ranks[i], t.calls[i]));
      else if (ended(t.ranks[i]))
        gone = t.ranks[i];
    auto first = static_cast<std::size_t>(std::ranges::find(t.posted, 1) - t.posted.begin());
    f.message = fmt::format("{}: rank {} calls it, rank {} never does",
                            text_of(plan_, t.calls[first]), t.ranks[first], gone);
    return f;
  }

  const Transfer& waits_for(int r) const {
    const Rank& me = ranks_[static_cast<std::size_t>(r)];
    return transfers_[me.by_number.at(events(r)[me.next].transfer)];
  }

  /// Ranks without which the wait of a stuck rank does not end.
  std::vector<int> needed_by(int r) const {
    const Transfer& t = waits_for(r);
    std::vector<int> needed;
    for (std::size_t i = 0; i < t.ranks.size(); ++i)
      if (t.posted[i] == 0) needed.push_back(t.ranks[i]);
    return needed;
  }

  /// Ranks wait for each other in a circle: the shortest one that this rank leads to.
  Finding stuck(int from) const {
    if (needed_by(from).empty()) return crossed(waits_for(from));
    std::vector<int> best;
    for (std::size_t r = 0; r < ranks_.size() && best.size() != 1; ++r) {
      auto rank = static_cast<int>(r);
      if (ended(rank)) continue;
      std::vector<int> circle = circle_through(rank);
      if (!circle.empty() && (best.empty() || circle.size() < best.size())) best = circle;
    }
    if (best.empty()) {  // the wait depends on the launch order of others
      for (const Transfer& t : transfers_)
        if (t.missing == 0 && !t.complete) return crossed(t);
    }
    Refutation f{"deadlock", "ranks wait for each other:", {}};
    for (std::size_t k = 0; k < best.size(); ++k) {
      const Event& e = events(best[k])[ranks_[static_cast<std::size_t>(best[k])].next];
      f.message += fmt::format("{} rank {} for rank {}", k == 0 ? "" : ",", best[k],
                               best[(k + 1) % best.size()]);
      f.example.push_back(line(best[k], place(best[k], e)));
    }
    return f;
  }

  std::vector<int> circle_through(int rank) const {
    std::vector<int> from(ranks_.size(), -1), queue{rank};
    for (std::size_t k = 0; k < queue.size(); ++k)
      for (int next : needed_by(queue[k])) {
        if (next == rank) {
          std::vector<int> circle;
          for (int r = queue[k]; r != rank; r = from[static_cast<std::size_t>(r)])
            circle.push_back(r);
          circle.push_back(rank);
          std::ranges::reverse(circle);
          return circle;
        }
        if (ended(next) || from[static_cast<std::size_t>(next)] >= 0) continue;
        from[static_cast<std::size_t>(next)] = queue[k];
        queue.push_back(next);
      }
    return {};
  }

  /// All ranks have started it, but behind others that wait for it.
  Refutation crossed(const Transfer& blocked) const {
    const Transfer* t = &blocked;
    Refutation f{"launch-order", "", {}};
    std::set<const Transfer*> seen;
    while (seen.insert(t).second) {
      const Transfer* before = nullptr;
      for (std::size_t i = 0; i < t->ranks.size() && before == nullptr; ++i) {
        const Rank& r = ranks_[static_cast<std::size_t>(t->ranks[i])];
        if (t->posted[i] == 0 || r.passed == r.launched.size()) continue;
        const Transfer& oldest = transfers_[r.launched[r.passed]];
        if (&oldest == t) continue;
        before = &oldest;
        auto at = std::ranges::find(oldest.ranks, t->ranks[i]) - oldest.ranks.begin();
        f.example.push_back(fmt::format("rank {}, {} stands before {}", t->ranks[i],
                                        text_of(plan_, oldest.calls[static_cast<std::size_t>(at)]),
                                        text_of(plan_, t->calls[i])));
      }
      if (before == nullptr) break;
      t = before;
    }
    for (std::size_t i = 0; i < t->ranks.size(); ++i)  // those that never come to it
      if (int r = t->ranks[i]; t->posted[i] == 0 && !ended(r))
        f.example.push_back(line(r, place(r, events(r)[ranks_[static_cast<std::size_t>(r)].next])));
    f.message = fmt::format("{}: never ends, because ranks start transfers in other orders",
                            text_of(plan_, blocked.calls[0]));
    return f;
  }

  const Plan& plan_;
  std::size_t phase_;
  LaunchOrder order_;
  const std::vector<std::vector<Event>>& events_;  // by graph
  const std::vector<std::size_t>& graph_of_;       // by rank
  std::vector<Rank> ranks_;
  std::vector<Transfer> transfers_;
  std::map<Sequence, std::vector<std::size_t>> sequences_;
  std::set<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>> compared_;
  std::vector<int> ready_;
};

std::vector<Event> events_of(const Plan& plan, std::size_t graph, std::size_t phase,
                             std::map<std::string, Group>& groups) {
  std::vector<Event> events;
  const PlanGraph& g = plan.graphs[graph];
  const std::vector<Instruction>& all = g.phases[phase].instructions;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Instruction& i = all[n];
    if (i.kind == InstructionKind::wait) events.push_back({n, i.index});
    if (i.kind != InstructionKind::start) continue;
    const std::string& name = g.groups[i.lane - 1U];
    auto found = groups.find(name);
    if (found == groups.end())
      found = groups.emplace(name, group_of(*plan.program.world, name)).first;
    Event e{n, i.index, &found->second};
    const Collective& facts = *i.op->collective;
    if (facts.point_to_point) {
      e.peer = static_cast<int>(attribute<std::int64_t>(*i.op, i.attributes, facts.peer));
      e.sends = facts.kind == CollectiveKind::send;
    }
    events.push_back(e);
  }
  return events;
}

/// Ranks that run one graph start the same calls in the same order; only lists of rows can
/// disagree.
Finding find_in_equal_ranks(const Plan& plan) {
  for (std::size_t p = 0; p < plan.graphs[0].phases.size(); ++p) {
    const std::vector<Instruction>& all = plan.graphs[0].phases[p].instructions;
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (all[n].kind != InstructionKind::start ||
          all[n].op->collective->kind != CollectiveKind::all_to_all)
        continue;
      const std::string& name = plan.graphs[0].groups[all[n].lane - 1U];
      auto size = plan.program.world->group_size(name);
      std::vector<Place> calls(static_cast<std::size_t>(size.value_or(1)), Place{0, p, n});
      if (wrong_rows(plan, calls))
        return Refutation{"matching",
                          fmt::format("{}: sends other rows to a rank than that receives",
                                      text_of(plan, {0, p, n})),
                          {}};
    }
  }
  return std::nullopt;
}

}  // namespace

Finding find_between_ranks(const Plan& plan, LaunchOrder order) {
  if (plan.graphs.size() == 1) return find_in_equal_ranks(plan);
  std::vector<std::size_t> graph_of;
  for (int r = 0; r < plan.program.world->ranks(); ++r)
    graph_of.push_back(plan.program.graph_index(r));
  std::map<std::string, Group> groups;
  for (std::size_t p = 0; p < plan.graphs[0].phases.size(); ++p) {
    std::vector<std::vector<Event>> events;
    for (std::size_t g = 0; g < plan.graphs.size(); ++g)
      events.push_back(events_of(plan, g, p, groups));
    if (Finding f = IterationRun(plan, p, order, events, graph_of).run()) return f;
  }
  return std::nullopt;
}

}  // namespace hocket::check

#include "hocket/passes/order_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <vector>

#include "hocket/passes/collectives.h"

namespace hocket {
namespace {

/// A node with a channel, and what it is the graph's part of: a collective of its own, or one that
/// several graphs have in common.
struct Call {
  std::size_t graph;
  NodeId node;
  std::size_t meeting;
};

struct Calls {
  std::vector<Call> list;  // graph after graph, in list order
  std::size_t meetings = 0;

  /// The call that the same graph starts next.
  const Call* next(const Call& c) const {
    const Call* following = &c + 1;
    bool last = following == list.data() + list.size() || following->graph != c.graph;
    return last ? nullptr : following;
  }
};

/// Calls on one channel are parts of one meeting when a set of ranks takes part in both.
class Common {
 public:
  /// Calls are added in the order of their numbers.
  void add(std::size_t call) { parent_.push_back(call); }
  void join(const Graph& g, NodeId n, std::size_t call) {
    const std::vector<int>& lowest = sets(g, g[n].attr<std::string>("group"));
    for (int rank : g.ranks()) {
      std::pair key(g[n].attr<std::int64_t>("channel"), lowest[static_cast<std::size_t>(rank)]);
      auto [it, fresh] = first_.emplace(key, call);
      if (!fresh) parent_[root(call)] = root(it->second);
    }
  }
  std::size_t root(std::size_t call) {
    while (parent_[call] != call) call = parent_[call] = parent_[parent_[call]];
    return call;
  }

 private:
  /// By rank: the lowest rank of its set.
  const std::vector<int>& sets(const Graph& g, const std::string& group) {
    auto [it, fresh] = sets_.emplace(group, std::vector<int>{});
    if (!fresh) return it->second;
    it->second.assign(static_cast<std::size_t>(g.world().ranks()), -1);
    for (int rank = 0; rank < g.world().ranks(); ++rank) {
      if (it->second[static_cast<std::size_t>(rank)] >= 0) continue;
      for (int member : g.world().members(group, rank))
        it->second[static_cast<std::size_t>(member)] = rank;
    }
    return it->second;
  }

  std::vector<std::size_t> parent_;
  std::map<std::pair<std::int64_t, int>, std::size_t> first_;  // by channel and set
  std::map<std::string, std::vector<int>, std::less<>> sets_;  // by group
};

Calls find_calls(const Program& program) {
  Calls calls;
  Common common;
  for (std::size_t i = 0; i < program.graphs.size(); ++i) {
    const Graph& g = program.graphs[i];
    OwnGroups own(g);
    for (NodeId n : g.nodes()) {
      if (!has_channel(g[n])) continue;
      calls.list.push_back({i, n, calls.list.size()});
      common.add(calls.list.back().meeting);
      if (!own.owns(g[n])) common.join(g, n, calls.list.back().meeting);
    }
  }
  // Numbered in the order in which they are found.
  std::unordered_map<std::size_t, std::size_t> meetings;
  for (Call& c : calls.list)
    c.meeting = meetings.emplace(common.root(c.meeting), meetings.size()).first->second;
  calls.meetings = meetings.size();
  return calls;
}

/// By meeting: numbers that ascend along every graph. Where graphs contradict each other, the first
/// meeting found is next.
std::vector<std::int64_t> number(const Calls& calls) {
  std::vector<std::vector<const Call*>> parts(calls.meetings);
  std::vector<std::size_t> earlier(calls.meetings);  // calls right before, not numbered yet
  for (const Call& c : calls.list) {
    parts[c.meeting].push_back(&c);
    if (const Call* next = calls.next(c)) ++earlier[next->meeting];
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t m = 0; m < calls.meetings; ++m)
    if (earlier[m] == 0) ready.push(m);
  std::vector<std::int64_t> numbers(calls.meetings, -1);
  std::int64_t count = 0;
  for (std::size_t first = 0;;) {
    while (first < calls.meetings && numbers[first] >= 0) ++first;
    if (first == calls.meetings) return numbers;
    std::size_t m = first;
    if (!ready.empty()) {
      m = ready.top();
      ready.pop();
      if (numbers[m] >= 0) continue;
    }
    numbers[m] = count++;
    for (const Call* c : parts[m])
      if (const Call* next = calls.next(*c); next && --earlier[next->meeting] == 0)
        ready.push(next->meeting);
  }
}

}  // namespace

void order_collectives(Program& program, const NoOptions&) {
  Calls calls = find_calls(program);
  std::vector<std::int64_t> numbers = number(calls);
  std::vector<std::int64_t> highest(program.graphs.size(), -1);
  for (const Call& c : calls.list) {
    Graph& g = program.graphs[c.graph];
    std::int64_t channel = numbers[c.meeting];
    bool changes = g[c.node].attr<std::int64_t>("channel") != channel;
    bool late = channel < highest[c.graph];
    highest[c.graph] = std::max(highest[c.graph], channel);
    if (changes) g.set_attribute(c.node, "channel", channel);
    g.remark({.where = shown(g, c.node),
              .what = fmt::format("{} channel {}", changes ? "gets" : "keeps", channel),
              .why = late ? "ranks of another graph start it earlier than this one does"
                          : "in list order"});
  }
}

}  // namespace hocket

#include "hocket/passes/order_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
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

Calls find_calls(const Program& program) {
  Calls calls;
  std::unordered_map<std::int64_t, std::size_t> common;  // by channel
  for (std::size_t i = 0; i < program.graphs.size(); ++i) {
    const Graph& g = program.graphs[i];
    OwnGroups own(g);
    for (NodeId n : g.nodes()) {
      if (!has_channel(g[n])) continue;
      std::size_t meeting = calls.meetings;
      if (!own.owns(g[n]))
        meeting = common.emplace(g[n].attr<std::int64_t>("channel"), meeting).first->second;
      if (meeting == calls.meetings) ++calls.meetings;
      calls.list.push_back({i, n, meeting});
    }
  }
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

#include "hocket/passes/order_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "hocket/ir/meetings.h"
#include "hocket/passes/collectives.h"

namespace hocket {
namespace {

/// By meeting: numbers that ascend along every graph. Where graphs contradict each other, the first
/// meeting found is next.
std::vector<std::int64_t> number(const Meetings& meetings) {
  std::vector<std::vector<const Call*>> parts = meetings.parts();
  std::vector<std::size_t> earlier(meetings.count);  // calls right before, not numbered yet
  for (const Call& c : meetings.calls)
    if (const Call* next = meetings.next(c)) ++earlier[next->meeting];
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t m = 0; m < meetings.count; ++m)
    if (earlier[m] == 0) ready.push(m);
  std::vector<std::int64_t> numbers(meetings.count, -1);
  std::int64_t count = 0;
  for (std::size_t first = 0;;) {
    while (first < meetings.count && numbers[first] >= 0) ++first;
    if (first == meetings.count) return numbers;
    std::size_t m = first;
    if (!ready.empty()) {
      m = ready.top();
      ready.pop();
      if (numbers[m] >= 0) continue;
    }
    numbers[m] = count++;
    for (const Call* c : parts[m])
      if (const Call* next = meetings.next(*c); next && --earlier[next->meeting] == 0)
        ready.push(next->meeting);
  }
}

}  // namespace

void order_collectives(Program& program, const NoOptions&) {
  const Meetings meetings(program);
  std::vector<std::int64_t> numbers = number(meetings);
  std::vector<std::int64_t> highest(program.graphs.size(), -1);
  for (const Call& c : meetings.calls) {
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

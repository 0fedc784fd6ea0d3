#include "hocket/passes/order_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "hocket/passes/collectives.h"

namespace hocket {
namespace {

/// What ranks meet in: one collective of one graph, or of several that have it in common.
struct Meeting {
  std::vector<std::pair<std::size_t, NodeId>> calls;  // graph, node
  std::vector<std::size_t> later;                     // meetings that some graph starts next
  std::size_t earlier = 0;  // meetings that some graph starts right before
  std::size_t number = 0;
};

/// In the order in which they are found, graph after graph.
std::vector<Meeting> find_meetings(const Program& program) {
  std::vector<Meeting> meetings;
  std::map<std::int64_t, std::size_t> common;  // by channel
  for (std::size_t i = 0; i < program.graphs.size(); ++i) {
    const Graph& g = program.graphs[i];
    OwnGroups own(g);
    std::size_t previous = 0;
    bool first = true;
    for (NodeId n : g.nodes()) {
      if (!has_channel(g[n])) continue;
      std::size_t at = meetings.size();
      if (!own.owns(g[n]))
        at = common.emplace(g[n].attr<std::int64_t>("channel"), at).first->second;
      if (at == meetings.size()) meetings.emplace_back();
      meetings[at].calls.emplace_back(i, n);
      if (!first) {
        meetings[previous].later.push_back(at);
        ++meetings[at].earlier;
      }
      previous = at;
      first = false;
    }
  }
  return meetings;
}

/// Numbers meetings so that each graph's ascend. Where graphs contradict each other, the first one
/// found is next.
void number(std::vector<Meeting>& meetings) {
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  std::set<std::size_t> left;
  for (std::size_t i = 0; i < meetings.size(); ++i) {
    left.insert(left.end(), i);
    if (meetings[i].earlier == 0) ready.push(i);
  }
  for (std::size_t count = 0; !left.empty();) {
    std::size_t i = *left.begin();
    if (!ready.empty()) {
      i = ready.top();
      ready.pop();
    }
    if (left.erase(i) == 0) continue;
    meetings[i].number = count++;
    for (std::size_t next : meetings[i].later)
      if (--meetings[next].earlier == 0) ready.push(next);
  }
}

}  // namespace

void order_collectives(Program& program, const NoOptions&) {
  std::vector<Meeting> meetings = find_meetings(program);
  number(meetings);
  std::vector<std::vector<std::pair<NodeId, std::int64_t>>> channels(program.graphs.size());
  for (const Meeting& m : meetings)
    for (auto [graph, node] : m.calls)
      channels[graph].emplace_back(node, static_cast<std::int64_t>(m.number));
  for (std::size_t i = 0; i < program.graphs.size(); ++i) {
    Graph& g = program.graphs[i];
    std::ranges::sort(channels[i],
                      [&](const auto& a, const auto& b) { return g.before(a.first, b.first); });
    std::int64_t highest = -1;
    for (auto [node, channel] : channels[i]) {
      bool changes = g[node].attr<std::int64_t>("channel") != channel;
      if (changes) g.set_attribute(node, "channel", channel);
      bool late = channel < highest;
      highest = std::max(highest, channel);
      g.remark({.where = shown(g, node),
                .what = fmt::format("{} channel {}", changes ? "gets" : "keeps", channel),
                .why = late ? "ranks of another graph start it earlier than this one does"
                            : "in list order"});
    }
  }
}

}  // namespace hocket

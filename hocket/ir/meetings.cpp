#include "hocket/ir/meetings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

namespace hocket {
namespace {

/// Joins calls that have a set of ranks and a channel in common.
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

constexpr std::size_t npos = ~std::size_t{0};

/// What graphs start in different orders gets a number nevertheless, or -1, as all that comes
/// behind.
enum class Contradicting : std::uint8_t { numbered, left_out };

std::vector<std::int64_t> number(const Meetings& meetings,
                                 const std::vector<std::vector<const Call*>>& parts,
                                 Contradicting contradicting) {
  std::size_t count = meetings.count;
  std::vector<std::size_t> earlier(count);  // calls right before, not numbered yet
  for (const Call& c : meetings.calls)
    if (const Call* next = meetings.next(c)) ++earlier[next->meeting];
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t m = 0; m < count; ++m)
    if (earlier[m] == 0) ready.push(m);
  std::vector<std::int64_t> numbers(count, -1);
  std::int64_t numbered = 0;
  for (std::size_t first = 0;;) {
    while (first < count && numbers[first] >= 0) ++first;
    bool stuck = ready.empty() && contradicting == Contradicting::left_out;
    if (first == count || stuck) return numbers;
    std::size_t m = first;
    if (!ready.empty()) {
      m = ready.top();
      ready.pop();
      if (numbers[m] >= 0) continue;
    }
    numbers[m] = numbered++;
    for (const Call* c : parts[m])
      if (const Call* next = meetings.next(*c); next && --earlier[next->meeting] == 0)
        ready.push(next->meeting);
  }
}

}  // namespace

bool has_channel(const Node& node) { return node.op->collective != nullptr; }

Meetings::Meetings(const Program& program) {
  Common common;
  for (std::size_t i = 0; i < program.graphs.size(); ++i) {
    const Graph& g = program.graphs[i];
    std::map<std::string, bool, std::less<>> alone;  // by group
    for (NodeId n : g.nodes()) {
      if (!has_channel(g[n])) continue;
      calls.push_back({i, n, calls.size()});
      common.add(calls.back().meeting);
      const auto& group = g[n].attr<std::string>("group");
      auto known = alone.find(group);
      if (known == alone.end()) known = alone.emplace(group, keeps_to_itself(g, group)).first;
      if (!known->second) common.join(g, n, calls.back().meeting);
    }
  }
  std::unordered_map<std::size_t, std::size_t> numbers;
  for (Call& c : calls)
    c.meeting = numbers.emplace(common.root(c.meeting), numbers.size()).first->second;
  count = numbers.size();
}

const Call* Meetings::next(const Call& c) const {
  const Call* following = &c + 1;
  bool last = following == calls.data() + calls.size() || following->graph != c.graph;
  return last ? nullptr : following;
}

std::vector<std::vector<const Call*>> Meetings::parts() const {
  std::vector<std::vector<const Call*>> parts(count);
  for (const Call& c : calls) parts[c.meeting].push_back(&c);
  return parts;
}

const Call* Meetings::previous(const Call& c) const {
  bool first = &c == calls.data() || (&c - 1)->graph != c.graph;
  return first ? nullptr : &c - 1;
}

std::vector<std::int64_t> Meetings::order() const {
  return number(*this, parts(), Contradicting::numbered);
}

std::optional<Contradiction> find_contradiction(const Meetings& meetings) {
  std::vector<std::vector<const Call*>> parts = meetings.parts();
  std::vector<std::int64_t> numbers = number(meetings, parts, Contradicting::left_out);
  auto open = std::ranges::find(numbers, -1);
  if (open == numbers.end()) return std::nullopt;
  // Before each that has no number some graph has another one: this way back comes to a circle. It
  // stays with a graph as long as it can.
  struct Edge {
    const Call *from, *to;
  };
  std::vector<Edge> way;
  std::vector<std::size_t> seen(meetings.count, npos);  // where on the way a meeting was left
  std::size_t at = static_cast<std::size_t>(open - numbers.begin());
  while (seen[at] == npos) {
    seen[at] = way.size();
    Edge edge{};
    for (const Call* c : parts[at]) {
      const Call* before = meetings.previous(*c);
      if (before == nullptr || numbers[before->meeting] >= 0) continue;
      bool stays = !way.empty() && way.back().from == c;
      if (edge.from == nullptr || stays) edge = {before, c};
    }
    way.push_back(edge);
    at = edge.from->meeting;
  }
  std::vector<Edge> circle(way.begin() + static_cast<std::ptrdiff_t>(seen[at]), way.end());
  // Where it goes on in another graph; the way back through a graph ends at its first call.
  auto changes = [&](std::size_t i) {
    return circle[i].from != circle[(i + 1) % circle.size()].to;
  };
  std::size_t start = 0, graphs = 0;
  for (std::size_t i = 0; i < circle.size(); ++i)
    if (changes(i)) {
      start = (i + 1) % circle.size();
      ++graphs;
    }
  std::size_t end = start;
  while (!changes(end)) end = (end + 1) % circle.size();
  return Contradiction{*circle[end].from, *circle[start].to, graphs};
}

}  // namespace hocket

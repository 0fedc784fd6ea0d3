#include "hocket/ir/collective_matching.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "hocket/base/disjoint_sets.h"

namespace hocket {
namespace {

/// Joins call sites that have a set of ranks and a channel in common.
class MatchSets {
 public:
  /// Call sites are added in ascending order of their numbers.
  void add() { joined_.add(); }
  void join(const Graph& g, NodeId n, std::uint32_t call) {
    const std::vector<int>& lowest = sets(g, g[n].attr<std::string>("group"));
    for (int rank : g.ranks()) {
      std::pair key(g[n].attr<std::int64_t>("channel"), lowest[static_cast<std::size_t>(rank)]);
      auto [it, fresh] = first_.emplace(key, call);
      if (!fresh) joined_.join(it->second, call);
    }
  }
  std::uint32_t find(std::uint32_t call) const { return joined_.find(call); }

 private:
  /// For each rank, the lowest rank of its set.
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

  DisjointSets joined_;
  std::map<std::pair<std::int64_t, int>, std::uint32_t> first_;  // by channel and set
  std::map<std::string, std::vector<int>, std::less<>> sets_;    // by group
};

constexpr std::size_t npos = ~std::size_t{0};

/// What to do with matches whose order differs between graphs: number them anyway, or give them and
/// all their successors -1.
enum class Conflicting : std::uint8_t { numbered, left_out };

std::vector<std::int64_t> number(const CollectiveMatching& matching,
                                 const std::vector<std::vector<const CallSite*>>& parts,
                                 Conflicting conflicting) {
  std::size_t count = matching.count;
  std::vector<std::size_t> earlier(count);  // number of direct predecessors without a number
  for (const CallSite& c : matching.calls)
    if (const CallSite* next = matching.next(c)) ++earlier[next->match];
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t m = 0; m < count; ++m)
    if (earlier[m] == 0) ready.push(m);
  std::vector<std::int64_t> numbers(count, -1);
  std::int64_t numbered = 0;
  for (std::size_t first = 0;;) {
    while (first < count && numbers[first] >= 0) ++first;
    bool stuck = ready.empty() && conflicting == Conflicting::left_out;
    if (first == count || stuck) return numbers;
    std::size_t m = first;
    if (!ready.empty()) {
      m = ready.top();
      ready.pop();
      if (numbers[m] >= 0) continue;
    }
    numbers[m] = numbered++;
    for (const CallSite* c : parts[m])
      if (const CallSite* next = matching.next(*c); next && --earlier[next->match] == 0)
        ready.push(next->match);
  }
}

}  // namespace

bool has_channel(const Node& node) { return node.op->collective != nullptr; }

CollectiveMatching::CollectiveMatching(const Program& program) {
  MatchSets sets;
  for (std::size_t i = 0; i < program.graphs.size(); ++i) {
    const Graph& g = program.graphs[i];
    std::map<std::string, bool, std::less<>> alone;  // by group
    for (NodeId n : g.nodes()) {
      if (!has_channel(g[n])) continue;
      calls.push_back({i, n, calls.size()});
      sets.add();
      const auto& group = g[n].attr<std::string>("group");
      auto known = alone.find(group);
      if (known == alone.end()) known = alone.emplace(group, keeps_to_itself(g, group)).first;
      if (!known->second) sets.join(g, n, static_cast<std::uint32_t>(calls.size() - 1));
    }
  }
  std::unordered_map<std::uint32_t, std::size_t> numbers;
  for (std::uint32_t i = 0; i < calls.size(); ++i)
    calls[i].match = numbers.emplace(sets.find(i), numbers.size()).first->second;
  count = numbers.size();
}

const CallSite* CollectiveMatching::next(const CallSite& c) const {
  const CallSite* following = &c + 1;
  bool last = following == calls.data() + calls.size() || following->graph != c.graph;
  return last ? nullptr : following;
}

std::vector<std::vector<const CallSite*>> CollectiveMatching::by_match() const {
  std::vector<std::vector<const CallSite*>> parts(count);
  for (const CallSite& c : calls) parts[c.match].push_back(&c);
  return parts;
}

const CallSite* CollectiveMatching::previous(const CallSite& c) const {
  bool first = &c == calls.data() || (&c - 1)->graph != c.graph;
  return first ? nullptr : &c - 1;
}

std::vector<std::int64_t> CollectiveMatching::order() const {
  return number(*this, by_match(), Conflicting::numbered);
}

std::optional<OrderConflict> find_order_conflict(const CollectiveMatching& matching) {
  std::vector<std::vector<const CallSite*>> parts = matching.by_match();
  std::vector<std::int64_t> numbers = number(matching, parts, Conflicting::left_out);
  auto open = std::ranges::find(numbers, -1);
  if (open == numbers.end()) return std::nullopt;
  // A match without a number has a predecessor without a number in some graph, so a backward walk
  // ends in a cycle. The walk stays in one graph as long as possible.
  struct Edge {
    const CallSite *from, *to;
  };
  std::vector<Edge> walk;
  std::vector<std::size_t> seen(matching.count, npos);  // position on the walk, by match
  std::size_t at = static_cast<std::size_t>(open - numbers.begin());
  while (seen[at] == npos) {
    seen[at] = walk.size();
    Edge edge{};
    for (const CallSite* c : parts[at]) {
      const CallSite* before = matching.previous(*c);
      if (before == nullptr || numbers[before->match] >= 0) continue;
      bool stays = !walk.empty() && walk.back().from == c;
      if (edge.from == nullptr || stays) edge = {before, c};
    }
    walk.push_back(edge);
    at = edge.from->match;
  }
  std::vector<Edge> cycle(walk.begin() + static_cast<std::ptrdiff_t>(seen[at]), walk.end());
  // True where the walk changes to another graph.
  auto changes = [&](std::size_t i) { return cycle[i].from != cycle[(i + 1) % cycle.size()].to; };
  std::size_t start = 0, graphs = 0;
  for (std::size_t i = 0; i < cycle.size(); ++i)
    if (changes(i)) {
      start = (i + 1) % cycle.size();
      ++graphs;
    }
  std::size_t end = start;
  while (!changes(end)) end = (end + 1) % cycle.size();
  return OrderConflict{*cycle[end].from, *cycle[start].to, graphs};
}

}  // namespace hocket

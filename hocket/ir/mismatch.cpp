#include "hocket/ir/mismatch.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/ir/collective_matching.h"

namespace hocket {
namespace {

/// True if the operand types fit together. In an all_to_all the number of rows may differ between
/// ranks.
bool fit(const Collective& c, const Type& a, const Type& b) {
  if (c.result != ResultSize::by_rows || a.shape.empty()) return a == b;
  return a.dtype == b.dtype && a.shape.size() == b.shape.size() &&
         std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1);
}

bool lists_rows(const Op& op, std::size_t attribute) {
  return op.collective->result == ResultSize::by_rows &&
         op.attributes[attribute].kind == AttributeKind::ints;
}

std::string operands_text(const Graph& g, NodeId n) {
  std::string text = fmt::format("{} of", g[n].op->name);
  for (Value v : g[n].inputs) text += " " + to_text(g.type(v).ready());
  return text;
}

/// The other rank of a send or recv by `rank`; -1 if the group has no such rank.
int peer_of(const Graph& g, NodeId n, int rank) {
  std::vector<int> set = g.world().members(g[n].attr<std::string>("group"), rank);
  auto peer = g[n].attr<std::int64_t>(g[n].op->collective->peer);
  return peer < 0 || peer >= std::ssize(set) ? -1 : set[static_cast<std::size_t>(peer)];
}

class Comparison {
 public:
  explicit Comparison(const Program& program) : program_(program) {
    graph_of_.resize(static_cast<std::size_t>(program.world->ranks()));
    for (std::size_t i = 0; i < program.graphs.size(); ++i)
      for (int rank : ranks_of(program.graphs[i])) graph_of_[static_cast<std::size_t>(rank)] = i;
  }

  std::optional<ProgramViolation> compare(const std::vector<const CallSite*>& match) const {
    const CallSite& first = *match.front();
    for (const CallSite* c : match) {
      std::optional<ProgramViolation> found;
      if (collective(first).point_to_point && collective(*c).point_to_point)
        found = compare_ends(*c, match);
      else
        found = compare(first, *c);
      if (found) return found;
    }
    return std::nullopt;
  }

 private:
  const Graph& graph(const CallSite& c) const { return program_.graphs[c.graph]; }
  const Collective& collective(const CallSite& c) const { return *graph(c)[c.node].op->collective; }

  std::string shown(const CallSite& c) const {
    const Node& node = graph(c)[c.node];
    return node.result_count > 0 ? "%" + graph(c).name(graph(c).result(c.node))
                                 : std::string(node.op->name);
  }

  std::optional<ProgramViolation> compare(const CallSite& a, const CallSite& b) const {
    auto mismatch = find_mismatch(graph(a), a.node, graph(b), b.node);
    if (!mismatch) return std::nullopt;
    return ProgramViolation{
        b.graph, b.node,
        fmt::format("graph {}: {} calls {} on channel {}, but {} of graph {} calls {} [matching]",
                    graph(b).name(), shown(b), mismatch->second,
                    graph(b)[b.node].attr<std::int64_t>("channel"), shown(a), graph(a).name(),
                    mismatch->first)};
  }

  /// Compares the two ends of each transfer. Several pairs of ranks may use one channel of a group
  /// independently.
  std::optional<ProgramViolation> compare_ends(const CallSite& c,
                                               const std::vector<const CallSite*>& match) const {
    const Graph& g = graph(c);
    for (int rank : g.ranks()) {
      int peer = peer_of(g, c.node, rank);
      if (peer < 0) continue;
      auto other = std::ranges::find(match, graph_of_[static_cast<std::size_t>(peer)],
                                     [](const CallSite* d) { return d->graph; });
      if (other == match.end()) continue;
      const Node &mine = g[c.node], &theirs = graph(**other)[(*other)->node];
      bool pair = theirs.op == mine.op->partner &&
                  theirs.attr<std::string>("group") == mine.attr<std::string>("group") &&
                  peer_of(graph(**other), (*other)->node, peer) == rank;
      if (!pair) continue;
      if (auto found = compare(c, **other)) return found;
    }
    return std::nullopt;
  }

  const Program& program_;
  std::vector<std::size_t> graph_of_;  // by rank
};

}  // namespace

std::optional<Mismatch> find_mismatch(const Graph& g, NodeId n, const Graph& other, NodeId m) {
  const Node &a = g[n], &b = other[m];
  if (a.op->partner != nullptr && a.op->partner == b.op) {
    Type one = g.type(g.result(n)).ready(), two = other.type(other.result(m)).ready();
    if (one == two) return std::nullopt;
    return Mismatch{fmt::format("{} of {}", a.op->name, to_text(one)),
                    fmt::format("{} of {}", b.op->name, to_text(two))};
  }
  if (a.op != b.op) return Mismatch{std::string(a.op->name), std::string(b.op->name)};
  auto one = a.attributes.values(), two = b.attributes.values();
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (same(one[i], two[i]) || lists_rows(*a.op, i)) continue;
    std::string_view name = a.op->attributes[i].name;
    return Mismatch{fmt::format("{} with {}={}", a.op->name, name, to_text(one[i])),
                    fmt::format("{} with {}={}", b.op->name, name, to_text(two[i]))};
  }
  auto agree = [&](Value v, Value w) {
    return fit(*a.op->collective, g.type(v).ready(), other.type(w).ready());
  };
  if (std::ranges::equal(a.inputs, b.inputs, agree)) return std::nullopt;
  return Mismatch{operands_text(g, n), operands_text(other, m)};
}

std::optional<ProgramViolation> find_mismatch(const Program& program) {
  if (program.graphs.size() < 2) return std::nullopt;
  Comparison comparison(program);
  const CollectiveMatching matching(program);
  for (const std::vector<const CallSite*>& match : matching.by_match())
    if (match.size() > 1)
      if (auto found = comparison.compare(match)) return found;
  return std::nullopt;
}

}  // namespace hocket

#include "hocket/passes/precedence.h"

#include <map>
#include <string>

#include "hocket/ir/program.h"

namespace hocket {
namespace {

struct Edge {
  NodeId from, to;
};

/// Readers of a state that stand before the node that makes its next value.
void add_holds(const Graph& g, std::vector<Edge>& edges) {
  for (const Input& in : g.inputs()) {
    if (!in.state) continue;
    Value next = g.next(in.value);
    if (!next || g.is_input(g.node(next))) continue;
    NodeId maker = g.node(next);
    for (Use use : g.uses(in.value))
      if (g.before(use.node, maker)) edges.push_back({use.node, maker});
  }
}

/// A chain through all that other ranks see in this order.
void add_effects(const Graph& g, std::vector<Edge>& edges) {
  std::map<std::string, bool> ours;
  NodeId last;
  for (NodeId n : g.nodes()) {
    const Node& node = g[n];
    bool shared = node.op->effect;
    if (!shared && node.op->starts && !g.ranks().empty()) {
      const auto& group = node.attr<std::string>("group");
      auto [it, fresh] = ours.emplace(group, false);
      if (fresh) it->second = keeps_to_itself(g, group);
      shared = !it->second;
    }
    if (!shared) continue;
    if (last) edges.push_back({last, n});
    last = n;
  }
}

}  // namespace

Precedence::Precedence(const Graph& g)
    : graph_(g), position_(g.node_bound()), starts_(g.node_bound() + 1) {
  for (NodeId n : g.nodes()) {
    nodes_.push_back(n);
    position_[n.index] = static_cast<std::uint32_t>(nodes_.size());
  }
  std::vector<Edge> edges;
  add_holds(g, edges);
  add_effects(g, edges);
  for (const Edge& e : edges) ++starts_[e.to.index + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  std::vector<std::uint32_t> at(starts_.begin(), starts_.end() - 1);
  more_.resize(edges.size());
  for (const Edge& e : edges) more_[at[e.to.index]++] = e.from;
}

std::vector<NodeId> Precedence::before(NodeId n) const {
  std::vector<NodeId> list;
  for (Value v : graph_[n].inputs)
    if (NodeId from = graph_.node(v); !graph_.is_input(from)) list.push_back(from);
  list.insert(list.end(), more_.begin() + starts_[n.index], more_.begin() + starts_[n.index + 1]);
  return list;
}

}  // namespace hocket

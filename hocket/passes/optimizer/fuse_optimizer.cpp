#include "hocket/passes/optimizer/fuse_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "hocket/ops/constant.h"
#include "hocket/passes/analysis/dependencies.h"
#include "hocket/passes/framework/node_names.h"
#include "hocket/passes/optimizer/optimizer_lists.h"

namespace hocket {
namespace {

/// A text that is equal for equal scalars: the bytes of a constant, otherwise the index of the
/// value.
std::string number_text(const Graph& g, Value v) {
  std::optional<Tensor> value = ops::constant_value(g, v);
  if (!value) return fmt::format("%{}", v.index);
  std::string text = to_text(value->type());
  for (std::byte b : std::as_const(*value).bytes()) text += fmt::format(" {:02x}", b);
  return text;
}

/// What joined optimizers must have in common besides attributes: operands outside of lists, and
/// which lists are empty.
std::string hyper_parameters(const Graph& g, const Node& node) {
  std::string key = fmt::format("{} delay {} stage {}", node.op->name, node.delay, node.stage);
  for (std::size_t s = 0; s < node.op->operands.size(); ++s) {
    bool list = node.op->operands[s].count == Count::many;
    key += list && !node.slot(s).empty() ? " list" : " [";
    if (!list)
      for (Value v : node.slot(s)) key += " " + number_text(g, v);
  }
  return key;
}

std::string attributes(const Node& node) {
  std::string key;
  for (const Attribute& a : node.attributes.values()) append(key += ' ', a);
  return key;
}

/// Optimizer nodes to join, in list order.
using Group = std::vector<NodeId>;

/// Groups of optimizers that can be joined, including groups of one node. Remarks say why others
/// cannot.
std::vector<Group> find_groups(Graph& g, const Dependencies& order) {
  std::vector<std::uint32_t> depth(g.node_bound());  // optimizers on the longest path to a node
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> index;
  std::unordered_map<std::string, NodeId> alike, same_op;  // the first such node, at any depth
  for (NodeId n : order.nodes()) {
    const Node& node = g[n];
    order.for_each_before(n, [&](NodeId before) {
      depth[n.index] =
          std::max(depth[n.index], depth[before.index] + (g[before].op->is_optimizer ? 1 : 0));
    });
    if (!node.op->is_optimizer || parameter_count(node) == 0) continue;
    std::string key = hyper_parameters(g, node) + attributes(node);
    auto [group, fresh] =
        index.emplace(fmt::format("{} depth {}", key, depth[n.index]), groups.size());
    if (fresh) groups.emplace_back();
    groups[group->second].push_back(n);
    auto [first, new_key] = alike.emplace(std::move(key), n);
    auto [other, new_op] = same_op.emplace(node.op->name, n);
    if (fresh && !new_key)
      g.remark({.where = shown(g, n),
                .what = "not joined with " + shown(g, first->second),
                .why = "it depends on another optimizer"});
    else if (new_key && !new_op)
      g.remark({.where = shown(g, n),
                .what = "not joined with " + shown(g, other->second),
                .why = attributes(node) != attributes(g[other->second])
                           ? "attributes differ"
                           : "operands beside the lists, empty lists, delay or stage differ"});
  }
  return groups;
}

/// Joins the groups in one walk along the list. A unit is a node or a group of nodes to join. A
/// unit that depends on a later unit is held back and placed right behind it.
class Joiner {
 public:
  Joiner(Graph& g, const Dependencies& order, std::vector<Group> groups)
      : graph_(g),
        order_(order),
        groups_(std::move(groups)),
        unit_(g.node_bound()),
        missing_(g.node_bound(), 1),
        done_(g.node_bound()) {
    for (NodeId n : order.nodes()) unit_[n.index] = n;
    for (const Group& group : groups_) {
      for (NodeId n : group) unit_[n.index] = group.back();
      missing_[group.back().index] = static_cast<std::uint32_t>(group.size());
      group_of_.emplace(group.back(), &group);
    }
  }

  void run() {
    for (NodeId n : order_.nodes()) {
      NodeId unit = unit_[n.index], following = graph_.following(n);
      order_.for_each_before(n, [&](NodeId before) { wait_for(unit, before); });
      --missing_[unit.index];
      if (missing_[unit.index] != 0) continue;
      ready_.push(order_.position(unit));
      while (!ready_.empty()) {
        NodeId next = order_.nodes()[ready_.top() - 1];
        ready_.pop();
        finish(next, next == n ? n : following);
      }
    }
  }

 private:
  void wait_for(NodeId unit, NodeId before) {
    if (order_.position(before) == 0) return;  // a joined node, already placed
    NodeId other = unit_[before.index];
    if (other == unit || done_[other.index]) return;
    ++missing_[unit.index];
    waiting_[other].push_back(unit);
  }

  /// Places a unit before `place`; it stays where it is if `place` is the unit itself.
  void finish(NodeId unit, NodeId place) {
    done_[unit.index] = true;
    if (auto group = group_of_.find(unit); group != group_of_.end())
      join(*group->second, place);
    else if (place != unit)
      graph_.move_before(unit, place);
    auto waiting = waiting_.find(unit);
    if (waiting == waiting_.end()) return;
    for (NodeId w : waiting->second)
      if (--missing_[w.index] == 0) ready_.push(order_.position(w));
    waiting_.erase(waiting);
  }

  void join(const Group& group, NodeId place) {
    std::vector<OptimizerPart> parts;
    for (NodeId n : group) {
      parts.push_back({n, std::vector<std::uint32_t>(parameter_count(graph_[n]))});
      std::iota(parts.back().positions.begin(), parts.back().positions.end(), 0);
    }
    graph_.remark({.where = shown(graph_, group[0]),
                   .what = fmt::format("{} optimizers joined", group.size()),
                   .why = "their hyper-parameters are the same"});
    assemble(graph_, parts, place);
    for (NodeId n : group) graph_.erase(n);
  }

  Graph& graph_;
  const Dependencies& order_;
  std::vector<Group> groups_;
  std::vector<NodeId> unit_;            // by node: itself, or the last of its group
  std::vector<std::uint32_t> missing_;  // by unit: members not visited, units that must come first
  std::vector<bool> done_;              // by unit
  std::unordered_map<NodeId, const Group*> group_of_;  // by unit
  std::unordered_map<NodeId, std::vector<NodeId>> waiting_;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>
      ready_;  // positions
};

}  // namespace

void fuse_optimizer(Graph& g, const NoOptions&) {
  const Dependencies order(g, Holds::strict);
  std::vector<Group> groups = find_groups(g, order);
  std::erase_if(groups, [](const Group& group) { return group.size() < 2; });
  if (!groups.empty()) Joiner(g, order, std::move(groups)).run();
}

}  // namespace hocket

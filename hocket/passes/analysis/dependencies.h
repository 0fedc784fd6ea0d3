#pragma once
// The dependency graph of nodes: the only place that derives order constraints.

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// A list of nodes for each node, stored in one array.
class NodeLists {
 public:
  struct Entry {
    NodeId node, listed;
  };
  NodeLists() = default;
  /// Each list has the order of the entries.
  NodeLists(std::size_t node_bound, std::span<const Entry> entries);
  std::span<const NodeId> operator[](NodeId n) const {
    if (n.index + 1 >= starts_.size()) return {};
    return std::span(nodes_).subspan(starts_[n.index], starts_[n.index + 1] - starts_[n.index]);
  }

 private:
  std::vector<std::uint32_t> starts_;  // by node, plus the end; empty without entries
  std::vector<NodeId> nodes_;
};

/// A hold edge leads from a reader of a state to the node that computes the next value of that
/// state, if the reader comes first:
///
///     %a = neg(%s)         reader --+
///     %b = add(%a, %x)              | hold
///     %u = mul(%b, %x)     maker  <-+
///     next %s = %u
///
/// As long as the reader comes first, the next value can reuse the memory of the state.
enum class Holds : std::uint8_t {
  none,
  in_flight,  ///< strict, for pending states: two transfers in flight would need two buffers
  strict,     ///< for all states
  soft  ///< a preference, for states whose readers all come before the node with the next value
};

/// The dependency graph over the nodes of a plain graph or a loop body, without inputs and return.
/// Any order of the nodes that respects its edges has the same semantics. An edge leads
///
/// - from a node to the readers of its results;
/// - from effects, and collectives that ranks with another graph take part in, to the next such
///   node: those ranks would start them in another order otherwise;
/// - from the last of these before a wait to the wait, if it waits for one of them: moved further
///   up, the wait could block its rank before a call that its partner needs;
/// - from a barrier to the collectives of its group after it, and from those before it to the
///   barrier;
/// - along hold edges, as selected by `Holds`.
///
/// Operand edges are read from the graph, so edits of operands are seen at once. All other edges
/// and positions are those of the list as it stood when this was made. O(nodes + uses of states).
class Dependencies {
 public:
  Dependencies(const Graph& g, Holds holds);

  /// The nodes in list order, as it was at construction.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  /// The index in nodes(), from 1; 0 for inputs and for nodes added later.
  std::uint32_t position(NodeId n) const {
    return n.index < position_.size() ? position_[n.index] : 0;
  }

  /// The number of indices i for which before(n, i) may be called.
  std::size_t size_before(NodeId n) const {
    return graph_[n].inputs.size() + more_before_[n].size();
  }
  /// The node that the i-th edge to n comes from; none if it is an operand that is an input.
  NodeId before(NodeId n, std::size_t i) const {
    const auto& operands = graph_[n].inputs;
    if (i >= operands.size()) return more_before_[n][i - operands.size()];
    NodeId from = graph_.node(operands[i]);
    return graph_.is_input(from) ? NodeId{} : from;
  }
  /// Calls `visit` for every edge to n, with the node that it comes from.
  template <class Visit>
  void for_each_before(NodeId n, Visit visit) const {
    for (std::size_t i = 0, size = size_before(n); i < size; ++i)
      if (NodeId from = before(n, i)) visit(from);
  }
  /// Calls `visit` for every edge from n, with the node that it leads to.
  template <class Visit>
  void for_each_behind(NodeId n, Visit visit) const {
    for (std::uint32_t i = 0; i < graph_[n].result_count; ++i)
      for (Use use : graph_.uses(graph_.result(n, i)))
        if (use.node != graph_.return_node()) visit(use.node);
    for (NodeId to : more_behind_[n]) visit(to);
  }
  /// The edges to (from) a node other than operand edges.
  std::span<const NodeId> more_before(NodeId n) const { return more_before_[n]; }
  std::span<const NodeId> more_behind(NodeId n) const { return more_behind_[n]; }
  /// Soft hold edges to (from) a node. They are in none of the lists above.
  std::span<const NodeId> soft_before(NodeId n) const { return soft_before_[n]; }
  std::span<const NodeId> soft_behind(NodeId n) const { return soft_behind_[n]; }

 private:
  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::vector<std::uint32_t> position_;  // by node
  NodeLists more_before_, more_behind_, soft_before_, soft_behind_;
};

}  // namespace hocket

#include "hocket/passes/analysis/gradients.h"

#include <algorithm>

#include "hocket/passes/optimizer/element_rows.h"

namespace hocket {
namespace {

/// By value: true if it leaves the graph other than as next value of a parameter or optimizer state
/// or, with `returned`, as an output.
std::vector<bool> seen_elsewhere(const Graph& g, bool returned) {
  std::vector<bool> elsewhere(g.value_bound());
  for (const Output& o : g.outputs()) elsewhere[o.value.index] = !returned;
  for (const Input& in : g.inputs()) {
    if (!in.state || in.kind == StateKind::parameter || in.kind == StateKind::optimizer) continue;
    if (Value next = g.next(in.value)) elsewhere[next.index] = true;
  }
  return elsewhere;
}

/// By node: true if every path from its results ends in a next value of a parameter or optimizer
/// state, and passes only through readers that `accept` allows.
template <class Accept>
std::vector<bool> ends_in_updates(const Graph& g, bool returned, Accept accept) {
  std::vector<bool> elsewhere = seen_elsewhere(g, returned), ends(g.node_bound());
  for (NodeId n : reversed(g.nodes())) {
    bool all = true;
    for (std::uint32_t i = 0; all && i < g[n].result_count; ++i) {
      Value v = g.result(n, i);
      all = !elsewhere[v.index] && std::ranges::all_of(g.uses(v), [&](Use use) {
        return use.node == g.return_node() || (ends[use.node.index] && accept(use.node));
      });
    }
    ends[n.index] = all;
  }
  return ends;
}

/// By value: true if it depends on the batch of this iteration only through waits in `updates`, or
/// if it is a scalar.
std::vector<bool> independent_values(const Graph& g, const std::vector<bool>& updates) {
  std::vector<bool> independent(g.value_bound());
  for (const Input& in : g.inputs())
    independent[in.value.index] = in.state || g.type(in.value).shape.empty();
  for (NodeId n : g.nodes()) {
    const Node& node = g[n];
    bool all = (node.op->is_wait && updates[n.index]) ||
               std::ranges::all_of(node.inputs, [&](Value v) { return independent[v.index]; });
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      Value v = g.result(n, i);
      independent[v.index] = all || (!node.op->is_collective && g.type(v).shape.empty());
    }
  }
  return independent;
}

}  // namespace

std::vector<bool> find_gradient_collectives(const Graph& g, bool returned) {
  std::vector<bool> updates = ends_in_updates(g, returned, [](NodeId) { return true; });
  std::vector<bool> independent = independent_values(g, updates);
  std::vector<bool> settled = ends_in_updates(g, returned, [&](NodeId reader) {
    // The tensors of a list are independent, so other operands do not affect a result.
    return g[reader].op->is_wait || has_lists(g[reader]) ||
           std::ranges::all_of(g[reader].inputs, [&](Value v) { return independent[v.index]; });
  });
  for (NodeId n : g.nodes())
    if (!g[n].op->is_collective) settled[n.index] = false;
  return settled;
}

}  // namespace hocket

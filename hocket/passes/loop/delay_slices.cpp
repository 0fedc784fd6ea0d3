#include "hocket/passes/loop/delay_slices.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "hocket/base/error.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/place.h"
#include "hocket/iter/rotate.h"
#include "hocket/passes/analysis/dependencies.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

/// Moves every slice from the front of the body, where rotate placed all of them, in front of its
/// own first reader.
class Placing {
 public:
  Placing(Graph& g, const SlicedGraph& sliced)
      : g_(g), order_(g, Holds::in_flight), slice_(g.node_bound(), none) {
    for (std::size_t i = 0; i < sliced.slices.size(); ++i)
      if (sliced.moves(i)) {
        for (NodeId n : sliced.slices[i].nodes) slice_[n.index] = i;
        for (NodeId n : sliced.slices[i].collectives) slice_[n.index] = i;
      }
    nodes_.resize(sliced.slices.size());
    places_.assign(sliced.slices.size(), g.return_node());
    for (NodeId n : std::as_const(g).nodes())
      if (std::as_const(g)[n].delay > 0 && !std::as_const(g)[n].op->is_collective) note(n);
  }

  void run(const SlicedGraph& sliced) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].empty()) continue;
      for (NodeId n : nodes_[i]) g_.move_before(n, places_[i]);
      bool starts = sliced.delays[i] == Delay::start;
      g_.remark({.where = shown(g_, sliced.slices[i].collectives.back()),
                 .what = fmt::format("{} in the next iteration, in front of {}",
                                     starts ? "started, and waited for," : "waited for",
                                     shown(g_, places_[i])),
                 .why = starts ? "what other transfers update is needed earlier"
                               : "the transfer overlaps with the next iteration"});
    }
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  void note(NodeId n) {
    const Node& node = g_[n];
    for (Value v : node.inputs)  // a node added by rotate belongs to the slice that it reads
      if (slice_[n.index] == none) slice_[n.index] = slice_[g_.node(v).index];
    std::size_t slice = slice_[n.index];
    if (slice == none)
      internal_fail("cross-iteration: {} has a delay and belongs to no update slice",
                    g_.describe(n));
    nodes_[slice].push_back(n);
    order_.for_each_behind(n, [&](NodeId behind) {
      if (g_[behind].delay == 0) bound(slice, behind);
    });
  }
  void bound(std::size_t slice, NodeId place) {
    if (g_.before(place, places_[slice])) places_[slice] = place;
  }

  Graph& g_;
  Dependencies order_;
  std::vector<std::size_t> slice_;  // by node
  std::vector<std::vector<NodeId>> nodes_;
  std::vector<NodeId> places_;
};

/// The first node that stays and is not loop-invariant. No node in front of it depends on a delayed
/// slice.
NodeId front(const Graph& g, std::span<const NodeId> moved) {
  const Lags lags(g);
  std::vector<bool> moves(g.node_bound());
  for (NodeId n : moved) moves[n.index] = true;
  for (NodeId n : g.nodes())
    if (!moves[n.index] && !lags.timeless(n)) return n;
  return {};  // all nodes are delayed: rotate chooses a place
}

}  // namespace

void delay_slices(const SlicedGraph& sliced) {
  Graph& g = *sliced.graph;
  std::vector<NodeId> nodes;
  std::vector<std::pair<std::uint32_t, NodeId>> starts;  // position needed, node
  for (std::size_t i = 0; i < sliced.slices.size(); ++i) {
    const UpdateSlice& slice = sliced.slices[i];
    if (!sliced.moves(i)) continue;
    nodes.insert(nodes.end(), slice.nodes.begin(), slice.nodes.end());
    if (sliced.delays[i] == Delay::start)
      starts.emplace_back(sliced.needed[i], slice.collectives[0]);
  }
  if (nodes.empty()) return;
  for (auto [needed, n] : starts) nodes.push_back(n);
  std::ranges::sort(nodes, [&](NodeId a, NodeId b) { return g.before(a, b); });
  NodeId place = front(g, nodes);
  rotate(g, nodes, 1, {.before = place});
  Placing(g, sliced).run(sliced);
  // Collectives go before updates that are already at the front, since updates wait for
  // collectives.
  std::ranges::stable_sort(starts, {}, &std::pair<std::uint32_t, NodeId>::first);
  if (starts.empty()) return;
  nodes.clear();
  for (auto [needed, n] : starts) nodes.push_back(n);
  place_block(g, nodes, first_that_changes(g));
}

}  // namespace hocket

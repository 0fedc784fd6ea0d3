#include "hocket/passes/loop/cross_iteration.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "hocket/base/error.h"
#include "hocket/ir/collective_matching.h"
#include "hocket/iter/lags.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/work.h"
#include "hocket/passes/analysis/gradients.h"
#include "hocket/passes/analysis/own_groups.h"
#include "hocket/passes/framework/node_names.h"
#include "hocket/passes/loop/delay_slices.h"
#include "hocket/passes/loop/move_collectives.h"

namespace hocket {
namespace {

constexpr std::string_view stays = "stays in its iteration";

// ---- candidates

/// By node: a collective or effect that depends on it; an effect if there are both.
std::vector<NodeId> find_later_starts(const Graph& g) {
  std::vector<NodeId> later(g.node_bound());
  for (NodeId n : reversed(g.nodes()))
    for (Value v : g.results(n))
      for (Use use : g.uses(v)) {
        if (use.node == g.return_node()) continue;
        const Op& op = *g[use.node].op;
        NodeId found = op.is_collective || op.has_effect ? use.node : later[use.node.index];
        if (found && !(later[n.index] && g[later[n.index]].op->has_effect)) later[n.index] = found;
      }
  return later;
}

/// Gradient collectives that no other collective depends on.
std::vector<NodeId> find_candidates(Graph& g) {
  std::vector<bool> gradients = find_gradient_collectives(g, true);
  std::vector<NodeId> later = find_later_starts(g), found;
  for (NodeId n : std::as_const(g).nodes()) {
    if (!gradients[n.index]) continue;
    NodeId next = later[n.index];
    if (!next)
      found.push_back(n);
    else
      g.remark(
          {.where = shown(g, n),
           .what = std::string(stays),
           .why = fmt::format("{} depends on it, {}", shown(g, next),
                              g[next].op->has_effect ? "which is an effect"
                                                     : "and only the last in a row can move")});
  }
  return found;
}

/// True if the slice reduces only scalars but updates tensors, so that the scalars are not the
/// gradients of these tensors.
bool brings_numbers(const Graph& g, const UpdateSlice& s) {
  auto is_number = [&](Value v) { return g.type(v).shape.empty(); };
  return !std::ranges::all_of(s.states, is_number) &&
         std::ranges::all_of(s.collectives,
                             [&](NodeId n) { return std::ranges::all_of(g[n].inputs, is_number); });
}

/// Why a slice cannot move; nothing when it can.
std::optional<Remark> refusal(const Graph& g, const UpdateSlice& s) {
  std::string read = s.returned ? fmt::format("{} reads {}", s.output, shown(g, s.returned)) : "";
  if (s.number)
    return Remark{
        .where = shown(g, s.number),
        .what = fmt::format("keeps {} collectives in their iteration", s.collectives.size()),
        .why = "it depends on the gradients of all of them, and " +
               (read.empty() ? "the updates depend on it" : read)};
  Remark remark{.where = shown(g, s.collectives.back()), .what = std::string(stays)};
  if (s.returned)
    remark.why = read;
  else if (brings_numbers(g, s))
    remark.why = "it reduces single numbers, and updates that could run without it would wait";
  else
    return std::nullopt;
  return remark;
}

// ---- the choice

/// By node: its position on the time axis and its slice.
struct Places {
  std::vector<std::uint32_t> position;
  std::vector<const UpdateSlice*> slice;
  std::uint32_t end = 0;  // of the time axis
};

BucketPlace place_of(const Graph& g, const UpdateSlice& s, const Places& at) {
  const auto& position = at.position;
  BucketPlace place{.start = position[s.collectives.back().index]};
  place.needed = position[s.collectives.front().index];  // a collective, which reuses the buffer of
                                                         // its transfer
  place.update = position[s.nodes.back().index];
  for (NodeId n : s.collectives) place.bytes += link_bytes(g, n);
  place.startable = s.collectives.size() == 1 && !g[s.collectives[0]].op->has_effect;
  for (NodeId n : s.nodes)
    if (g[n].op->is_wait && position[n.index] > place.start)
      place.update = std::min(place.update, position[n.index]);
  for (Value state : s.states)
    for (Use use : g.uses(state))
      if (use.node != g.return_node() && at.slice[use.node.index] != &s)
        place.needed = std::min(place.needed, position[use.node.index]);
  return place;
}

/// The place of a collective that belongs to no slice and does not move.
BucketPlace fixed_place(const Graph& g, NodeId collective, const Places& at) {
  std::uint32_t start = at.position[collective.index];
  BucketPlace place{.start = start,
                    .update = at.end - 1,
                    .needed = start,
                    .bytes = link_bytes(g, collective),
                    .fixed = true};
  for (Value v : g.results(collective))
    for (Use use : g.uses(v))
      if (use.node != g.return_node())
        place.update = std::min(place.update, at.position[use.node.index]);
  return place;
}

/// Gives every node its position on a time axis on which the length of a node is its work, and
/// returns the end of the axis. At least 1/16 of the axis is divided equally among the nodes, so
/// that positions are distinct.
std::uint32_t lay_out(const Graph& g, std::vector<std::uint32_t>& position) {
  constexpr double bytes_per_flop = 1;  // an assumption, since the machine is not known here
  std::vector<double> work(g.node_bound());
  double total = 0;
  for (NodeId n : g.nodes()) {
    const Op& op = *g[n].op;
    if (op.is_collective || op.is_wait) continue;
    work[n.index] = flops(g, n) * bytes_per_flop + bytes_moved(g, n);
    total += work[n.index];
  }
  auto count = static_cast<double>(g.size());
  double scale = total > 0 ? std::min(15 * count, 4e9 - count) / total : 0, at = 0;
  for (NodeId n : g.nodes()) {
    position[n.index] = static_cast<std::uint32_t>(at);
    at += 1 + work[n.index] * scale;
  }
  return static_cast<std::uint32_t>(at) + 1;
}

/// Cuts optimizers by slice and returns the update slices that can be delayed. Remarks give the
/// reason for others.
std::vector<UpdateSlice> find_movable(Graph& g) {
  std::vector<UpdateSlice> movable;
  std::vector<NodeId> candidates = find_candidates(g);
  if (candidates.empty()) return movable;
  cut_optimizers(g, candidates, SliceFrom::wait);
  for (UpdateSlice& slice : find_slices(g, candidates, SliceFrom::wait)) {
    if (!slice.updates) continue;  // for example a loss that is summed over the ranks
    if (std::optional<Remark> remark = refusal(g, slice))
      g.remark(std::move(*remark));
    else
      movable.push_back(std::move(slice));
  }
  return movable;
}

/// The slices, then the collectives that belong to none.
std::vector<BucketPlace> find_places(const Graph& g, std::span<const UpdateSlice> slices,
                                     std::uint32_t& length) {
  Places at{std::vector<std::uint32_t>(g.node_bound()),
            std::vector<const UpdateSlice*>(g.node_bound())};
  length = at.end = lay_out(g, at.position);
  std::vector<bool> moves(g.node_bound());
  for (const UpdateSlice& slice : slices) {
    for (NodeId n : slice.nodes) at.slice[n.index] = &slice;
    for (NodeId n : slice.collectives) moves[n.index] = true;
  }
  std::vector<BucketPlace> places;
  OwnGroups own(g);
  for (const UpdateSlice& slice : slices) {
    places.push_back(place_of(g, slice, at));
    // Ranks with another graph would have to delay their start, too.
    places.back().startable &= own.owns(g[slice.collectives[0]]);
  }
  for (NodeId n : g.nodes())
    if (g[n].op->is_collective && !moves[n.index]) places.push_back(fixed_place(g, n, at));
  return places;
}

SlicedGraph choose_delays(Graph& g, const ChooseDelayed& choose) {
  SlicedGraph sliced{.graph = &g};
  if (is_rotated(g)) {
    g.remark({.where = g.name(), .what = "left alone", .why = "it has delays already"});
    return sliced;
  }
  sliced.slices = find_movable(g);
  if (sliced.slices.empty()) return sliced;
  std::uint32_t length = 0;
  std::vector<BucketPlace> places = find_places(g, sliced.slices, length);
  sliced.delays = choose(places, length);
  for (std::size_t i = 0; i < sliced.slices.size(); ++i) {
    sliced.needed.push_back(places[i].needed);
    if (sliced.delays[i] == Delay::start && !places[i].startable) sliced.delays[i] = Delay::wait;
    if (!sliced.moves(i))
      g.remark({.where = shown(g, sliced.slices[i].collectives.back()),
                .what = std::string(stays),
                .why = places[i].needed <= length / least_part
                           ? "what it updates is read at the beginning of the next iteration"
                           : "its transfer is expected to end before its update"});
  }
  return sliced;
}

/// A collective of one graph that other graphs share, and its slice in this graph.
struct SharedCall {
  SlicedGraph* sliced;
  NodeId node;
  std::optional<std::size_t> slice = {};

  bool moves() const { return slice && sliced->moves(*slice); }
};

/// For each collective shared by several graphs, its call in each of them.
std::vector<std::vector<SharedCall>> find_shared_calls(const Program& program,
                                                       std::vector<SlicedGraph>& graphs) {
  std::vector<std::unordered_map<NodeId, std::size_t>> slice_of(graphs.size());
  for (std::size_t p = 0; p < graphs.size(); ++p)
    for (std::size_t i = 0; i < graphs[p].slices.size(); ++i)
      for (NodeId n : graphs[p].slices[i].collectives) slice_of[p].emplace(n, i);
  std::vector<std::vector<SharedCall>> all;
  const CollectiveMatching matching(program);
  for (const auto& parts : matching.by_match()) {
    if (parts.size() < 2) continue;
    auto& list = all.emplace_back();
    for (const CallSite* c : parts) {
      list.push_back({&graphs[c->graph], c->node});
      auto found = slice_of[c->graph].find(c->node);
      if (found != slice_of[c->graph].end()) list.back().slice = found->second;
    }
  }
  return all;
}

/// Makes sure that a collective shared by several graphs is delayed in all of them or in none.
/// Removes delays until nothing changes, which rarely takes more than two rounds.
void agree(const Program& program, std::vector<SlicedGraph>& graphs) {
  if (graphs.size() < 2) return;
  std::vector<std::vector<SharedCall>> shared = find_shared_calls(program, graphs);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& parts : shared) {
      if (std::ranges::all_of(parts, &SharedCall::moves)) continue;
      for (const SharedCall& s : parts) {
        if (!s.moves()) continue;
        s.sliced->delays[*s.slice] = Delay::none;
        changed = true;
        s.sliced->graph->remark({.where = shown(*s.sliced->graph, s.node),
                                 .what = std::string(stays),
                                 .why = "ranks with another graph take part and do not delay it"});
      }
    }
  }
}

}  // namespace

void cross_iteration(Program& program, const CrossIteration& options, const ChooseDelayed& choose) {
  if (options.move != "none" && options.delay != CrossIteration{}.delay)
    fail("option 'delay': found {}, but with 'move' nothing is left to decide", options.delay);
  if (options.move != "none") return move_collectives(program, options.move, options.before);
  if (options.before != "none")
    fail("option 'before': found {}, but nothing to move", options.before);
  std::vector<SlicedGraph> graphs;
  for (Graph& g : program.graphs) graphs.push_back(choose_delays(g, choose));
  agree(program, graphs);
  for (const SlicedGraph& sliced : graphs) delay_slices(sliced);
}

void cross_iteration(Program& program, const CrossIteration& options) {
  auto all = [](std::span<const BucketPlace> buckets, std::uint32_t) {
    return std::vector<Delay>(buckets.size(), Delay::wait);  // ignored for fixed buckets
  };
  cross_iteration(program, options, options.delay == "all" ? ChooseDelayed(all) : choose_delayed);
}

}  // namespace hocket

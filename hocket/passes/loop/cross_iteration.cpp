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
#include "hocket/iter/place.h"
#include "hocket/iter/rotate.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/work.h"
#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/analysis/gradients.h"
#include "hocket/passes/analysis/own_groups.h"
#include "hocket/passes/framework/node_names.h"
#include "hocket/passes/loop/gradient_shares.h"
#include "hocket/passes/loop/move_collectives.h"

namespace hocket {
namespace {

constexpr std::string_view stays = "stays in its iteration";

// ---- what may move

/// By node: a collective or an effect that depends on it, an effect where there are both.
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

/// Gradient collectives that no other one depends on.
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

/// Single numbers come that tensors are updated with: they are no gradients of those.
bool brings_numbers(const Graph& g, const Share& s) {
  auto is_number = [&](Value v) { return g.type(v).shape.empty(); };
  return !std::ranges::all_of(s.states, is_number) &&
         std::ranges::all_of(s.collectives,
                             [&](NodeId n) { return std::ranges::all_of(g[n].inputs, is_number); });
}

/// Why a share cannot move; nothing when it can.
std::optional<Remark> refusal(const Graph& g, const Share& s) {
  std::string read = s.returned ? fmt::format("{} reads {}", s.output, shown(g, s.returned)) : "";
  if (s.number)
    return Remark{
        .where = shown(g, s.number),
        .what = fmt::format("keeps {} collectives in their iteration", s.collectives.size()),
        .why = "it depends on the gradients of all of them, and " +
               (read.empty() ? "so does every update that it reaches" : read)};
  Remark remark{.where = shown(g, s.collectives.back()), .what = std::string(stays)};
  if (s.returned)
    remark.why = read;
  else if (brings_numbers(g, s))
    remark.why = "it brings single numbers, which updates of gradients that have come wait for";
  else
    return std::nullopt;
  return remark;
}

// ---- what does move

/// One graph with what may be delayed in it.
struct Plan {
  Graph* graph;
  std::vector<Share> shares = {};
  std::vector<Delay> delays = {};          // by share
  std::vector<std::uint32_t> needed = {};  // by share: position of the first reader

  bool moves(std::size_t share) const { return delays[share] != Delay::none; }
};

/// Of every node its place in the list and its share, by node.
struct Places {
  std::vector<std::uint32_t> position;
  std::vector<const Share*> share;
  std::uint32_t end = 0;  // of the ruler
};

BucketPlace place_of(const Graph& g, const Share& s, const Places& at) {
  const auto& position = at.position;
  BucketPlace place{.start = position[s.collectives.back().index]};
  place.needed = position[s.collectives.front().index];  // there the bytes are used again
  place.update = position[s.nodes.back().index];
  for (NodeId n : s.collectives) place.bytes += link_bytes(g, n);
  place.startable = s.collectives.size() == 1 && !g[s.collectives[0]].op->has_effect;
  for (NodeId n : s.nodes)
    if (g[n].op->is_wait && position[n.index] > place.start)
      place.update = std::min(place.update, position[n.index]);
  for (Value state : s.states)
    for (Use use : g.uses(state))
      if (use.node != g.return_node() && at.share[use.node.index] != &s)
        place.needed = std::min(place.needed, position[use.node.index]);
  return place;
}

/// A collective that moves with no share.
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

/// Gives every node its position on a ruler on which nodes take room by their work; returns where
/// it ends. A sixteenth is left for their number, so that no two nodes have one position.
std::uint32_t lay_out(const Graph& g, std::vector<std::uint32_t>& position) {
  constexpr double bytes_per_flop = 1;  // of time; a guess, as no machine is known here
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

Plan plan_graph(Graph& g, const ChooseDelayed& choose) {
  Plan plan{.graph = &g};
  if (is_rotated(g)) {
    g.remark({.where = g.name(), .what = "left alone", .why = "it has delays already"});
    return plan;
  }
  std::vector<NodeId> candidates = find_candidates(g);
  if (candidates.empty()) return plan;
  cut_optimizers(g, candidates, ShareFrom::wait);
  for (Share& share : find_shares(g, candidates, ShareFrom::wait)) {
    if (!share.updates) continue;  // a loss that is summed over the ranks
    if (std::optional<Remark> remark = refusal(g, share))
      g.remark(std::move(*remark));
    else
      plan.shares.push_back(std::move(share));
  }
  Places at{std::vector<std::uint32_t>(g.node_bound()), std::vector<const Share*>(g.node_bound())};
  std::uint32_t length = at.end = lay_out(g, at.position);
  for (const Share& share : plan.shares)
    for (NodeId n : share.nodes) at.share[n.index] = &share;
  std::vector<BucketPlace> places;
  OwnGroups own(g);
  for (const Share& share : plan.shares) {
    places.push_back(place_of(g, share, at));
    // Ranks with another graph would have to start it at the same time.
    places.back().startable &= own.owns(g[share.collectives[0]]);
    plan.needed.push_back(places.back().needed);
  }
  std::vector<bool> moves(g.node_bound());
  for (const Share& share : plan.shares)
    for (NodeId n : share.collectives) moves[n.index] = true;
  for (NodeId n : std::as_const(g).nodes())
    if (g[n].op->is_collective && !moves[n.index]) places.push_back(fixed_place(g, n, at));
  plan.delays = choose(places, length);
  for (std::size_t i = 0; i < plan.shares.size(); ++i)
    if (plan.delays[i] == Delay::start && !places[i].startable) plan.delays[i] = Delay::wait;
  for (std::size_t i = 0; i < plan.shares.size(); ++i)
    if (!plan.moves(i))
      g.remark({.where = shown(g, plan.shares[i].collectives.back()),
                .what = std::string(stays),
                .why = places[i].needed <= length / least_part
                           ? "what it updates is needed at the beginning of the next one"
                           : "it should have come before its update"});
  return plan;
}

/// A call that several graphs have in common, and the share that it moves with.
struct Shared {
  Plan* plan;
  NodeId node;
  std::optional<std::size_t> share = {};

  bool moves() const { return share && plan->moves(*share); }
};

/// For each match between several graphs.
std::vector<std::vector<Shared>> find_shared(const Program& program, std::vector<Plan>& plans) {
  std::vector<std::unordered_map<NodeId, std::size_t>> share_of(plans.size());
  for (std::size_t p = 0; p < plans.size(); ++p)
    for (std::size_t i = 0; i < plans[p].shares.size(); ++i)
      for (NodeId n : plans[p].shares[i].collectives) share_of[p].emplace(n, i);
  std::vector<std::vector<Shared>> all;
  const CollectiveMatching matching(program);
  for (const auto& parts : matching.by_match()) {
    if (parts.size() < 2) continue;
    auto& list = all.emplace_back();
    for (const CallSite* c : parts) {
      list.push_back({&plans[c->graph], c->node});
      auto found = share_of[c->graph].find(c->node);
      if (found != share_of[c->graph].end()) list.back().share = found->second;
    }
  }
  return all;
}

/// What ranks with different graphs reduce together is delayed by all of them or by none. Each
/// round but the last takes back a share; hardly ever are there more than two.
void agree(const Program& program, std::vector<Plan>& plans) {
  if (plans.size() < 2) return;
  std::vector<std::vector<Shared>> shared = find_shared(program, plans);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& parts : shared) {
      if (std::ranges::all_of(parts, &Shared::moves)) continue;
      for (const Shared& s : parts) {
        if (!s.moves()) continue;
        s.plan->delays[*s.share] = Delay::none;
        changed = true;
        s.plan->graph->remark(
            {.where = shown(*s.plan->graph, s.node),
             .what = std::string(stays),
             .why = "ranks that run another graph take part, and keep it in theirs"});
      }
    }
  }
}

// ---- moving

/// Puts every delayed share, which stand together in front of all others, in front of its own first
/// reader.
class Placing {
 public:
  Placing(Graph& g, const Plan& plan) : g_(g), share_(g.node_bound(), none) {
    for (std::size_t i = 0; i < plan.shares.size(); ++i)
      if (plan.moves(i)) {
        for (NodeId n : plan.shares[i].nodes) share_[n.index] = i;
        for (NodeId n : plan.shares[i].collectives) share_[n.index] = i;
      }
    nodes_.resize(plan.shares.size());
    places_.assign(plan.shares.size(), g.return_node());
    for (NodeId n : std::as_const(g).nodes())
      if (std::as_const(g)[n].delay > 0 && !std::as_const(g)[n].op->is_collective) note(n);
  }

  void run(const Plan& plan) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].empty()) continue;
      for (NodeId n : nodes_[i]) g_.move_before(n, places_[i]);
      bool starts = plan.delays[i] == Delay::start;
      g_.remark({.where = shown(g_, plan.shares[i].collectives.back()),
                 .what = fmt::format("{} in the next iteration, in front of {}",
                                     starts ? "started, and waited for," : "waited for",
                                     shown(g_, places_[i])),
                 .why = starts ? "others are needed before" : "the transfer has more time"});
    }
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  void note(NodeId n) {
    const Node& node = g_[n];
    for (Value v : node.inputs)  // what rotate added belongs to what it reads
      if (share_[n.index] == none) share_[n.index] = share_[g_.node(v).index];
    std::size_t share = share_[n.index];
    if (share == none)
      internal_fail("cross-iteration: {} has a delay and no share", g_.describe(n));
    nodes_[share].push_back(n);
    for (Value v : g_.results(n))
      for (Use use : g_.uses(v))
        if (g_[use.node].delay == 0) bound(share, use.node);
    // A transfer into the same place must not start before.
    for (Value v : node.inputs)
      if (NodeId maker =
              node.op->is_wait && g_.is_input(g_.node(v)) ? maker_of_next(g_, v) : NodeId{})
        bound(share, maker);
  }
  void bound(std::size_t share, NodeId place) {
    if (g_.before(place, places_[share])) places_[share] = place;
  }

  Graph& g_;
  std::vector<std::size_t> share_;  // by node
  std::vector<std::vector<NodeId>> nodes_;
  std::vector<NodeId> places_;
};

/// The first node that stays and is not the same in every iteration: whatever must stand behind a
/// delayed share is this node or behind it.
NodeId front(const Graph& g, std::span<const NodeId> moved) {
  const Lags lags(g);
  std::vector<bool> moves(g.node_bound());
  for (NodeId n : moved) moves[n.index] = true;
  for (NodeId n : g.nodes())
    if (!moves[n.index] && !lags.timeless(n)) return n;
  return {};  // all are delayed, and rotate finds a place
}

void apply(const Plan& plan) {
  Graph& g = *plan.graph;
  std::vector<NodeId> nodes;
  std::vector<std::pair<std::uint32_t, NodeId>> starts;  // by need
  for (std::size_t i = 0; i < plan.shares.size(); ++i) {
    const Share& share = plan.shares[i];
    if (!plan.moves(i)) continue;
    nodes.insert(nodes.end(), share.nodes.begin(), share.nodes.end());
    if (plan.delays[i] == Delay::start) starts.emplace_back(plan.needed[i], share.collectives[0]);
  }
  if (nodes.empty()) return;
  for (auto [needed, n] : starts) nodes.push_back(n);
  std::ranges::sort(nodes, [&](NodeId a, NodeId b) { return g.before(a, b); });
  NodeId place = front(g, nodes);
  rotate(g, nodes, 1, {.before = place});
  Placing(g, plan).run(plan);
  // In front of everything, also of updates that stand there: those wait for them.
  std::ranges::stable_sort(starts, {}, &std::pair<std::uint32_t, NodeId>::first);
  if (starts.empty()) return;
  nodes.clear();
  for (auto [needed, n] : starts) nodes.push_back(n);
  place_block(g, nodes, first_that_changes(g));
}

}  // namespace

void cross_iteration(Program& program, const CrossIteration& options, const ChooseDelayed& choose) {
  if (options.move != "none" && options.delay != CrossIteration{}.delay)
    fail("option 'delay': found {}, but with 'move' nothing is left to decide", options.delay);
  if (options.move != "none") return move_collectives(program, options.move, options.before);
  if (options.before != "none")
    fail("option 'before': found {}, but nothing to move", options.before);
  std::vector<Plan> plans;
  for (Graph& g : program.graphs) plans.push_back(plan_graph(g, choose));
  agree(program, plans);
  for (const Plan& plan : plans) apply(plan);
}

void cross_iteration(Program& program, const CrossIteration& options) {
  auto all = [](std::span<const BucketPlace> buckets, std::uint32_t) {
    return std::vector<Delay>(buckets.size(), Delay::wait);  // of fixed ones it does not matter
  };
  cross_iteration(program, options, options.delay == "all" ? ChooseDelayed(all) : choose_delayed);
}

}  // namespace hocket

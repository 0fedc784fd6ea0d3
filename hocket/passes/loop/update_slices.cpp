#include "hocket/passes/loop/update_slices.h"

#include <algorithm>
#include <map>

#include "hocket/base/disjoint_sets.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/replaced_states.h"
#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/optimizer/optimizer_lists.h"

namespace hocket {
namespace {

/// Collectives are numbered from 1; 0 is none.
using Origin = std::uint32_t;

/// By value: a collective that it depends on. Collectives on which one value depends are joined
/// into one set.
class SliceOrigins {
 public:
  SliceOrigins(const Graph& g, std::span<const NodeId> collectives, SliceFrom from)
      : g_(g),
        seed_(g.node_bound()),
        origin_(g.value_bound()),
        mixed_(g.value_bound()),
        joined_(collectives.size() + 1),
        numbers_(collectives.size() + 1) {
    for (Origin i = 0; i < collectives.size(); ++i) seed_[collectives[i].index] = i + 1;
    for (NodeId n : g.nodes()) follow(n, from);
  }

  Origin operator[](Value v) const { return joined_.find(origin_[v.index]); }
  Origin of(NodeId n) const { return g_[n].result_count > 0 ? (*this)[g_.result(n)] : 0; }
  /// The set that a collective was joined to.
  Origin set_of(Origin collective) const { return joined_.find(collective); }
  /// A scalar that depends on this and on other collectives; none if there is none.
  Value number(Origin collective) const { return numbers_[collective]; }

 private:
  void follow(NodeId n, SliceFrom from) {
    const Node& node = g_[n];
    Origin seed = seed_[node.op->is_wait ? g_.node(node.inputs[0]).index : n.index];
    bool begins = seed != 0 && node.op->is_wait == (from == SliceFrom::wait);
    if (begins)
      begin(node, seed);
    else if (node.op->is_optimizer && parameter_count(node) > 0)
      follow_optimizer(node);
    else
      give(node, 0, 1, node.inputs);
  }

  /// Joins a collective with the collectives that it depends on.
  void begin(const Node& node, Origin seed) {
    for (Value v : node.inputs)
      if (origin_[v.index] != 0) joined_.join(seed, origin_[v.index]);
    for (std::uint32_t i = 0; i < node.result_count; ++i) origin_[node.first_result + i] = seed;
  }

  /// Updates of different parameters are independent; operands that are not in lists affect all of
  /// them.
  void follow_optimizer(const Node& node) {
    auto count = static_cast<std::uint32_t>(parameter_count(node));
    std::vector<Value> read;
    for (std::uint32_t i = 0; i < count; ++i) {
      read.clear();
      for (std::size_t s = 0; s < node.op->operands.size(); ++s) {
        std::span<const Value> slot = node.slot(s);
        if (node.op->operands[s].count != Count::many)
          read.insert(read.end(), slot.begin(), slot.end());
        else if (!slot.empty())
          read.push_back(slot[i]);
      }
      give(node, i, count, read);
    }
  }

  /// Gives the results `first`, `first + step`, ... the joined origin of `values`.
  template <class Values>
  void give(const Node& node, std::uint32_t first, std::uint32_t step, const Values& read) {
    Origin origin = 0;
    bool mixed = false;
    for (Value v : read) {
      Origin other = origin_[v.index];
      mixed = mixed || mixed_[v.index] || (origin != 0 && other != 0 && origin != other);
      if (other == 0) continue;
      if (origin != 0)
        joined_.join(origin, other);
      else
        origin = other;
    }
    if (origin == 0) return;
    for (std::uint32_t i = first; i < node.result_count; i += step) {
      Value v{node.first_result + i};
      origin_[v.index] = origin;
      mixed_[v.index] = mixed;
      if (mixed && g_.type(v).shape.empty() && !numbers_[origin]) numbers_[origin] = v;
    }
  }

  const Graph& g_;
  std::vector<Origin> seed_;    // by node: the number of a collective
  std::vector<Origin> origin_;  // by value: one that it depends on
  std::vector<bool> mixed_;     // by value: depends on several collectives
  DisjointSets joined_;         // of origins
  std::vector<Value> numbers_;  // by origin
};

/// By node: its slice. First the nodes that depend on the collectives, then nodes that only these
/// read.
class Members {
 public:
  Members(const Graph& g, const SliceOrigins& origins)
      : g_(g),
        lags_(g),
        replaced_(g),
        member_(g.node_bound()),
        serves_(g.node_bound()),
        returned_(g.value_bound()) {
    for (NodeId n : g.nodes()) member_[n.index] = origins.of(n);
    for (const Output& o : g.outputs()) returned_[o.value.index] = true;
    for (NodeId n : reversed(g.nodes())) join_readers(n);
    for (NodeId n : g.nodes())
      if (serves_[n.index] && !fits(n)) leave(n);
  }
  Origin operator[](NodeId n) const { return member_[n.index]; }

 private:
  /// Adds a node to a slice if all its readers belong to this slice and it fits.
  void join_readers(NodeId n) {
    const Op& op = *g_[n].op;
    if (member_[n.index] != 0 || op.is_collective || op.is_wait || op.has_effect ||
        lags_.timeless(n))
      return;
    Origin slice = 0;
    for (Value v : g_.results(n)) {
      if (returned_[v.index]) return;
      for (Use use : g_.uses(v)) {
        if (use.node == g_.return_node()) continue;
        Origin reader = member_[use.node.index];
        if (reader == 0 || (slice != 0 && reader != slice)) return;
        slice = reader;
      }
    }
    member_[n.index] = slice;
    serves_[n.index] = slice != 0;
  }

  /// Whether all operands of a node are available in the next iteration: state of the slice, or
  /// results of the slice.
  bool fits(NodeId n) const {
    return std::ranges::all_of(g_[n].inputs, [&](Value v) {
      if (lags_.timeless(v)) return true;
      NodeId from = g_.is_input(g_.node(v)) ? maker_of_next(g_, v) : g_.node(v);
      return from && member_[from.index] == member_[n.index];
    });
  }

  /// Takes a node out of its slice, with all nodes that cannot stay without it.
  void leave(NodeId first) {
    std::vector<NodeId> leaving;
    auto drop = [&](NodeId n) {
      if (!serves_[n.index]) return;
      serves_[n.index] = false;
      member_[n.index] = 0;
      leaving.push_back(n);
    };
    auto drop_readers = [&](Value v) {
      for (Use use : g_.uses(v)) drop(use.node);
    };
    drop(first);
    while (!leaving.empty()) {
      NodeId n = leaving.back();
      leaving.pop_back();
      for (Value v : g_[n].inputs) drop(g_.node(v));
      for (Value v : g_.results(n)) {
        drop_readers(v);
        for (Value s = replaced_.first(v); s; s = replaced_.another(s)) drop_readers(s);
      }
    }
  }

  const Graph& g_;
  Lags lags_;
  ReplacedStates replaced_;
  std::vector<Origin> member_;  // by node
  std::vector<bool> serves_;    // by node: member of a slice that depends on no collective
  std::vector<bool> returned_;  // by value
};

}  // namespace

std::vector<UpdateSlice> find_slices(const Graph& g, std::span<const NodeId> collectives,
                                     SliceFrom from) {
  const SliceOrigins origins(g, collectives, from);
  const Members members(g, origins);
  std::vector<UpdateSlice> slices(collectives.size() + 1);  // by set; empty ones are dropped
  for (Origin i = 1; i <= collectives.size(); ++i) {
    UpdateSlice& slice = slices[origins.set_of(i)];
    slice.collectives.push_back(collectives[i - 1]);
    if (!slice.number) slice.number = origins.number(i);
  }
  for (NodeId n : g.nodes()) slices[members[n]].nodes.push_back(n);
  for (const Input& in : g.inputs()) {
    NodeId maker = maker_of_next(g, in.value);
    if (!maker || members[maker] == 0) continue;
    UpdateSlice& slice = slices[members[maker]];
    slice.states.push_back(in.value);
    slice.updates =
        slice.updates || in.kind == StateKind::parameter || in.kind == StateKind::optimizer;
  }
  std::vector<Output> outputs = g.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Output& o = outputs[i];
    UpdateSlice& slice = slices[members[g.node(o.value)]];
    if (slice.returned) continue;
    slice.returned = o.value;
    slice.output =
        o.name.empty() ? fmt::format("output {}", i) : fmt::format("output '{}'", o.name);
  }
  slices[0].collectives.clear();
  std::erase_if(slices,
                [](const UpdateSlice& s) { return s.collectives.empty() || s.nodes.empty(); });
  auto last = [&](const UpdateSlice& s) { return s.collectives.back(); };
  std::ranges::sort(slices, [&](const UpdateSlice& a, const UpdateSlice& b) {
    return g.before(last(a), last(b));
  });
  return slices;
}

void cut_optimizers(Graph& g, std::span<const NodeId> collectives, SliceFrom from) {
  const SliceOrigins origins(g, collectives, from);
  std::vector<NodeId> optimizers;
  for (NodeId n : std::as_const(g).nodes())
    if (g[n].op->is_optimizer && parameter_count(g[n]) > 1) optimizers.push_back(n);
  for (NodeId n : optimizers) {
    std::map<Origin, Positions> parts;
    for (std::uint32_t i = 0; i < parameter_count(g[n]); ++i)
      parts[origins[g.result(n, i)]].push_back(i);
    if (parts.size() == 1) continue;
    std::vector<Positions> list;
    for (auto& [origin, positions] : parts) list.push_back(std::move(positions));
    cut_optimizer(g, n, list, "its parameters can be updated in different iterations");
  }
}

}  // namespace hocket

#include "hocket/passes/cleanup/common_nodes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "hocket/base/hash.h"
#include "hocket/passes/analysis/own_groups.h"
#include "hocket/passes/cleanup/edit_regions.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) { return mixed(seed * 31 + value); }

std::size_t hash_of(const Attribute& a) {
  return std::visit(
      [](const auto& v) -> std::size_t {
        using T = std::decay_t<decltype(v)>;
        std::size_t h = 1;
        if constexpr (std::is_same_v<T, double>) {
          h = std::bit_cast<std::uint64_t>(v);
        } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
          h = static_cast<std::size_t>(v);
        } else if constexpr (std::is_same_v<T, Type>) {
          for (std::int64_t d : v.shape) h = mix(h, static_cast<std::size_t>(d));
        } else if constexpr (std::is_same_v<T, std::string>) {
          h = std::hash<std::string>{}(v);
        } else {
          for (const auto& x : v) h = mix(h, hash_of(Attribute(typename T::value_type(x))));
        }
        return h;
      },
      a);
}

std::size_t region_hash(const Graph& region);

/// Hashes all that determines the value of a node: not its name, position, path and channel.
struct NodeHash {
  const Graph* g;
  std::size_t operator()(NodeId n) const {
    const Node& node = (*g)[n];
    std::size_t h = mix(std::hash<const void*>{}(node.op), static_cast<std::size_t>(node.delay));
    for (Value v : node.inputs) h = mix(h, v.index);
    auto values = node.attributes.values();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (node.op->attributes[i].name != "channel") h = mix(h, hash_of(values[i]));
    if (node.region) h = mix(h, region_hash(*node.region));
    if (node.op->typed_by_result)
      for (std::int64_t d : g->type(g->result(n)).shape) h = mix(h, static_cast<std::size_t>(d));
    return h;
  }
};

std::size_t region_hash(const Graph& region) {
  std::size_t h = region.size();
  for (NodeId n : region.nodes()) h = mix(h, NodeHash{&region}(n));
  return h;
}

struct NodeEqual {
  const Graph* g;
  bool operator()(NodeId a, NodeId b) const {
    const Node &x = (*g)[a], &y = (*g)[b];
    if (x.op != y.op || x.inputs != y.inputs || x.delay != y.delay || x.stage != y.stage ||
        x.result_count != y.result_count)
      return false;
    auto p = x.attributes.values(), q = y.attributes.values();
    for (std::size_t i = 0; i < p.size(); ++i)
      if (x.op->attributes[i].name != "channel" && !same(p[i], q[i])) return false;
    if (!std::ranges::equal(x.attributes.list_sizes(), y.attributes.list_sizes())) return false;
    // The result type determines the value of a constant.
    for (std::uint32_t i = 0; i < x.result_count; ++i)
      if (g->type(g->result(a, i)) != g->type(g->result(b, i))) return false;
    return !x.region == !y.region && (!x.region || equal_but_for_names(*x.region, *y.region));
  }
};

/// The set of distinct nodes seen so far. Equal nodes read the same operands, so the first two
/// readers of each value are stored with that value (`near_`), where most equal nodes are found
/// without hashing. A hash table holds the others, and nodes without operands.
class Seen {
 public:
  explicit Seen(const Graph& g) : hash_{&g}, equal_{&g}, near_(g.value_bound()) {}

  /// The earlier node that equals `n`; if there is none, adds `n` and returns it.
  NodeId find_or_add(const Graph& g, NodeId n) {
    Value latest;
    for (Value v : g[n].inputs) latest = std::max(latest, v);
    if (latest) {
      for (NodeId& m : near_[latest.index]) {
        if (!m) return m = n;
        if (equal_(m, n)) return m;
      }
    }
    return find_or_add_far(n);
  }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    NodeId node;
  };

  NodeId find_or_add_far(NodeId n) {
    if ((count_ + 1) * 2 > table_.size()) grow();
    auto hash = static_cast<std::uint32_t>(hash_(n) >> 32);
    for (std::size_t i = hash & (table_.size() - 1);; i = (i + 1) & (table_.size() - 1)) {
      Entry& e = table_[i];
      if (!e.node) {
        e = {hash, n};
        ++count_;
        return n;
      }
      if (e.hash == hash && equal_(e.node, n)) return e.node;
    }
  }

  void grow() {
    std::vector<Entry> old(std::max<std::size_t>(64, table_.size() * 2));
    std::swap(old, table_);
    for (const Entry& e : old) {
      if (!e.node) continue;
      std::size_t i = e.hash & (table_.size() - 1);
      while (table_[i].node) i = (i + 1) & (table_.size() - 1);
      table_[i] = e;
    }
  }

  NodeHash hash_;
  NodeEqual equal_;
  std::vector<std::array<NodeId, 2>> near_;  // by value
  std::vector<Entry> table_;
  std::size_t count_ = 0;
};

void merge(Graph& g, NodeId kept, NodeId gone) {
  if (g[kept].op->is_collective) {
    g.remark({.where = shown(g, gone),
              .what = "merged into " + shown(g, kept),
              .why = "same operands and attributes"});
    auto channel = g[gone].attr<std::int64_t>("channel");
    if (channel < g[kept].attr<std::int64_t>("channel")) g.set_attribute(kept, "channel", channel);
  }
  for (std::uint32_t i = 0; i < g[gone].result_count; ++i)
    g.replace_uses(g.result(gone, i), g.result(kept, i));
  g.erase(gone);
}

}  // namespace

void common_nodes(Graph& g, const NoOptions&) {
  Seen seen(g);
  OwnGroups own(g);
  auto mergeable = [&](NodeId n) {
    return g[n].op->pure() && (!g[n].op->is_collective || own.owns(g[n]));
  };
  // A reader that runs ahead of a delayed update reads the next value in place of the state. So
  // each state keeps a next value of its own.
  auto leaves = [&](NodeId n) {
    return std::ranges::any_of(g.results(n), [&](Value v) {
      return std::ranges::any_of(g.uses(v), [&](Use use) { return use.node == g.return_node(); });
    });
  };
  for (NodeId n : g.nodes()) {
    if (!mergeable(n) || (g[n].delay > 0 && leaves(n))) continue;
    NodeId kept = seen.find_or_add(g, n);
    if (kept != n) merge(g, kept, n);
  }
  edit_regions(g, [](Graph& inner) { common_nodes(inner, {}); });
}

}  // namespace hocket

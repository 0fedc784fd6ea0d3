#include "hocket/ir/verify.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "hocket/base/error.h"
#include "hocket/base/hash.h"
#include "hocket/base/text.h"
#include "hocket/ir/mismatch.h"
#include "hocket/ir/parse.h"

namespace hocket {
namespace {

using Finding = std::optional<std::string>;

Finding order(const Graph& g, NodeId n) {
  for (Value v : g[n].inputs)
    if (!g.before(g.node(v), n)) return fmt::format("operand %{} is defined later", g.name(v));
  return std::nullopt;
}

/// Checks the same rule from the node that is read, for readers that are not among the checked
/// nodes.
Finding order_of_readers(const Graph& g, NodeId n) {
  for (std::uint32_t i = 0; i < g[n].result_count; ++i)
    for (Use use : g.uses(g.result(n, i)))
      if (!g.before(n, use.node))
        return fmt::format("its reader {} stands before it", g.describe(use.node));
  return std::nullopt;
}

Finding types(const Graph& g, NodeId n) {
  const Node& node = g[n];
  if (node.op == &return_op || node.op == &input_op) return std::nullopt;
  std::vector<Type> written;
  written.reserve(node.result_count);
  for (std::uint32_t i = 0; i < node.result_count; ++i) written.push_back(g.type(g.result(n, i)));
  try {
    std::vector<Type> found = g.infer({.op = node.op,
                                       .inputs = {node.inputs.data(), node.inputs.size()},
                                       .attributes = node.attributes,
                                       .types = written,
                                       .region = node.region});
    if (found.size() != written.size())
      return fmt::format("found {}, wanted {}",
                         count_of(static_cast<std::int64_t>(written.size()), "result"),
                         found.size());
  } catch (const Error& e) {
    // The message of an op begins with its name, which the description of the node contains
    // already.
    std::string_view what = e.what(), self = node.op->name;
    if (what.starts_with(self) && what.substr(self.size()).starts_with(": "))
      what.remove_prefix(self.size() + 2);
    return std::string(what);
  }
  return std::nullopt;
}

Finding pending(const Graph& g, NodeId n) {
  const Node& node = g[n];
  if (node.op->is_wait) return std::nullopt;
  if (node.op == &return_op) {
    for (const Output& o : g.outputs())
      if (g.type(o.value).pending)
        return fmt::format("output %{} is still in flight; wait for it", g.name(o.value));
    return std::nullopt;
  }
  for (Value v : node.inputs)
    if (g.type(v).pending)
      return fmt::format("operand %{} is still in flight; only wait reads it", g.name(v));
  return std::nullopt;
}

Finding waited(const Graph& g, NodeId n) {
  if (!g[n].op->is_collective || g[n].result_count == 0 || g.used(n)) return std::nullopt;
  return "nobody waits for any of its results";
}

/// The transfer of a pending value: a collective, and how many iterations ago it was started.
struct Transfer {
  NodeId collective;
  int slots = 0;
  bool operator==(const Transfer&) const = default;
};

/// Follows forwarded state to the node that computes it. Nothing if there is no such node: in a
/// phase, where it belongs to an earlier phase, and in an invalid body.
std::optional<Transfer> transfer_of(const Graph& g, Value v) {
  Transfer t{g.node(v)};
  for (int hops = 0; g.is_input(t.collective); ++hops) {
    const Input& in = g.input(v);
    v = in.state && hops <= max_delay ? g.next(v) : Value{};
    if (!v) return std::nullopt;
    t.slots += std::min(in.slots, max_delay + 1);
    t.collective = g.node(v);
  }
  return t;
}

Finding one_transfer(const Graph& g, NodeId n) {
  const Node& node = g[n];
  if (!node.op->is_wait || node.inputs.size() < 2) return std::nullopt;
  auto first = transfer_of(g, node.inputs[0]);
  for (Value v : node.inputs)
    if (transfer_of(g, v) != first)
      return fmt::format("%{} and %{} belong to different collectives; wait for each by itself",
                         g.name(node.inputs[0]), g.name(v));
  return std::nullopt;
}

Finding next(const Graph& g, NodeId n) {
  if (!g.is_input(n)) return std::nullopt;
  Value v = g.result(n);
  const Input& in = g.input(v);
  bool forwarded = in.state && in.kind == StateKind::forwarded;
  if (g.type(v).pending && !forwarded) return "an input in flight must be forwarded state";
  if (!forwarded && in.slots != 1) return "only forwarded state has several slots";
  if (in.slots < 1 || in.slots > max_slots)
    return fmt::format("{} slots, wanted 1 to {}", in.slots, max_slots);
  Value to = g.next(v);
  if (forwarded && !to && g.uses(v).empty()) return "forwarded state is neither read nor handed on";
  if (to && g.type(to) != g.type(v))
    return fmt::format("the state is {}, its next value %{} is {}", to_text(g.type(v)), g.name(to),
                       to_text(g.type(to)));
  return std::nullopt;
}

Finding groups(const Graph& g, NodeId n) {
  auto unknown = [&](std::string_view group) -> Finding {
    if (g.world().group_size(group)) return std::nullopt;
    return fmt::format("unknown group {}{}", quoted(group),
                       nearest_hint(group, g.world().group_names()));
  };
  const Node& node = g[n];
  if (g.is_input(n)) {
    const Input& in = g.input(g.result(n));
    for (const std::string& group : in.equal)
      if (Finding finding = unknown(group)) return finding;
    return in.shard ? unknown(in.shard->group) : std::nullopt;
  }
  if (node.op->attribute_index("group") < 0) return std::nullopt;
  return unknown(node.attr<std::string>("group"));
}

Finding shards(const Graph& g, NodeId n) {
  if (!g.is_input(n)) return std::nullopt;
  Value v = g.result(n);
  const auto& shard = g.input(v).shard;
  if (!shard) return std::nullopt;
  auto size = g.world().group_size(shard->group);
  if (!size) return std::nullopt;  // the rule about groups reports it
  if (shard->type.pending) return "a shard of a value in flight";
  Type piece{shard->type.dtype, false, {(shard->type.elements() + *size - 1) / *size}};
  if (g.type(v) == piece) return std::nullopt;
  return fmt::format("is {}, but a shard of {} over {} is {}", to_text(g.type(v)),
                     to_text(shard->type), count_of(*size, "rank"), to_text(piece));
}

Finding equal_starts(const Graph& g, NodeId n) {
  if (!g.is_input(n)) return std::nullopt;
  const Input& in = g.input(g.result(n));
  if (in.equal.empty()) return std::nullopt;
  if (!in.state || in.kind == StateKind::forwarded) return "equal, but nothing starts with it";
  std::set<std::string_view> seen;
  for (const std::string& group : in.equal)
    if (!seen.insert(group).second) return fmt::format("equal in group {} twice", quoted(group));
  return std::nullopt;
}

int depth_of(const Graph& g) {
  int deepest = 0;
  for (NodeId n : g.nodes())
    if (g[n].region) deepest = std::max(deepest, 1 + depth_of(*g[n].region));
  return deepest;
}

Finding regions(const Graph& g, NodeId n) {
  const Node& node = g[n];
  if (!node.region) return std::nullopt;
  const Graph& r = *node.region;
  if (1 + depth_of(r) > max_region_depth)
    return fmt::format("regions nest deeper than {}", max_region_depth);
  for (const Input& in : r.inputs())
    if (in.state) return fmt::format("its region holds state %{}", r.name(in.value));
  for (NodeId m : r.nodes()) {
    const Op& op = *r[m].op;
    if (!op.pure() || op.is_collective || op.is_wait)
      return fmt::format("its region holds {}, wanted pure ops only", r.describe(m));
    if (r[m].delay != 0) return fmt::format("its region holds {} with a delay", r.describe(m));
  }
  if (auto inner = find_violation(r)) return "in its region: " + describe(r, *inner);
  return std::nullopt;
}

Finding delays(const Graph& g, NodeId n) {
  if (g[n].delay < 0 || g[n].delay > max_delay)
    return fmt::format("delay {}, wanted 0 to {}", g[n].delay, max_delay);
  if (g[n].stage < 0) return fmt::format("stage {}, wanted at least 0", g[n].stage);
  return std::nullopt;
}

struct NodeRule : Rule {
  Finding (*check)(const Graph&, NodeId);
};

constexpr NodeRule node_rules[] = {
    {{"order", "A value is defined before it is read."}, order},
    {{"groups", "Every group named is `world`, axes of the mesh, or listed in the header."},
     groups},
    {{"types", "Operands, attributes and result types are what the op wants."}, types},
    {{"pending", "A value in flight is read by `wait` alone, or carried by `next`."}, pending},
    {{"waited", "Of every collective at least one result is waited for or carried."}, waited},
    {{"one-transfer", "What one `wait` waits for comes from one collective."}, one_transfer},
    {{"next",
      "A next value has the type of its state; forwarded state is read or has one; only forwarded "
      "state is in flight."},
     next},
    {{"shards", "A sharded state has the size of one rank's piece."}, shards},
    {{"equal", "State that must start equal has a start, and names every group once."},
     equal_starts},
    {{"regions", "A region holds pure ops only, no state, and nests at most 16 deep."}, regions},
    {{"delays", "A delay is 0 to 16, a stage is not negative."}, delays},
};

constexpr Rule graph_rules[] = {
    {"names", "Names of outputs, and source names of inputs, are unique."},
    {"channels", "No two collectives of a graph share a channel."},
    {"ranks",
     "The ranks of the graphs are disjoint and complete, belong to the groups that their graph "
     "names, and are not their own partners."},
    {"matching",
     "Ranks with different graphs that share a collective call the same op, with the same "
     "attributes and operands of the same types; what is received has the type of what is sent."},
};

std::optional<Violation> repeated_names(const Graph& g) {
  std::set<std::string_view> seen;
  for (const Input& in : g.inputs())
    for (const std::string& name : in.names)
      if (!seen.insert(name).second)
        return Violation{"names", g.node(in.value),
                         fmt::format("the source name {} is taken", quoted(name))};
  auto outputs = g.outputs();
  seen.clear();
  for (const Output& o : outputs)
    if (!o.name.empty() && !seen.insert(o.name).second)
      return Violation{"names", g.return_node(),
                       fmt::format("the output name {} is taken", quoted(o.name))};
  return std::nullopt;
}

std::optional<Violation> repeated_channels(const Graph& g) {
  std::unordered_map<std::int64_t, NodeId, MixedHash> owners;
  for (NodeId n : g.nodes()) {
    const Node& node = g[n];
    if (!node.op->is_collective && !node.op->has_effect) continue;
    if (node.op->attribute_index("channel") < 0) continue;
    auto channel = node.attr<std::int64_t>("channel");
    auto [it, fresh] = owners.emplace(channel, n);
    if (!fresh)
      return Violation{"channels", n,
                       fmt::format("channel {} belongs to {}", channel, g.describe(it->second))};
  }
  return std::nullopt;
}

/// Nodes, sharded state and `equal` may only name groups that every rank of the graph belongs to.
/// `known` holds groups that were checked already.
std::optional<Violation> foreign_group(const Graph& g, const std::vector<int>& ranks,
                                       std::set<std::string_view>& known) {
  auto outsider = [&](const std::string& group, NodeId n) -> std::optional<Violation> {
    if (!known.insert(group).second) return std::nullopt;
    auto r = g.world().outsider(group, ranks);
    if (!r) return std::nullopt;
    return Violation{
        "ranks", n,
        fmt::format("{}: rank {} is not in group {}", g.describe(n), *r, quoted(group))};
  };
  for (const Input& in : g.inputs()) {
    if (in.shard)
      if (auto v = outsider(in.shard->group, g.node(in.value))) return v;
    for (const std::string& group : in.equal)
      if (auto v = outsider(group, g.node(in.value))) return v;
  }
  for (NodeId n : g.nodes()) {
    if (g[n].region)
      if (auto v = foreign_group(*g[n].region, ranks, known))
        return Violation{v->rule, n, "in a region, " + v->message};
    if (g[n].op->attribute_index("group") < 0) continue;
    if (auto v = outsider(g[n].attr<std::string>("group"), n)) return v;
  }
  return std::nullopt;
}

/// A rank that sends to itself, or receives from itself, would deadlock.
std::optional<Violation> own_partner(const Graph& g, std::span<const int> ranks) {
  std::set<std::pair<std::string_view, std::int64_t>> known;  // group and index
  for (NodeId n : g.nodes()) {
    const Node& node = g[n];
    if (!node.op->has_effect || !node.op->is_collective) continue;
    const auto& group = node.attr<std::string>("group");
    auto peer = node.attr<std::int64_t>(node.op->attribute_index("to") >= 0 ? "to" : "from");
    auto size = g.world().group_size(group);
    if (!size || peer < 0 || peer >= *size) continue;  // other rules report it
    if (!known.emplace(group, peer).second) continue;
    for (int r : ranks)
      if (g.world().members(group, r)[static_cast<std::size_t>(peer)] == r)
        return Violation{
            "ranks", n,
            fmt::format("{}: rank {} runs it and would be its own partner", g.describe(n), r)};
  }
  return std::nullopt;
}

/// The rules about the graph as a whole.
std::optional<Violation> check_graph(const Graph& g) {
  if (auto v = repeated_names(g)) return v;
  return repeated_channels(g);
}

std::optional<Violation> check_node(const Graph& g, NodeId n) {
  for (const NodeRule& rule : node_rules)
    if (Finding message = rule.check(g, n)) return Violation{rule.name, n, std::move(*message)};
  return std::nullopt;
}

}  // namespace

std::span<const Rule> verifier_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all(std::begin(node_rules), std::end(node_rules));
    all.insert(all.end(), std::begin(graph_rules), std::end(graph_rules));
    return all;
  }();
  return rules;
}

std::optional<Violation> find_violation(const Graph& g, std::span<const NodeId> nodes) {
  for (NodeId n : nodes) {
    if (Finding message = order_of_readers(g, n)) return Violation{"order", n, std::move(*message)};
    if (auto v = check_node(g, n)) return v;
  }
  return check_graph(g);
}

std::optional<Violation> find_violation(const Graph& g) {
  for (const Input& in : g.inputs())
    if (auto v = check_node(g, g.node(in.value))) return v;
  for (NodeId n : g.nodes())
    if (auto v = check_node(g, n)) return v;
  if (auto v = check_node(g, g.return_node())) return v;
  return check_graph(g);
}

std::string describe(const Graph& g, const Violation& v) {
  std::string where = v.node ? g.describe(v.node) : fmt::format("graph {}", g.name());
  return fmt::format("{}: {} [{}]", where, v.message, v.rule);
}

void verify(const Graph& g) {
  if (auto v = find_violation(g)) throw Error(describe(g, *v));
}

void verify(const Program& program) {
  if (auto v = find_class_violation(program)) throw Error(v->message);
  for (const Graph& g : program.graphs) verify(g);
}

std::optional<ProgramViolation> find_class_violation(const Program& program) {
  int ranks = program.world->ranks();
  std::vector<int> owner(static_cast<std::size_t>(ranks), -1);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < program.graphs.size(); ++i) {
    const Graph& g = program.graphs[i];
    auto violation = [&](const std::string& what, NodeId n = {}) {
      return ProgramViolation{i, n, fmt::format("graph {}: {} [ranks]", g.name(), what)};
    };
    if (g.shared_world() != program.world && g.world() != *program.world)
      internal_fail("graph {}: made for another world", g.name());
    if (!names.insert(g.name()).second) return violation("the name is taken");
    if (g.ranks().empty() && program.graphs.size() > 1)
      return violation("one of several graphs must say which ranks run it");
    std::vector<int> mine = ranks_of(g);
    for (int r : mine) {
      if (r < 0 || r >= ranks)
        return violation(fmt::format("rank {} in a world of {}", r, count_of(ranks, "rank")));
      int& by = owner[static_cast<std::size_t>(r)];
      if (by == static_cast<int>(i)) return violation(fmt::format("rank {} twice", r));
      if (by >= 0)
        return violation(fmt::format("rank {} runs graph {} already", r,
                                     program.graphs[static_cast<std::size_t>(by)].name()));
      by = static_cast<int>(i);
    }
    std::set<std::string_view> groups;
    if (auto v = foreign_group(g, g.ranks(), groups)) return violation(v->message, v->node);
    if (auto v = own_partner(g, mine)) return violation(v->message, v->node);
  }
  auto idle = std::ranges::find(owner, -1);
  if (idle != owner.end())
    return ProgramViolation{
        0, {}, fmt::format("no graph for rank {} [ranks]", idle - owner.begin())};
  return find_mismatch(program);
}

}  // namespace hocket

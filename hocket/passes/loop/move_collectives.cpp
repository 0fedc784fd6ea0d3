#include "hocket/passes/loop/move_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/collective_matching.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/place.h"
#include "hocket/iter/rotate.h"
#include "hocket/iter/seams.h"
#include "hocket/passes/framework/node_names.h"
#include "hocket/passes/loop/update_slices.h"

namespace hocket {
namespace {

/// The node with the result `%name`; none if this graph has no such node.
NodeId find_node(const Graph& g, std::string_view name) {
  Value v = name.starts_with('%') ? g.find(name.substr(1)) : Value{};
  return v && !g.is_input(g.node(v)) ? g.node(v) : NodeId{};
}

/// Refuses a name, with the nearest name of a node that `accept` allows.
template <class Accept>
[[noreturn]] void refuse(const Program& program, std::string_view what, std::string_view name,
                         Accept accept) {
  std::vector<std::string> names;
  for (const Graph& g : program.graphs)
    for (NodeId n : g.nodes())
      if (accept(g, n))
        for (Value v : g.results(n)) names.push_back(shown(g, v));
  std::vector<std::string_view> known(names.begin(), names.end());
  fail("{} '{}'{}", what, name, nearest_hint(name, known));
}

/// By graph: the named collectives, and those of other graphs that match them.
std::vector<std::vector<NodeId>> find_collectives(const Program& program, std::string_view names) {
  std::vector<std::set<NodeId>> named(program.graphs.size());
  for (std::string_view name : split(names, '+')) {
    bool somewhere = false;
    for (std::size_t i = 0; i < named.size(); ++i) {
      const Graph& g = program.graphs[i];
      NodeId n = find_node(g, trim(name));
      if (!n || !g[n].op->is_collective) continue;
      named[i].insert(n);
      somewhere = true;
    }
    if (!somewhere)
      refuse(program, "option 'move': there is no collective", trim(name),
             [](const Graph& g, NodeId n) { return g[n].op->is_collective; });
  }
  const CollectiveMatching matching(program);
  std::vector<bool> moves(matching.count);
  for (const CallSite& c : matching.calls)
    if (named[c.graph].contains(c.node)) moves[c.match] = true;
  std::vector<std::vector<NodeId>> lists(program.graphs.size());
  for (const CallSite& c : matching.calls)
    if (moves[c.match]) lists[c.graph].push_back(c.node);
  return lists;
}

void move_in(Graph& g, std::span<const NodeId> collectives, std::string_view before) {
  cut_optimizers(g, collectives, SliceFrom::start);
  std::vector<NodeId> nodes;
  for (const UpdateSlice& slice : find_slices(g, collectives, SliceFrom::start)) {
    if (!slice.updates)
      fail("option 'move': no optimizer uses what {} brings", shown(g, slice.collectives[0]));
    if (slice.returned)
      fail("option 'move': {} reads {}, which depends on {}", slice.output,
           shown(g, slice.returned), shown(g, slice.collectives[0]));
    nodes.insert(nodes.end(), slice.nodes.begin(), slice.nodes.end());
  }
  NodeId place = before == "none" ? NodeId{} : find_node(g, before);  // may be a cut part
  if (before != "none" && !place)
    g.remark({.where = shown(g, collectives[0]),
              .what = "goes where the dataflow says",
              .why = fmt::format("graph {} has no node {}", g.name(), before)});
  rotate(g, nodes, 1, {.before = place});
  for (NodeId n : collectives)
    g.remark({.where = shown(g, n),
              .what = fmt::format("moved into the next iteration, with {} nodes", nodes.size()),
              .why = "that is asked for"});
}

/// Moves all delayed nodes to the front of the body, behind loop-invariant nodes.
void move_to_front(Graph& g) {
  std::vector<NodeId> delayed;
  for (NodeId n : std::as_const(g).nodes())
    if (std::as_const(g)[n].delay > 0) delayed.push_back(n);
  place_block(g, delayed, first_that_changes(g));
  g.remark({.where = g.name(),
            .what = "what is moved stands in front of everything",
            .why = "ranks with different graphs start it in one order only there"});
}

/// Makes sure that all ranks still start collectives in a common order if they did before. If they
/// do not, the moved nodes go to the front in all graphs. This is safe: the moved and the other
/// collectives keep their relative orders, and all ranks start the moved ones first.
void keep_order(Program& program, bool was_in_order, bool may_place,
                const std::vector<std::vector<NodeId>>& collectives) {
  auto found = find_order_conflict(CollectiveMatching(program));
  if (!found) return;
  if (may_place) {
    for (std::size_t i = 0; i < collectives.size(); ++i)
      if (!collectives[i].empty()) move_to_front(program.graphs[i]);
    if (was_in_order && find_order_conflict(CollectiveMatching(program)))
      internal_fail("cross-iteration: moved to the front, {} lost its order",
                    program.graphs[0].name());
    return;
  }
  const Graph& g = program.graphs[found->first.graph];
  fail(
      "option 'before': graph {} starts {} before {}, {} the other way round; wanted one order on "
      "all ranks",
      g.name(), g.describe(found->first.node), g.describe(found->second.node),
      found->graphs > 2 ? "other graphs together" : "another graph");
}

}  // namespace

void move_collectives(Program& program, std::string_view names, std::string_view before) {
  std::vector<std::vector<NodeId>> collectives = find_collectives(program, names);
  auto moves = [&](const Graph& g) {
    return !collectives[static_cast<std::size_t>(&g - program.graphs.data())].empty();
  };
  auto has_place = [&](const Graph& g) { return moves(g) && find_node(g, before); };
  if (before != "none" && std::ranges::none_of(program.graphs, has_place))
    refuse(program,
           program.graphs.size() == 1
               ? "option 'before': there is no node"
               : "option 'before': no graph where something moves has a node",
           before, [&](const Graph& g, NodeId) { return moves(g); });
  bool several = program.graphs.size() > 1;
  bool in_order = !several || !find_order_conflict(CollectiveMatching(program));
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    Graph& g = program.graphs[i];
    if (collectives[i].empty()) continue;
    if (is_rotated(g)) fail("graph {}: has delays already, wanted a body that has none", g.name());
    try {
      move_in(g, collectives[i], before);
    } catch (const Error& e) {
      if (several) fail("graph {}: {}", g.name(), e.what());
      throw;
    }
  }
  if (!several) return;
  check_seams(program);
  keep_order(program, in_order, before == "none", collectives);
}

}  // namespace hocket

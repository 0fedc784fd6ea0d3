#include "hocket/passes/collectives/raise_collectives.h"

#include <fmt/core.h>

#include <map>
#include <string>

#include "hocket/passes/analysis/dependencies.h"
#include "hocket/passes/collectives/hoist.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

void remark(Graph& g, NodeId n, NodeId behind, bool bound, bool moved) {
  std::string where = behind ? "starts behind " + shown(g, behind) : "starts at the front";
  std::string why = !behind ? "its operands are inputs"
                    : bound ? "the two keep their order"
                            : "its last operand";
  g.remark({.where = shown(g, n), .what = moved ? where : where + " already", .why = why});
}

NodeId later(const Graph& g, NodeId a, NodeId b) { return !a || (b && g.before(a, b)) ? b : a; }

void hoist_collectives(Graph& g, bool keep_group_order) {
  std::vector<bool> feeds = find_feeders(g);
  const Dependencies order(g, Holds::in_flight);
  std::map<std::string, NodeId, std::less<>> last;  // last collective, by group
  Hoist hoist(g);
  for (NodeId n : g.nodes()) {
    if (feeds[n.index]) hoist.prepare(n);
    if (!g[n].op->is_collective) continue;
    NodeId bound;
    for (NodeId m : order.more_before(n)) bound = later(g, bound, m);
    if (keep_group_order) {
      NodeId& leader = last[g[n].attr<std::string>("group")];
      bound = later(g, bound, leader);
      leader = n;
    }
    NodeId before = g.preceding(n), behind = hoist.start(n, bound);
    remark(g, n, behind, bound && behind == bound, g.preceding(n) != before);
  }
}

}  // namespace

void expedite_collectives(Graph& g, const NoOptions&) { hoist_collectives(g, false); }

void raise_collectives(Graph& g, const NoOptions&) { hoist_collectives(g, true); }

}  // namespace hocket

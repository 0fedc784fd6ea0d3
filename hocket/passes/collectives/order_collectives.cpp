#include "hocket/passes/collectives/order_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "hocket/ir/collective_matching.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {

void order_collectives(Program& program, const NoOptions&) {
  const CollectiveMatching matching(program);
  std::vector<std::int64_t> numbers = matching.order();
  std::vector<std::int64_t> highest(program.graphs.size(), -1);
  for (const CallSite& c : matching.calls) {
    Graph& g = program.graphs[c.graph];
    std::int64_t channel = numbers[c.match];
    bool changes = g[c.node].attr<std::int64_t>("channel") != channel;
    bool late = channel < highest[c.graph];
    highest[c.graph] = std::max(highest[c.graph], channel);
    if (changes) g.set_attribute(c.node, "channel", channel);
    g.remark({.where = shown(g, c.node),
              .what = fmt::format("{} channel {}", changes ? "gets" : "keeps", channel),
              .why = late ? "ranks of another graph start it earlier than this one does"
                          : "in list order"});
  }
}

}  // namespace hocket

#include "bases.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "hocket/base/error.h"
#include "hocket/driver/compile.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/rotate.h"
#include "hocket/lower/lower.h"
#include "support/pass_choices.h"
#include "support/random_body.h"
#include "support/random_classes.h"
#include "support/random_families.h"
#include "support/random_program.h"
#include "tight.h"

namespace hocket::testing {
namespace {

constexpr int most_ranks = 3;
constexpr std::size_t most_instructions = 40;  // of a phase
constexpr std::size_t most_transfers = 8;      // of a phase
constexpr std::size_t most_steps = 6;          // iterations in the longest run

Program soup(Random& random) {
  return random_program(random, {.ranks = 1 + static_cast<int>(below(random, 3)),
                                 .nodes = 3 + static_cast<int>(below(random, 10)),
                                 .loop = chance(random, 20)});
}
Program body(Random& random) { return random_body(random).rotated; }
Program pipeline(Random& random) { return random_families()[6].make(random).program; }

struct Family {
  const char* name;
  Program (*make)(Random&);
  std::size_t weight;
};
constexpr Family families[] = {
    {"tight", tight_program, 60},
    {"soup", soup, 10},
    {"body", body, 10},
    {"stages", random_stages, 8},
    {"classes", random_classes, 8},
    {"pipeline", pipeline, 4},
};

const Family& draw_family(Random& random) {
  std::size_t all = 0;
  for (const Family& f : families) all += f.weight;
  std::size_t drawn = below(random, all);
  for (const Family& f : families) {
    if (drawn < f.weight) return f;
    drawn -= f.weight;
  }
  return families[0];
}

constexpr const char* lists[] = {
    "none",
    "none",
    "default",
    "bucket-collectives",
    "cross-iteration:delay=all",
    "cross-iteration:delay=all,sink-waits",
    "bucket-collectives,cross-iteration:delay=all",
    "raise-collectives,sink-waits",
};

/// Delays a random node of a loop and all that depend on it in the same iteration.
bool rotate_some(Graph& g, Random& random) {
  std::vector<NodeId> nodes;
  for (NodeId n : std::as_const(g).nodes()) nodes.push_back(n);
  if (nodes.empty()) return false;
  std::vector<NodeId> moved{nodes[below(random, nodes.size())]};
  std::set<NodeId> known(moved.begin(), moved.end());
  for (std::size_t k = 0; k < moved.size(); ++k)
    for (Value v : g.results(moved[k]))
      for (Use use : g.uses(v))
        if (use.node != g.return_node() && known.insert(use.node).second) moved.push_back(use.node);
  try {
    rotate(g, moved, chance(random, 85) ? 1 : 2, {.outputs_may_lag = true});
  } catch (const Error&) {
    return false;  // a rule of delays
  }
  return true;
}

bool is_small(const Plan& plan) {
  if (plan.shape.depth + 2 * plan.shape.turns > static_cast<int>(most_steps)) return false;
  for (const PlanGraph& g : plan.graphs)
    for (const PlanPhase& p : g.phases)
      if (p.instructions.size() > most_instructions || p.transfers > most_transfers) return false;
  return true;
}

bool transfers(const Plan& plan) {
  return std::ranges::any_of(plan.graphs, [](const PlanGraph& g) {
    return std::ranges::any_of(g.phases, [](const PlanPhase& p) { return p.transfers > 0; });
  });
}

}  // namespace

Program graph_for_each_rank(const Program& program) {
  Program out = program;
  if (program.graphs.size() != 1 || program.world->ranks() == 1) return out;
  out.graphs.clear();
  for (int r = 0; r < program.world->ranks(); ++r) {
    Graph g = program.graphs[0];
    g.set_name(fmt::format("rank{}", r));
    g.set_ranks({r});
    out.graphs.push_back(std::move(g));
  }
  return out;
}

std::optional<Base> random_base(Random& random, bool wants_transfers) {
  const PassTable table = standard_passes();
  const Family& family = draw_family(random);
  Program program = family.make(random);
  if (program.world->ranks() > most_ranks) return std::nullopt;
  CompileOptions how{.passes = lists[below(random, std::size(lists))]};
  try {
    compile(program, how);
  } catch (const std::exception&) {
    return std::nullopt;  // a list that does not fit the program
  }
  std::string split;
  if (program.graphs.size() == 1 && !is_rotated(program.graphs[0]) && chance(random, 50) &&
      rotate_some(program.graphs[0], random))
    split = ", rotated";
  if (chance(random, 70)) {
    program = graph_for_each_rank(program);
    split += ", a graph for each rank";
  }
  Plan plan = lower(program);
  if (!is_small(plan) || (wants_transfers && !transfers(plan))) return std::nullopt;
  return Base{fmt::format("{} {}{}", family.name, how.passes, split), std::move(plan)};
}

}  // namespace hocket::testing

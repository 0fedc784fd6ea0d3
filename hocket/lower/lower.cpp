#include "hocket/lower/lower.h"

#include <algorithm>
#include <deque>

#include "hocket/base/error.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"
#include "hocket/lower/addresses.h"
#include "hocket/lower/sketch.h"

namespace hocket {
namespace {

/// A graph of the program in all its phases.
struct Derived {
  std::vector<Window> windows;
  std::vector<Graph> phases;  // none for a body without delays: it is the only phase
  std::vector<Steps> steps;
};

Derived derive(const Graph& body, std::span<const Window> windows, bool rotated,
               Expander& expander) {
  Derived d{{windows.begin(), windows.end()}, {}, {}};
  if (rotated) {
    const Lags lags(body);
    for (Window w : windows) d.phases.push_back(phase(body, lags, w));
  }
  for (std::size_t i = 0; i < windows.size(); ++i)
    d.steps.push_back(expander.expand(rotated ? d.phases[i] : body));
  return d;
}

/// Sketches all phases. What is found to be needed in one of them holds in all: then again.
std::vector<Sketch> sketch_all(ClassContext& context, const Derived& d) {
  std::vector<Sketch> all;
  for (std::size_t i = 0; i < d.windows.size(); ++i) {
    const Graph& graph = d.phases.empty() ? context.body : d.phases[i];
    all.push_back(sketch_phase(context, graph, d.windows[i], d.steps[i]));
    share_storage(context, all.back());
  }
  return all;
}

PlanGraph lower_graph(const Program& program, const Graph& body, std::span<const Window> windows,
                      bool rotated, const LowerOptions& options, Tables& tables) {
  Expander expander(*program.world, ranks_of(body)[0], options.backend);
  Derived derived = derive(body, windows, rotated, expander);
  // Each round that is not the last adds a doubt about some collective.
  for (CarryDoubts doubts;;) {
    std::vector<Remark> remarks;
    ClassContext context{
        program, body,   {},      Carries(body, doubts), NodeLabels(windows.size() > 1),
        {},      tables, &remarks};
    std::vector<Sketch> sketches = sketch_all(context, derived);
    std::size_t known = doubts.size();
    doubts.add(context.doubts);
    if (doubts.size() > known) continue;
    if (context.doubts.size() > 0)
      internal_fail("graph {}: a transfer over a boundary has no bytes of its own", body.name());
    if (options.remarks != nullptr)
      options.remarks->insert(options.remarks->end(), remarks.begin(), remarks.end());
    derived = {};  // a million nodes take gigabytes
    return with_addresses(context, sketches, options.memory_limit);
  }
}

}  // namespace

Plan lower(const Program& program, const LowerOptions& options) {
  Plan plan;
  plan.program = program;
  bool rotated = std::ranges::any_of(program.graphs, is_rotated);
  if (rotated) {
    plan.shape = loop_shape(program);
    check_seams(program);
  }
  if (options.backend != nullptr) {
    plan.backends.emplace_back(options.backend->name());
    plan.origin.numerics = options.backend->numerics();
  }
  Tables tables(plan);
  std::vector<Window> windows = all_windows(plan.shape);
  for (const Graph& g : plan.program.graphs)
    plan.graphs.push_back(lower_graph(plan.program, g, windows, rotated, options, tables));
  return plan;
}

}  // namespace hocket

#include "bench/operations.h"

#include <fmt/core.h>

#include <algorithm>

#include "bench/sentinel.h"
#include "hocket/base/error.h"
#include "hocket/check/check.h"
#include "hocket/check/meaning.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/phases.h"
#include "hocket/iter/rotate.h"
#include "hocket/iter/seams.h"
#include "hocket/lower/lower.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/framework/runner.h"

namespace hocket::bench {
namespace {

/// Ordered maps of all bytes in use: their depth grows, and they leave the caches.
constexpr double most_of_checks = 1.25;

/// Seconds of a call, without the destruction of its result. Measured in CPU time, because
/// interruptions by other processes would grow with the length of the call.
template <class F>
double seconds_of(const Case& c, F f) {
  for (std::size_t i = 0; i < c.ballast.size(); i += 64) ++c.ballast[i];
  double start = thread_seconds();
  [[maybe_unused]] auto result = f();
  return thread_seconds() - start;
}

/// Moves about every fourth node as far as possible: behind its last operand or before its first
/// reader.
std::size_t move_a_quarter(Graph& g) {
  std::uint64_t state = 1;
  std::size_t moved = 0;
  for (std::uint32_t i = 2; i < g.node_bound(); ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    NodeId n{i};
    if (state >> 62 != 0 || !g.contains(n) || g.is_input(n)) continue;
    if (state >> 61 & 1) {
      NodeId last;
      for (Value v : g[n].inputs)
        if (NodeId from = g.node(v); !last || g.before(last, from)) last = from;
      if (last) g.move_after(n, last);
    } else if (NodeId reader = g.first_user(n)) {
      g.move_before(n, reader);
    }
    ++moved;
  }
  return moved;
}

/// Delays every wait and the nodes that depend on it, through the optimizer, to the next iteration.
std::size_t rotate_updates(Graph& g) {
  std::vector<char> late(g.value_bound());
  std::vector<NodeId> nodes;
  for (NodeId n : std::as_const(g).nodes()) {
    bool moves = g[n].op->is_wait ||
                 std::ranges::any_of(g[n].inputs, [&](Value v) { return late[v.index] != 0; });
    if (!moves) continue;
    nodes.push_back(n);
    for (Value v : g.results(n)) late[v.index] = 1;
  }
  rotate(g, nodes);
  return nodes.size();
}

/// Derives prologue, steady and drain one after the other, so that only one is in memory.
std::size_t derive_phases(const Graph& g) {
  Lags lags(g);
  LoopShape shape = loop_shape(g, lags);
  std::size_t nodes = 0;
  for (Window w : {step_window(shape, 0), step_window(shape, 1), drain_window(shape, 2, 1)})
    nodes += phase(g, lags, w).size();
  return nodes;
}

/// Runs the passes that must come before a pass.
void prepare(Program& program, const PassTable& table, const Pass& pass) {
  for (const std::string& need : pass.needs) {
    if (std::ranges::find(program.applied, need) != program.applied.end()) continue;
    prepare(program, table, table.find(need));
    run_pass(program, table, {need, {}});
  }
}

}  // namespace

Case make_case(const Family& family, std::size_t nodes, std::span<char> ballast) {
  Case c{&family, nodes, family.make(nodes), {}, ballast};
  if (c.graph.size() != nodes)
    internal_fail("{}: found {} nodes, wanted {}", family.name, c.graph.size(), nodes);
  c.text = to_text(c.graph);
  return c;
}

std::vector<Operation> operations(const PassTable& table, const Family& family) {
  std::vector<Operation> list = {
      {"build",
       [](const Case& c) { return seconds_of(c, [&] { return c.family->make(c.nodes); }); }},
      {"copy", [](const Case& c) { return seconds_of(c, [&] { return Graph(c.graph); }); }},
      {"print", [](const Case& c) { return seconds_of(c, [&] { return to_text(c.graph); }); }},
      {"parse",
       [](const Case& c) { return seconds_of(c, [&] { return parse(c.text, ops::all()); }); }},
      {"verify", [](const Case& c) { return seconds_of(c, [&] { return verify(c.graph), 0; }); }},
      {"lower",
       [](const Case& c) {
         Program program{Graph(c.graph)};
         return seconds_of(c, [&] { return lower(program); });
       }},
      {"safety",
       [](const Case& c) {
         Plan plan = lower(Program{Graph(c.graph)});
         return seconds_of(c, [&] { return find_unsafe(plan); });
       },
       most_of_checks},
      {"meaning",
       [](const Case& c) {
         Plan plan = lower(Program{Graph(c.graph)});
         plan.source = plan.program;
         return seconds_of(c, [&] { return compare_meaning(plan).verdict; });
       },
       most_of_checks},
      {"move 25 %",
       [](const Case& c) {
         Graph g = c.graph;
         return seconds_of(c, [&] { return move_a_quarter(g); });
       }},
  };
  if (family.make == make_layered)
    list.push_back({"rotate + phases", [](const Case& c) {
                      Graph g = c.graph;
                      return seconds_of(c, [&] {
                        rotate_updates(g);
                        return derive_phases(g);
                      });
                    }});
  auto add = [&](const Pass& pass, const std::string& name, const OptionTexts& options) {
    list.push_back(
        {name, [&table, &pass, options](const Case& c) {
           Program program{Graph(c.graph)};
           prepare(program, table, pass);
           return seconds_of(c, [&] { return run_pass(program, table, {pass.name, options}); });
         }});
  };
  for (const Pass& pass : table.passes()) {
    add(pass, pass.name, {});
    for (const OptionRow& option : pass.options)
      for (const std::string& value : option.values)
        if (value != option.fallback)
          add(pass, fmt::format("{} {}", pass.name, value), {{option.name, value}});
  }
  // Options with which passes change these graphs, whose tensors are small.
  for (auto [name, passes] :
       {std::pair{"bucket cap=4KiB", "bucket-collectives:first=1KiB:cap=4KiB"},
        std::pair{"split part=128", "split-collectives:part=128"}})
    list.push_back({name, [&table, call = table.parse(passes)[0]](const Case& c) {
                      Program program{Graph(c.graph)};
                      return seconds_of(c, [&] { return run_pass(program, table, call); });
                    }});
  return list;
}

void check_operations(const Case& c) {
  if (!(parse(c.text, ops::all()) == Program(c.graph)))
    internal_fail("{}: text does not read back as the same graph", c.family->name);
  Plan plan = lower(Program(c.graph));
  plan.source = plan.program;
  if (find_unsafe(plan) || compare_meaning(plan).verdict != Verdict::same)
    internal_fail("{}: its plan is not certified", c.family->name);
  Graph moved = c.graph;
  move_a_quarter(moved);
  verify(moved);
  if (c.family->make != make_layered) return;
  Graph late = c.graph;
  if (rotate_updates(late) < late.size() / 10)
    internal_fail("layered: hardly anything was rotated");
  verify(late);
  check_seams(late);
}

}  // namespace hocket::bench

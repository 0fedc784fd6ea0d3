#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/load.h"
#include "hocket/driver/plan_file.h"
#include "hocket/ops/work.h"
#include "hocket/plan/bucket_copies.h"
#include "hocket/plan/live_tensors.h"
#include "hocket/report/arena_svg.h"

namespace hocket::cli {
namespace {

std::string size_text(double bytes) {
  for (auto [unit, name] : {std::pair(1e9, "GB"), std::pair(1e6, "MB"), std::pair(1e3, "KB")})
    if (bytes >= unit) return fmt::format("{:.1f} {}", bytes / unit, name);
  return fmt::format("{:.0f} bytes", bytes);
}

std::string statistics(const std::string& source, const Program& program) {
  std::string text = fmt::format("{}: {}, {}\n", source, count_of(program.world->ranks(), "rank"),
                                 count_of(std::ssize(program.graphs), "graph"));
  for (const Graph& g : program.graphs) {
    std::map<StateKind, std::pair<std::int64_t, double>> states;
    std::int64_t fed = 0;
    for (const Input& in : g.inputs()) {
      fed += in.state ? 0 : 1;
      if (!in.state) continue;
      auto& [count, bytes] = states[in.kind];
      ++count;
      bytes += static_cast<double>(g.type(in.value).bytes());
    }
    std::map<std::string_view, std::int64_t> ops;
    std::map<std::string, std::pair<std::int64_t, double>> transfers;
    double flops = 0;
    for (NodeId n : g.nodes()) {
      ++ops[g[n].op->name];
      flops += hocket::flops(g, n);
      if (!g[n].op->is_collective) continue;
      auto& [count, bytes] =
          transfers[fmt::format("{} over {}", g[n].op->name, g[n].attr<std::string>("group"))];
      ++count;
      for (Value v : g[n].inputs) bytes += static_cast<double>(g.type(v).bytes());
    }
    text += fmt::format("{}: {}, {:.4g} Gflop a step\n", g.name(),
                        count_of(static_cast<std::int64_t>(g.size()), "node"), flops / 1e9);
    for (const auto& [kind, all] : states)
      text += fmt::format("  {} {} state, {}\n", all.first, name(kind), size_text(all.second));
    text += fmt::format("  {}, {}\n", count_of(fed, "input"),
                        count_of(std::ssize(g.outputs()), "output"));
    for (const auto& [what, all] : transfers)
      text += fmt::format("  {} {}, {}\n", all.first, what, size_text(all.second));
    std::vector<std::pair<std::string_view, std::int64_t>> most(ops.begin(), ops.end());
    std::ranges::stable_sort(most,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    text += " ";
    for (std::size_t i = 0; i < most.size() && i < 12; ++i)
      text += fmt::format(" {} {}{}", most[i].second, most[i].first,
                          i + 1 < most.size() && i < 11 ? "," : "");
    if (most.size() > 12) text += fmt::format(" and {} other ops", most.size() - 12);
    text += "\n";
  }
  return text;
}

/// Escapes a text for a label of DOT.
std::string dot_text(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return escaped;
}

/// All nodes within a distance of a node, as a DOT graph.
std::string neighbourhood(const Graph& g, Value centre, int distance) {
  std::set<NodeId> near{g.node(centre)};
  std::vector<NodeId> edge{g.node(centre)};
  for (int i = 0; i < distance; ++i) {
    std::vector<NodeId> next;
    auto visit = [&](NodeId n) {
      if (n != g.return_node() && near.insert(n).second) next.push_back(n);
    };
    for (NodeId n : edge) {
      if (!g.is_input(n))
        for (Value v : g[n].inputs) visit(g.node(v));
      for (Value v : g.results(n))
        for (Use use : g.uses(v)) visit(use.node);
    }
    edge = std::move(next);
  }
  std::string dot = "digraph {\n  rankdir=TB; node [shape=box, fontname=monospace];\n";
  for (NodeId n : near) {
    std::string label;
    for (Value v : g.results(n)) label += fmt::format("%{}: {}\\n", g.name(v), to_text(g.type(v)));
    label += g.is_input(n) ? "input" : std::string(g[n].op->name);
    if (!g.path(n).empty()) label += "\\n" + dot_text(g.path(n));
    dot += fmt::format("  n{} [label=\"{}\"{}{}];\n", n.index, label,
                       n == g.node(centre) ? ", style=bold" : "",
                       !g.is_input(n) && g[n].op->is_collective ? ", color=blue" : "");
  }
  for (NodeId n : near)
    if (!g.is_input(n))
      for (Value v : g[n].inputs)
        if (near.contains(g.node(v)))
          dot += fmt::format("  n{} -> n{};\n", g.node(v).index, n.index);
  return dot + "}\n";
}

std::string plan_statistics(const std::string& path, const Plan& plan) {
  const PlanOrigin& o = plan.origin;
  std::string text = fmt::format("{}: a plan for {}, made of {}\n  passes {}\n  {}, {}\n", path,
                                 count_of(plan.program.world->ranks(), "rank"), o.source, o.passes,
                                 o.numerics, o.cpu);
  for (std::size_t g = 0; g < plan.graphs.size(); ++g) {
    const PlanGraph& graph = plan.graphs[g];
    std::int64_t kept = 0;
    for (const Home& h : graph.homes) kept += plan.types[h.location.type].bytes();
    text += fmt::format(
        "{}: {} of memory, {} of it kept between iterations\n", plan.program.graphs[g].name(),
        size_text(static_cast<double>(graph.arena_bytes)), size_text(static_cast<double>(kept)));
    for (const PlanPhase& phase : graph.phases) {
      std::map<InstructionKind, std::int64_t> count;
      for (const Instruction& i : phase.instructions) ++count[i.kind];
      text += fmt::format("  {}: {}, {}, {}\n", window_name(plan.shape, phase.window),
                          count_of(count[InstructionKind::kernel], "kernel"),
                          count[InstructionKind::copy] == 1
                              ? "1 copy"
                              : fmt::format("{} copies", count[InstructionKind::copy]),
                          count_of(count[InstructionKind::start], "transfer"));
    }
  }
  std::vector<BucketCopy> copies = bucket_copies(plan);
  text += fmt::format("bytes copied for collectives in an iteration: {}\n", total_bytes(copies));
  for (const BucketCopy& c : copies)
    text += fmt::format("  {}: {}, {}\n", c.tensor, count_of(c.bytes, "byte"), c.reason);
  return text;
}

/// The phase of a graph in which most bytes are alive.
std::size_t fullest_phase(const Plan& plan, std::size_t graph) {
  std::size_t fullest = 0;
  std::int64_t most = 0;
  for (std::size_t p = 0; p < plan.graphs[graph].phases.size(); ++p)
    if (Peak peak = peak_of(live_tensors(plan, graph, p)); peak.bytes > most) {
      most = peak.bytes;
      fullest = p;
    }
  return fullest;
}

std::size_t largest_graph(const Plan& plan) {
  auto largest = std::ranges::max_element(plan.graphs, {}, &PlanGraph::arena_bytes);
  return static_cast<std::size_t>(largest - plan.graphs.begin());
}

/// What is alive at the fullest instant, the largest first.
std::string peak_table(const Plan& plan) {
  constexpr std::size_t most_shown = 30;
  std::size_t g = largest_graph(plan), p = fullest_phase(plan, g);
  const PlanGraph& graph = plan.graphs[g];
  const PlanPhase& phase = graph.phases[p];
  std::vector<LiveTensor> tensors = live_tensors(plan, g, p);
  Peak peak = peak_of(tensors);
  std::erase_if(tensors, [&](const LiveTensor& t) {
    return t.first > peak.instruction || t.last < peak.instruction;
  });
  std::ranges::stable_sort(tensors, std::greater<>{}, &LiveTensor::bytes);
  std::size_t at = std::min<std::size_t>(peak.instruction, phase.instructions.size() - 1);
  const TraceLabel& label = graph.labels[phase.instructions[at].label];
  std::string text =
      fmt::format("{}, {}: {} alive at instruction {}, {} {}; arena {} bytes\n",
                  plan.program.graphs[g].name(), window_name(plan.shape, phase.window),
                  count_of(peak.bytes, "byte"), at, label.op, label.name, graph.arena_bytes);
  for (std::size_t i = 0; i < tensors.size() && i < most_shown; ++i)
    text += fmt::format("{:>14} bytes at {:>12}  {}{}\n", tensors[i].bytes, tensors[i].offset,
                        tensors[i].name, tensors[i].kept ? " (kept)" : "");
  if (tensors.size() > most_shown)
    text += fmt::format("  and {} more\n", tensors.size() - most_shown);
  return text;
}

int show_plan(const ShowVerb& verb) {
  Plan plan = load_plan(verb.source);
  if (!verb.svg.empty()) {
    std::size_t g = largest_graph(plan);
    write_file(verb.svg, arena_svg(plan, g, fullest_phase(plan, g)));
  }
  if (verb.memory)
    print(peak_table(plan));
  else if (verb.svg.empty())
    print(plan_statistics(verb.source, plan));
  return 0;
}

}  // namespace

int show(const ShowVerb& verb) {
  if (is_plan_file(verb.source)) return show_plan(verb);
  if (verb.memory || !verb.svg.empty())
    fail("{}: --memory and --svg are about a .plan", verb.source);
  Program program = load(verb.source);
  if (verb.around.empty()) {
    print(statistics(verb.source, program));
    return 0;
  }
  std::string_view wanted = verb.around;
  if (wanted.starts_with('%')) wanted.remove_prefix(1);
  if (verb.distance < 0 || verb.distance > 100) fail("--distance {}", verb.distance);
  for (const Graph& g : program.graphs)
    if (Value v = g.find(wanted)) {
      print(neighbourhood(g, v, verb.distance));
      return 0;
    }
  fail("{}: no value %{}", verb.source, wanted);
}

}  // namespace hocket::cli

#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/check/certificate.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/load.h"
#include "hocket/driver/plan_file.h"

namespace hocket::cli {
namespace {

LaunchOrder read_order(const std::string& text) {
  for (LaunchOrder order : {LaunchOrder::per_group, LaunchOrder::total})
    if (name(order) == text) return order;
  std::vector<std::string_view> known{name(LaunchOrder::per_group), name(LaunchOrder::total)};
  fail("--launch-order: unknown order '{}'{}", text, nearest_hint(text, known));
}

void check_program(const std::string& source) {
  Program program = load(source);
  std::int64_t nodes = 0, collectives = 0;
  for (const Graph& g : program.graphs)
    for (NodeId n : g.nodes()) {
      ++nodes;
      collectives += g[n].op->is_collective ? 1 : 0;
    }
  print(fmt::format("{}: ok, {}, {}, {}\n", source, count_of(program.world->ranks(), "rank"),
                    count_of(nodes, "node"), count_of(collectives, "collective")));
}

std::string counts(const Plan& plan) {
  std::int64_t instructions = 0;
  for (const PlanGraph& g : plan.graphs)
    for (const PlanPhase& phase : g.phases) instructions += std::ssize(phase.instructions);
  return fmt::format("{}, {}", count_of(plan.program.world->ranks(), "rank"),
                     count_of(instructions, "instruction"));
}

/// Prints what is proven of a plan; returns the exit status.
int show_certificate(const std::string& path, const Plan& plan, const Certificate& c) {
  if (c.refuted()) {
    print(fmt::format("{}: refuted: {}\n", path, refutation_text(c)));
    return 1;
  }
  std::string text =
      fmt::format("{}: {}, {}, {:.1f} ms\n", path, c.certified() ? "certified" : "safe",
                  counts(plan), c.seconds * 1e3);
  if (!c.certified())
    text += fmt::format("  not decided whether it computes its source: {}\n", c.meaning.message);
  for (const std::string& a : c.meaning.assumptions) text += fmt::format("  assumes that {}\n", a);
  print(text);
  return 0;
}

/// Several plans for as many ranks are one for each rank, and must fit together.
int check_together(std::span<const Plan> plans, LaunchOrder order) {
  Plan all = one_per_rank(plans);
  Certificate c{order, find_unsafe(all, order), {}, 0};
  print(c.unsafe ? fmt::format("together: refuted: {}\n", refutation_text(c))
                 : fmt::format("together: safe, {}\n", counts(all)));
  return c.unsafe ? 1 : 0;
}

}  // namespace

int check(const CheckVerb& verb) {
  LaunchOrder order = read_order(verb.launch_order);
  int status = 0;
  std::vector<Plan> plans;
  for (const std::string& source : verb.sources) {
    try {
      if (is_plan_file(source)) {
        plans.push_back(load_plan(source));
        status =
            std::max(status, show_certificate(source, plans.back(), certify(plans.back(), order)));
      } else {
        check_program(source);
      }
    } catch (const Error& e) {
      fmt::print(stderr, "hocket: {}\n", e.what());
      status = 2;
    }
  }
  if (plans.size() < 2 || plans.size() != verb.sources.size()) return status;
  return std::max(status, check_together(plans, order));
}

}  // namespace hocket::cli

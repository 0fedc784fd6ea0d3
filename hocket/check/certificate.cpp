#include "hocket/check/certificate.h"

#include "hocket/base/clock.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket {
namespace {

/// Puts the entries of a table behind those of another, and says where.
template <class T>
std::uint32_t join(std::vector<T>& to, const std::vector<T>& from) {
  auto first = static_cast<std::uint32_t>(to.size());
  to.insert(to.end(), from.begin(), from.end());
  return first;
}

}  // namespace

Certificate certify(const Plan& plan, LaunchOrder order) {
  double begin = steady_seconds();
  Certificate c{order, find_unsafe(plan, order), {}, 0};
  if (!c.unsafe) c.meaning = compare_meaning(plan);
  c.seconds = steady_seconds() - begin;
  return c;
}

std::string refutation_text(const Certificate& c) {
  if (!c.unsafe) return c.meaning.message;
  std::string text = fmt::format("{} [{}]", c.unsafe->message, c.unsafe->rule);
  for (const std::string& line : c.unsafe->example) text += "\n  " + line;
  return text;
}

Plan one_per_rank(std::span<const Plan> plans) {
  Plan all;
  all.program.world = plans[0].program.world;
  all.shape = plans[0].shape;
  all.backends.clear();
  int ranks = all.program.world->ranks();
  if (std::ssize(plans) != ranks)
    fail("{} for {}, wanted one for each", count_of(std::ssize(plans), "plan"),
         count_of(ranks, "rank"));
  for (std::size_t r = 0; r < plans.size(); ++r) {
    const Plan& plan = plans[r];
    if (!(*plan.program.world == *all.program.world))
      fail("plan {} is for other ranks than plan 0", r);
    if (plan.shape != all.shape)
      fail(
          "plan {} has depth={} turns={}, plan 0 has depth={} turns={}: ranks would not run the "
          "same iterations",
          r, plan.shape.depth, plan.shape.turns, all.shape.depth, all.shape.turns);
    std::size_t g = plan.program.graph_index(static_cast<int>(r));
    Graph& program = all.program.graphs.emplace_back(plan.program.graphs[g]);
    program.set_ranks({static_cast<int>(r)});
    program.set_name(fmt::format("{}_{}", program.name(), r));
    PlanGraph& graph = all.graphs.emplace_back(plan.graphs[g]);
    std::uint32_t types = join(all.types, plan.types), layouts = join(all.layouts, plan.layouts),
                  reasons = join(all.reasons, plan.reasons),
                  backends = join(all.backends, plan.backends);
    for (Home& home : graph.homes) {
      home.location.type += types;
      home.location.layout += layouts;
    }
    for (PlanPhase& phase : graph.phases) {
      for (Location& l : phase.locations) {
        l.type += types;
        l.layout += layouts;
      }
      for (Instruction& i : phase.instructions) {
        if (i.kind == InstructionKind::copy) i.index += reasons;
        i.backend = static_cast<std::uint8_t>(i.backend + backends);
      }
    }
  }
  return all;
}

}  // namespace hocket

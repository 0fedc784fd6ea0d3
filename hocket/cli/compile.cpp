#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/plan_file.h"

namespace hocket::cli {

int compile(const CompileVerb& verb) {
  PlanOptions options{{.passes = verb.passes}, verb.backend, verb.threads, verb.memory_limit};
  PlanReport report;
  Plan plan = make_plan(load_step(verb.source), options, &report);
  save_plan(plan, verb.output);
  std::size_t instructions = 0;
  std::int64_t arena = 0;
  for (const PlanGraph& g : plan.graphs) {
    arena = std::max(arena, g.arena_bytes);
    for (const PlanPhase& phase : g.phases) instructions += phase.instructions.size();
  }
  print(fmt::format("{}: {}, {}, {} of memory for each rank, {:.1f} ms\n", verb.output,
                    count_of(std::ssize(plan.graphs), "graph"),
                    count_of(static_cast<std::int64_t>(instructions), "instruction"),
                    count_of(arena, "byte"), report.compile_seconds * 1e3));
  if (!verb.remarks) return 0;
  for (const PassReport& p : report.compiled.passes)
    for (const Remark& r : p.remarks) show(r);
  for (const Remark& r : report.remarks) show(r);
  return 0;
}

}  // namespace hocket::cli

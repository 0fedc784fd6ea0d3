#include <fmt/core.h>

#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/load.h"
#include "hocket/ir/print.h"

namespace hocket::cli {

int import_step(const ImportVerb& verb) {
  Step step = load_step(verb.source);
  if (verb.remarks)
    for (const Remark& r : step.remarks) show(r);
  if (verb.output.empty()) {
    print(to_text(step.program));
    return 0;
  }
  save_step(step, verb.output);
  std::int64_t nodes = 0;
  for (const Graph& g : step.program.graphs) nodes += static_cast<std::int64_t>(g.size());
  fmt::print(stderr, "{}: {} of the source, {} here, {:.1f} ms\n", verb.output,
             count_of(step.nodes, "node"), nodes, step.import_seconds * 1e3);
  return 0;
}

}  // namespace hocket::cli

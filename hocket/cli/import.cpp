#include <fmt/core.h>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/constants.h"
#include "hocket/driver/load.h"
#include "hocket/ir/print.h"

namespace hocket::cli {
namespace {

/// Error when the step has values: standard output can take only the text.
void require_one_text(const Step& step) {
  const frontend::Recording& r = step.recording;
  if (r.state.empty() && r.batches.empty() && r.expected.empty() && r.final_state.empty() &&
      used_constants(step.program).empty())
    return;
  fail(
      "-o -: {} has values that go to files beside its text; name a file, or leave out -o for the "
      "text alone",
      step.source);
}

}  // namespace

int import_step(const ImportVerb& verb) {
  Step step = load_step(verb.source);
  if (verb.remarks)
    for (const Remark& r : step.remarks) show(r);
  if (verb.output == "-") require_one_text(step);
  if (verb.output.empty() || verb.output == "-") {
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

#include "hocket/driver/compile.h"

namespace hocket {
namespace {

/// Makes communication overlap with computation within one iteration.
std::vector<ListStep> default_list() {
  return {
      {"dead-nodes", "first, so that no other pass spends time on what nobody reads"},
      {"common-nodes", "before buckets, so that equal collectives become one transfer"},
      {"fold", "behind common-nodes, which leaves less to fold"},
      {"expedite-collectives",
       "before buckets, which take collectives in list order: now the order in which gradients "
       "become ready"},
      {"bucket-collectives", "small transfers would pay the latency of the link one by one"},
      {"split-optimizer:by=bucket",
       "behind buckets: each part of an optimizer then waits for one bucket alone"},
      {"order-collectives",
       "behind all that adds, merges or moves collectives, since channels follow the list"},
      {"sink-waits", "behind split-optimizer, whose parts need their gradients at different times"},
      {"dead-nodes", "last: removes what merging and cutting have left unread"},
  };
}

/// `default`, and delayed updates.
std::vector<ListStep> best_list() {
  return {
      {"default", "overlap within the iteration first"},
      {"cross-iteration", "last: delays whole buckets, each with its part of the optimizer"},
  };
}

}  // namespace

PassTable standard_passes() {
  PassTable table = all_passes();
  table.add_word("default",
                 "clean-up, buckets, early starts and late waits, all within one iteration",
                 default_list());
  table.add_word("best",
                 "default, and updates delayed into the next iteration where that hides transfers",
                 best_list());
  return table;
}

CompileReport compile(Program& program, const CompileOptions& options) {
  CompileReport report;
  std::vector<PassCall> calls = options.table.parse(options.passes, &report.remarks);
  report.passes = run_passes(program, options.table, calls, options.run);
  return report;
}

}  // namespace hocket

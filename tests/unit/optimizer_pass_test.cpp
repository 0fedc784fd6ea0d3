#include <gtest/gtest.h>

#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// `where: what: why` of everything that the last pass said.
std::vector<std::string> remarks_of(std::string_view passes, std::string_view body) {
  std::string text =
      "mesh(dp=2)\ngraph step(%p: f32[2], %q: f32[3], %x: f32[2], %y: f32[3], %lr: f32[]) {\n" +
      std::string(body) + "}\n";
  Program program = parse(text, ops::all());
  PassTable table = standard_passes();
  std::vector<PassReport> reports = run_passes(program, table, table.parse(passes));
  std::vector<std::string> said;
  for (const Remark& r : reports.back().remarks)
    said.push_back(r.where + ": " + r.what + ": " + r.why);
  return said;
}

using Said = std::vector<std::string>;

TEST(OptimizerPasses, SplitSaysWhatItDid) {
  constexpr std::string_view body = R"(
  %r: pending f32[2] = all_reduce(%x) {group="dp", reduce="sum", channel=0}
  %g: f32[2] = wait(%r)
  %a: f32[2], %b: f32[3] = sgd([%p,%q], [%g,%y], [], %lr, [], [])
  %c: f32[2], %d: f32[2] = sgd([%p,%p], [%g,%g], [], %lr, [], [])
  %e: f32[2], %f: f32[3] = sgd([%p,%q], [%x,%y], [], %lr, [], [])
  %h: f32[2] = sgd([%p], [%x], [], %lr, [], [])
  return %a, %b, %c, %d, %e, %f, %h
)";
  EXPECT_EQ(remarks_of("split-optimizer", body),
            (Said{"%a: cut in 2: one for each collective that reduces its gradients, and one for "
                  "gradients that none reduces",
                  "%c: not cut: one collective reduces all its gradients",
                  "%e: not cut: no collective reduces its gradients"}));
  EXPECT_EQ(remarks_of("split-optimizer:by=parameter", body),
            (Said{"%a: cut in 2: one for each parameter", "%c: cut in 2: one for each parameter",
                  "%e: cut in 2: one for each parameter"}));
  EXPECT_EQ(remarks_of("split-optimizer:gradients=%g", body),
            (Said{"%a: cut in 2: 1 of 2 gradients are named",
                  "%c: not cut: all its gradients are named"}));
}

TEST(OptimizerPasses, FuseSaysWhatItDidAndWhatKeepsOthersApart) {
  constexpr std::string_view body = R"(
  %a: f32[2] = sgd([%p], [%x], [], %lr, [], [])
  %b: f32[3] = sgd([%q], [%y], [], %lr, [], [])
  %c: f32[2] = sgd([%p], [%a], [], %lr, [], [])
  %d: f32[2] = sgd([%p], [%x], [], %lr, [], []) {weight_decay=0.5}
  %e: f32[2] = sgd([%p], [%x], [], %lr, [%lr], [])
  return %a, %b, %c, %d, %e
)";
  EXPECT_EQ(
      remarks_of("fuse-optimizer", body),
      (Said{"%c: not joined with %a: it depends on another optimizer",
            "%d: not joined with %a: attributes differ",
            "%e: not joined with %a: operands beside the lists, empty lists, delay or stage differ",
            "%a: 2 optimizers joined: their hyper-parameters are the same"}));
}

}  // namespace
}  // namespace hocket

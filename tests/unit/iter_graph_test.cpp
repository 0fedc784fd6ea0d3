#include "hocket/iter/iter_graph.h"

#include <gtest/gtest.h>

#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

TEST(IterGraph, NamesWhatIsCarried) {
  Program p = parse(R"(graph step(%w: state f32[2] "layer.w" "head.w" parameter, %x: f32[2],
                                 %n: state i64[] "count" buffer) {
  %u: f32[2] = add(%w, %x)
  next %w = %u
  return %x
})",
                    ops::all());
  IterGraph body(p.graphs[0]);
  ASSERT_EQ(body.carries().size(), 2U);
  EXPECT_EQ(body.fed().size(), 1U);
  const Carry* w = body.find("head.w");
  ASSERT_NE(w, nullptr);
  EXPECT_TRUE(w->changes());
  EXPECT_EQ(p.graphs[0].name(w->next), "u");
  EXPECT_EQ(w->kind, StateKind::parameter);
  const Carry* n = body.find("n");
  ASSERT_NE(n, nullptr);
  EXPECT_FALSE(n->changes()) << "a state without next keeps its value";
  EXPECT_EQ(body.find("x"), nullptr);
}

}  // namespace
}  // namespace hocket

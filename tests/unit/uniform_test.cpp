#include <gtest/gtest.h>

#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/analysis/uniform_values.h"

namespace hocket {
namespace {

/// The names of values that all ranks of a set of the group agree on, in the order of the graph.
std::string agreed(const std::string& text, std::string_view group) {
  Program program = parse(text, ops::all());
  const Graph& g = program.graphs[0];
  std::vector<bool> uniform = uniform_values(g, group);
  std::string names;
  auto add = [&](Value v) {
    if (uniform[v.index]) names += (names.empty() ? "" : " ") + g.name(v);
  };
  for (const Input& in : g.inputs()) add(in.value);
  for (NodeId n : g.nodes())
    for (Value v : g.results(n)) add(v);
  return names;
}

TEST(Uniform, SumsOverTheGroupAgree) {
  std::string text = R"(mesh(dp=2, tp=2)
group "pairs" = [[0,3],[1,2]]
graph step(%x: f32[2]) {
  %a: pending f32[2] = all_reduce(%x) {group="dp", reduce="sum", channel=0}
  %b: f32[2] = wait(%a)
  %c: pending f32[2] = all_reduce(%b) {group="tp", reduce="sum", channel=1}
  %d: f32[2] = wait(%c)
  %e: pending f32[2] = all_reduce(%x) {group="world", reduce="sum", channel=2}
  %f: f32[2] = wait(%e)
  %g: pending f32[2] = all_reduce(%x) {group="pairs", reduce="sum", channel=3}
  %h: f32[2] = wait(%g)
  %i: pending f32[1] = reduce_scatter(%x) {group="dp", reduce="sum", channel=4}
  %j: f32[1] = wait(%i)
  %k: i64[] = rank {group="tp"}
  %l: f32[1] = shard(%b) {group="dp"}
  return %d, %f, %h, %j, %k, %l
}
)";
  EXPECT_EQ(agreed(text, "dp"), "a b c d e f k");
  EXPECT_EQ(agreed(text, "tp"), "c d e f");
  EXPECT_EQ(agreed(text, "dp,tp"), "e f");
  EXPECT_EQ(agreed(text, "pairs"), "e f g h");
}

/// A state differs from the iteration on in which a difference reaches it, however long the way.
TEST(Uniform, DoubtSpreadsThroughState) {
  EXPECT_EQ(agreed(R"(mesh(dp=2)
graph step(%a: state f32[2], %b: state f32[2], %c: state f32[2], %d: state f32[2], %x: f32[2]) {
  %ax: f32[2] = add(%a, %x)
  %bb: f32[2] = add(%b, %a)
  %cc: f32[2] = add(%c, %b)
  %dd: f32[2] = add(%d, %d)
  next %a = %ax
  next %b = %bb
  next %c = %cc
  next %d = %dd
}
)",
                   "dp"),
            "d dd");
}

/// Tensors of an optimizer do not see each other; its numbers are seen by all.
TEST(Uniform, ListsAreSeenOneByOne) {
  std::string text = R"(mesh(dp=2)
graph step(%p: state f32[2], %q: state f32[2], %lr: state f32[], %rate: f32[], %x: f32[2]) {
  %u: f32[2], %v: f32[2] = sgd([%p,%q], [%x,%q], [], %lr, [], [])
  %s: f32[2] = sgd([%q], [%q], [], %rate, [], [])
  %t: f32[2] = after(%q, %x)
  next %p = %u
  next %q = %v
  return %s, %t
}
)";
  EXPECT_EQ(agreed(text, "dp"), "q lr v t");
}

}  // namespace
}  // namespace hocket

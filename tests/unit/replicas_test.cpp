#include "hocket/frontend/replicas.h"

#include <gtest/gtest.h>

#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket::frontend {
namespace {

Tensor number(float v) {
  Tensor t(Type{DType::f32, false, {}});
  t.as<float>()[0] = v;
  return t;
}

/// w is kept equal by the reduced gradient, s is a shard, both differ between ranks.
TEST(Replicas, ThatStartDifferentlyAreNamed) {
  Program p = parse(R"(mesh(rank=2)
graph step(%w: state f32[] "layer.w" parameter, %s: state f32[] "layer.s" parameter, %g: f32[]) {
  %h: pending f32[] = all_reduce(%g)
  %r: f32[] = wait(%h)
  %d: f32[] = neg(%r)
  %w1: f32[] = add(%w, %d)
  %s1: f32[] = mul(%s, %g)
  next %w = %w1
  next %s = %s1
})",
                    ops::all());
  Recording recording;
  recording.state = {{number(1), number(1), {}}, {number(2), number(2), {}}};
  std::vector<Remark> remarks = differing_replicas(p, recording);
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_EQ(remarks[0].where, "layer.w");
  recording.state[1][0] = number(1);
  EXPECT_TRUE(differing_replicas(p, recording).empty());
}

/// Pieces of a parameter start differently, and their gradients are scaled by a norm over all.
TEST(Replicas, ANormOverAllRanksKeepsNothingEqual) {
  Program p = parse(R"(mesh(rank=2)
graph step(%s: state f32[2] "layer.s" parameter, %g: f32[2], %n: f32[]) {
  %h: pending f32[] = all_reduce(%n)
  %norm: f32[] = wait(%h)
  %c: f32[2] = mul(%g, %norm)
  %s1: f32[2] = sub(%s, %c)
  next %s = %s1
})",
                    ops::all());
  Tensor first(Type{DType::f32, false, {2}}), second(Type{DType::f32, false, {2}});
  first.as<float>()[0] = 1;
  Recording recording;
  recording.state = {{first, {}, {}}, {second, {}, {}}};
  EXPECT_TRUE(differing_replicas(p, recording).empty());
}

}  // namespace
}  // namespace hocket::frontend

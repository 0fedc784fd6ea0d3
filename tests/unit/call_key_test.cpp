// Kinds of calls, and what is kept by them.

#include "hocket/ops/call_key.h"

#include <gtest/gtest.h>

#include <set>

#include "hocket/codegen/backend.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/evaluate.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

struct KeyedCall {
  const Graph& g;
  NodeId n;
  std::vector<Type> operands{}, results{};

  KernelSpec spec(int rank) {
    operands.clear();
    results.clear();
    for (Value v : g[n].inputs) operands.push_back(g.type(v));
    for (Value v : g.results(n)) results.push_back(g.type(v));
    return {*g[n].op, g[n].attributes, operands, results, g.world(), rank};
  }
};

CallKey key_of(const Graph& g, std::string_view value, int rank = 0) {
  KeyedCall call{g, g.node(g.find(value))};
  CallKey key{7, 7};  // what was there before does not count
  write_key(key, call.spec(rank));
  return key;
}

Program several() {
  return parse(R"(mesh(dp=2)
graph step(%x: f32[4,4], %y: f32[4,4], %z: f32[2,8], %d: f64[4,4]) {
  %a: f32[4,4] = neg(%x)
  %b: f32[4,4] = neg(%y)
  %c: f32[2,8] = neg(%z)
  %e: f64[4,4] = neg(%d)
  %f: f32[4,4] = abs(%x)
  %g: f32[4] = sum(%x) {dims=[0]}
  %h: f32[4] = sum(%x) {dims=[1]}
  %i: f32[8] = shard(%x) {group="dp"}
  %k: f32[4,4] = softmax(%x) {dim=1}
  return %a, %b, %c, %e, %f, %g, %h, %i, %k
})",
               ops::all());
}

TEST(CallKey, EqualCallsOnly) {
  Program program = several();
  const Graph& g = program.graphs[0];
  EXPECT_EQ(key_of(g, "a"), key_of(g, "b"));
  std::set<CallKey> keys;
  for (const char* value : {"a", "c", "e", "f", "g", "h", "i", "k"}) keys.insert(key_of(g, value));
  EXPECT_EQ(keys.size(), 8u);
}

TEST(CallKey, RankOnlyWhereItMatters) {
  Program program = several();
  const Graph& g = program.graphs[0];
  EXPECT_EQ(key_of(g, "k", 0), key_of(g, "k", 1));
  EXPECT_NE(key_of(g, "i", 0), key_of(g, "i", 1));
}

TEST(CallKey, EqualCallsShareAKernel) {
  Program program = several();
  const Graph& g = program.graphs[0];
  KeyedCall a{g, g.node(g.find("a"))}, b{g, g.node(g.find("b"))}, f{g, g.node(g.find("f"))};
  ReferenceKernels kernels;
  auto first = kernels.prepare(a.spec(0));
  EXPECT_EQ(kernels.prepare(b.spec(1)), first);
  EXPECT_NE(kernels.prepare(f.spec(0)), first);
}

/// A composite twice, on ranks that share the evaluator: the second run has other values and rank.
TEST(CallKey, AnEvaluatorKeepsNoValues) {
  Program program = several();
  const Graph& g = program.graphs[0];
  Evaluator shared;
  for (const char* value : {"k", "i", "g"})
    for (int rank : {0, 1}) {
      Tensor x(Type{DType::f32, false, {4, 4}});
      for (int e = 0; e < 16; ++e) x.as<float>()[e] = static_cast<float>(e * e % (5 + rank));
      NodeId n = g.node(g.find(value));
      EXPECT_TRUE(same_bits(shared.run(g, n, {&x, 1}, rank)[0], evaluate(g, n, {&x, 1}, rank)[0]))
          << value << " on rank " << rank;
    }
}

}  // namespace
}  // namespace hocket

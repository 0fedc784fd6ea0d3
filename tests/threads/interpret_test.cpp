#include "hocket/codegen/reference/interpret.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "hocket/base/error.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"
#include "support/two_graphs.h"

namespace hocket {
namespace {

Tensor floats(std::initializer_list<float> values, Shape shape) {
  Tensor t(Type{DType::f32, false, shape});
  std::ranges::copy(values, t.as<float>());
  return t;
}

std::vector<float> list(const Tensor& t) {
  return {t.as<float>(), t.as<float>() + t.type().elements()};
}

using F = std::vector<float>;

Program read(std::string_view text) { return parse(text, ops::all()); }

template <class Wanted = RunError>
std::string error_of(const Program& p, const std::vector<std::vector<Tensor>>& inputs) {
  try {
    interpret(p, inputs);
  } catch (const Wanted& e) {
    return e.what();
  }
  return "no error";
}

TEST(Interpret, AStepOnTwoRanks) {
  Program p = read(R"(mesh(dp=2)
graph step(%w: state f32[2] "w" parameter, %b: state f32[2] "b" buffer, %g: f32[2]) {
  %h: pending f32[2] = all_reduce(%g) {group="dp", reduce="sum"}
  %twice: f32[2] = add(%w, %w)
  %s: f32[2] = wait(%h)
  %u: f32[2] = sub(%w, %s)
  next %w = %u
  return %twice, %s
})");
  Tensor w = floats({1, 2}, {2}), b = floats({9, 9}, {2});
  auto r = interpret(p, std::vector<std::vector<Tensor>>{{w, b, floats({10, 20}, {2})},
                                                         {w, b, floats({1, 2}, {2})}});
  for (int rank : {0, 1}) {
    EXPECT_EQ(list(r[rank].outputs[0]), (F{2, 4}));
    EXPECT_EQ(list(r[rank].outputs[1]), (F{11, 22}));
    EXPECT_EQ(list(r[rank].state[0]), (F{-10, -20}));
    EXPECT_EQ(list(r[rank].state[1]), (F{9, 9}));
    EXPECT_FALSE(r[rank].state[2]);
  }
}

TEST(Interpret, GroupsOfAMeshAndShards) {
  Program p = read(R"(mesh(dp=2, tp=2)
graph step(%x: f32[3]) {
  %a: pending f32[6] = all_gather(%x) {group="tp"}
  %b: pending f32[3] = all_reduce(%x) {group="dp", reduce="max"}
  %c: pending f32[3] = all_reduce(%x) {group="world", reduce="avg"}
  %p: f32[6] = wait(%a)
  %q: f32[3] = wait(%b)
  %r: f32[3] = wait(%c)
  %s: f32[2] = shard(%x) {group="tp"}
  %d: pending f32[3] = reduce_scatter(%p) {group="tp", reduce="sum"}
  %t: f32[3] = wait(%d)
  return %p, %q, %r, %s, %t
})");
  std::vector<std::vector<Tensor>> inputs;
  for (int r = 0; r < 4; ++r) inputs.push_back({floats({float(r), 10.0f * r, 100.0f * r}, {3})});
  auto r = interpret(p, inputs);
  EXPECT_EQ(list(r[2].outputs[0]), (F{2, 20, 200, 3, 30, 300}));
  EXPECT_EQ(list(r[1].outputs[1]), (F{3, 30, 300}));
  EXPECT_EQ(list(r[3].outputs[2]), (F{1.5, 15, 150}));
  EXPECT_EQ(list(r[2].outputs[3]), (F{2, 20}));
  EXPECT_EQ(list(r[3].outputs[3]), (F{300, 0}));  // padded
  EXPECT_EQ(list(r[3].outputs[4]), (F{6, 60, 600}));
}

TEST(Interpret, FreesAfterTheLastReader) {
  std::string text = "graph step(%x: f32[1000]) {\n  %v0: f32[1000] = relu(%x)\n";
  for (int i = 1; i < 50; ++i)
    text += "  %v" + std::to_string(i) + ": f32[1000] = relu(%v" + std::to_string(i - 1) + ")\n";
  Program p = read(text + "  return %v49\n}\n");
  Tensor x(Type{DType::f32, false, {1000}});
  std::fill_n(x.as<float>(), 1000, 1.0f);
  EXPECT_LE(interpret(p, std::vector<std::vector<Tensor>>{{x}})[0].peak_bytes, 2 * 4000);
  auto kept = interpret(p, std::vector<std::vector<Tensor>>{{x}}, {.keep_values = true})[0];
  EXPECT_EQ(kept.peak_bytes, 51 * 4000);
  EXPECT_EQ(kept.values.size(), 51u);
}

TEST(Interpret, HooksAndKnownValues) {
  Program p = read(
      "graph step(%x: f32[1]) {\n  %a: f32[1] = neg(%x)\n  %b: f32[1] = neg(%a)\n  return %b\n}\n");
  const Graph& g = p.graphs[0];
  std::vector<std::string> seen;
  InterpretOptions options;
  options.hook = [&](int rank, const Graph& graph, NodeId n, std::span<const Tensor> results) {
    seen.push_back(std::to_string(rank) + graph.describe(n));
    EXPECT_EQ(results.size(), 1u);
  };
  options.preset = {{{g.find("a"), floats({5}, {1})}}};
  auto r = interpret(p, std::vector<std::vector<Tensor>>{{floats({1}, {1})}}, options);
  EXPECT_EQ(list(r[0].outputs[0]), F{-5});
  EXPECT_EQ(seen, (std::vector<std::string>{"0%a = neg", "0%b = neg"}));
}

TEST(Interpret, ConstantsByName) {
  Program p = read("graph step() {\n  %c: f32[2] = constant {ref=\"table\"}\n  return %c\n}\n");
  EXPECT_EQ(error_of(p, {{}}), "rank 0: %c = constant: the program has no value for \"table\"");
  p.constants["table"] = floats({3, 4}, {2});
  EXPECT_EQ(list(interpret(p, std::vector<std::vector<Tensor>>{{}})[0].outputs[0]), (F{3, 4}));
}

TEST(Interpret, ConstantsByNameInRegionsAndKnownTransfers) {
  Program p = read(R"(mesh(dp=2)
graph step(%x: f32[2]) {
  %c: f32[2] = call region() {
    %t: f32[2] = constant {ref="table"}
    return %t
  }
  %h: pending f32[2] = all_reduce(%x)
  %y: f32[2] = wait(%h)
  return %c, %y
})");
  p.constants["table"] = floats({3, 4}, {2});
  Value h = p.graphs[0].find("h");
  InterpretOptions options;
  options.preset = {{{h, floats({7, 7}, {2})}}, {{h, floats({8, 8}, {2})}}};
  Tensor x = floats({1, 1}, {2});
  auto r = interpret(p, std::vector<std::vector<Tensor>>{{x}, {x}}, options);
  EXPECT_EQ(list(r[0].outputs[0]), (F{3, 4}));
  EXPECT_EQ(list(r[1].outputs[1]), (F{8, 8}));
}

TEST(Interpret, InputsAreChecked) {
  Program p = read("graph step(%x: f32[2]) {\n  return %x\n}\n");
  EXPECT_EQ(error_of<Error>(p, {{}}), "rank 0: 0 inputs given, graph step wants 1");
  EXPECT_EQ(error_of<Error>(p, {{floats({1}, {1})}}), "rank 0: input %x is f32[1], wanted f32[2]");
  EXPECT_EQ(error_of<Error>(p, {{Tensor{}}}), "rank 0: input %x is missing, wanted f32[2]");
  EXPECT_EQ(error_of<Error>(p, {}), "inputs for 0 ranks, wanted 1");
}

/// Rank 0 reduces; `lines` are what rank 1 does.
Program against(std::string_view lines) {
  return testing::two_graphs(
      "(%x: f32[2]) {\n  %h: pending f32[2] = all_reduce(%x) {channel=0}\n"
      "  %y: f32[2] = wait(%h)\n  return %x\n}",
      fmt::format("(%x: f32[2]) {{\n  {}\n  return %x\n}}", lines));
}

TEST(Interpret, MismatchesAreExplained) {
  std::vector<std::vector<Tensor>> inputs{{floats({1, 2}, {2})}, {floats({1, 2}, {2})}};
  EXPECT_EQ(error_of(against(""), inputs),
            "rank 0 waits in %y = wait for %h = all_reduce on channel 0 of group \"world\", which "
            "rank 1 did not join");
  EXPECT_EQ(
      error_of(against("%h: pending f32[4] = all_gather(%x) {channel=0}\n  %y: f32[4] = wait(%h)"),
               inputs),
      "channel 0: rank 0 calls all_reduce, rank 1 calls all_gather");
  EXPECT_EQ(error_of(against("%h: pending f32[2] = all_reduce(%x) {reduce=\"max\", channel=0}\n  "
                             "%y: f32[2] = wait(%h)"),
                     inputs),
            "channel 0: rank 0 calls all_reduce with reduce=\"sum\", rank 1 calls all_reduce with "
            "reduce=\"max\"");
  EXPECT_EQ(error_of(against("%r: f32[1,2] = reshape(%x) {shape=[1,2]}\n  %h: pending f32[1,2] = "
                             "all_reduce(%r) {channel=0}\n"
                             "  %y: f32[1,2] = wait(%h)"),
                     inputs),
            "channel 0: rank 0 calls all_reduce of f32[2], rank 1 calls all_reduce of f32[1,2]");
}

TEST(Interpret, RowsOfAnAllToAllMustHaveOneShape) {
  auto graph = [](int columns) {
    return fmt::format(
        "(%x: f32[2,{0}]) {{\n  %h: pending f32[2,{0}] = all_to_all(%x) {{channel=0}}\n"
        "  %y: f32[2,{0}] = wait(%h)\n  return %y\n}}",
        columns);
  };
  Program p = testing::two_graphs(graph(8), graph(1));
  std::vector<std::vector<Tensor>> inputs{{Tensor(Type{DType::f32, false, {2, 8}})},
                                          {Tensor(Type{DType::f32, false, {2, 1}})}};
  EXPECT_EQ(error_of(p, inputs),
            "channel 0: rank 0 calls all_to_all of f32[2,8], rank 1 calls all_to_all of f32[2,1]");
}

TEST(Interpret, BarriersAndEarlyStarts) {
  // Rank 1 starts in another order than it waits; nothing blocks, because starts never do.
  Program p = read(R"(mesh(rank=2)
graph first on [0] (%x: f32[1]) {
  %h: pending f32[1] = all_reduce(%x) {channel=0}
  %k: pending f32[1] = all_reduce(%x) {reduce="max", channel=1}
  barrier {channel=2}
  %a: f32[1] = wait(%h)
  %b: f32[1] = wait(%k)
  return %a, %b
}
graph second on [1] (%x: f32[1]) {
  %k: pending f32[1] = all_reduce(%x) {reduce="max", channel=1}
  %h: pending f32[1] = all_reduce(%x) {channel=0}
  %b: f32[1] = wait(%k)
  barrier {channel=2}
  %a: f32[1] = wait(%h)
  return %a, %b
})");
  auto r = interpret(p, std::vector<std::vector<Tensor>>{{floats({1}, {1})}, {floats({2}, {1})}});
  EXPECT_EQ(list(r[0].outputs[0]), F{3});
  EXPECT_EQ(list(r[1].outputs[1]), F{2});
}

TEST(Interpret, RefusesWhatOnlyPhasesCanRun) {
  Program p = read("graph step(%x: f32[1]) {\n  %a: f32[1] = neg(%x) delay=1\n  return %a\n}\n");
  EXPECT_EQ(error_of(p, {{floats({1}, {1})}}), "%a = neg: has a delay; run the phases instead");
}

}  // namespace
}  // namespace hocket

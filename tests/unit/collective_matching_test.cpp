#include "hocket/ir/collective_matching.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// Four ranks with a graph each; `calls` are the channels that each starts in turn. Channel c is of
/// the group `g<c>`, which holds those ranks that name it.
Program program_of(const std::vector<std::vector<int>>& calls) {
  std::string text = "mesh(r=4)\n";
  for (int c = 0; c < 4; ++c) {
    std::string in;
    for (std::size_t r = 0; r < calls.size(); ++r)
      if (std::ranges::find(calls[r], c) != calls[r].end())
        in += fmt::format("{}{}", in.empty() ? "" : ",", r);
    if (in.empty()) continue;
    text += fmt::format("group \"g{}\" = [[{}]]\n", c, in);
  }
  for (std::size_t r = 0; r < calls.size(); ++r) {
    text += fmt::format("graph rank{} on [{}] (%x: f32[2]) {{\n", r, r);
    for (int c : calls[r])
      text += fmt::format("  %h{}: pending f32[2] = all_reduce(%x) {{group=\"g{}\", channel={}}}\n",
                          c, c, c);
    for (int c : calls[r]) text += fmt::format("  %w{}: f32[2] = wait(%h{})\n", c, c);
    text += "}\n";
  }
  return parse(text, ops::all());
}

/// `graph: first, second (graphs)` of an order conflict, by channels.
std::string conflict(const std::vector<std::vector<int>>& calls) {
  Program program = program_of(calls);
  auto found = find_order_conflict(CollectiveMatching(program));
  if (!found) return "";
  const Graph& g = program.graphs[found->first.graph];
  EXPECT_TRUE(g.before(found->first.node, found->second.node));
  return fmt::format("{}: {}, {} ({})", g.name(),
                     g[found->first.node].attr<std::int64_t>("channel"),
                     g[found->second.node].attr<std::int64_t>("channel"), found->graphs);
}

TEST(CollectiveMatching, OneOrderForAll) {
  EXPECT_EQ(conflict({{0, 1, 2}, {0, 2}, {1, 2}, {0, 1}}), "");
  EXPECT_EQ(conflict({{}, {}, {}, {}}), "");
}

TEST(CollectiveMatching, TwoGraphsWithOppositeOrders) {
  std::string found = conflict({{0, 1}, {1, 0}, {}, {}});
  EXPECT_TRUE(found == "rank0: 0, 1 (2)" || found == "rank1: 1, 0 (2)") << found;
  // Of a longer circle those two calls are told that the other graph has reversed.
  found = conflict({{0, 2, 3, 1}, {0, 1, 2, 3}, {}, {}});
  EXPECT_TRUE(found == "rank0: 2, 1 (2)" || found == "rank1: 1, 2 (2)") << found;
}

TEST(CollectiveMatching, ACycleOverThreeGraphs) {
  std::string found = conflict({{0, 1}, {1, 2}, {2, 0}, {0}});
  EXPECT_TRUE(found == "rank0: 0, 1 (3)" || found == "rank1: 1, 2 (3)" ||
              found == "rank2: 2, 0 (3)")
      << found;
}

TEST(CollectiveMatching, WhatOnlyFollowsACycleIsNotReported) {
  // 3 stands behind 1 and 2, about which two graphs differ.
  std::string found = conflict({{3}, {1, 2, 3}, {2, 1}, {}});
  EXPECT_TRUE(found == "rank1: 1, 2 (2)" || found == "rank2: 2, 1 (2)") << found;
}

}  // namespace
}  // namespace hocket

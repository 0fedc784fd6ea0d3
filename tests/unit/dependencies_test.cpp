#include "hocket/passes/analysis/dependencies.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hocket/base/disjoint_sets.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// The first result, or the op where there is none.
std::string short_name(const Graph& g, NodeId n) {
  return g[n].result_count > 0 ? g.name(g.result(n)) : std::string(g[n].op->name);
}

/// `from>to` of all edges but operands, sorted; soft ones with `~`.
std::string more_edges(const Graph& g, Holds holds) {
  const Dependencies edges(g, holds);
  std::vector<std::string> list;
  for (NodeId n : g.nodes()) {
    for (NodeId to : edges.more_behind(n))
      list.push_back(fmt::format("{}>{}", short_name(g, n), short_name(g, to)));
    for (NodeId to : edges.soft_behind(n))
      list.push_back(fmt::format("{}~{}", short_name(g, n), short_name(g, to)));
  }
  // Both directions hold the same edges, and the visitors visit each of them once.
  std::vector<std::string> back, visited, visited_back;
  for (NodeId n : g.nodes()) {
    for (NodeId from : edges.more_before(n))
      back.push_back(fmt::format("{}>{}", short_name(g, from), short_name(g, n)));
    for (NodeId from : edges.soft_before(n))
      back.push_back(fmt::format("{}~{}", short_name(g, from), short_name(g, n)));
    edges.for_each_behind(n, [&](NodeId to) {
      visited.push_back(fmt::format("{}>{}", short_name(g, n), short_name(g, to)));
    });
    edges.for_each_before(n, [&](NodeId from) {
      visited_back.push_back(fmt::format("{}>{}", short_name(g, from), short_name(g, n)));
    });
  }
  for (auto* sorted : {&list, &back, &visited, &visited_back}) std::ranges::sort(*sorted);
  EXPECT_EQ(list, back);
  EXPECT_EQ(visited, visited_back);
  std::string text;
  for (const std::string& edge : list) text += (text.empty() ? "" : " ") + edge;
  return text;
}

TEST(Dependencies, HoldEdgesLeadFromReadersOfAStateToTheMakerOfItsNextValue) {
  Program p = parse(
      "graph step(%s: state f32[4], %t: state f32[4], %k: state f32[4]) {\n"
      "  %a: f32[4] = neg(%s)\n"
      "  %b: f32[4] = add(%s, %k)\n"
      "  %u: f32[4] = mul(%a, %s)\n"
      "  %c: f32[4] = neg(%t)\n"
      "  %v: f32[4] = add(%b, %c)\n"
      "  %late: f32[4] = neg(%t)\n"
      "  next %s = %u\n"
      "  next %t = %v\n"
      "  return %late\n"
      "}\n",
      ops::all());
  const Graph& g = p.graphs[0];
  EXPECT_EQ(more_edges(g, Holds::none), "");
  EXPECT_EQ(more_edges(g, Holds::in_flight), "");  // nothing is on its way
  EXPECT_EQ(more_edges(g, Holds::strict), "a>u b>u c>v");
  EXPECT_EQ(more_edges(g, Holds::soft), "a~u b~u");  // %late needs the old %t in any case
}

TEST(Dependencies, ATransferThatTakesTheBufferOfAnotherStaysBehindItsWait) {
  Program p = parse(
      "mesh(dp=2)\n"
      "graph step(%x: f32[4], %w: state f32[4], %h: state pending f32[4] forwarded) {\n"
      "  %d: f32[4] = wait(%h)\n"
      "  %u: f32[4] = add(%w, %d)\n"
      "  %r: pending f32[4] = all_reduce(%x) {group=\"dp\"}\n"
      "  next %w = %u\n"
      "  next %h = %r\n"
      "  return %d\n"
      "}\n",
      ops::all());
  EXPECT_EQ(more_edges(p.graphs[0], Holds::in_flight), "d>r");
}

TEST(Dependencies, BarriersAndCallsThatOtherGraphsSeeKeepTheirOrder) {
  Program p = parse(
      "mesh(r=2)\n"
      "group \"own\" = [[0], [1]]\n"
      "graph a on [0] (%x: f32[4]) {\n"
      "  %a: pending f32[4] = all_reduce(%x) {group=\"r\", channel=0}\n"
      "  %b: pending f32[4] = all_reduce(%x) {group=\"r\", channel=1}\n"
      "  %own: pending f32[4] = all_reduce(%x) {group=\"own\", channel=5}\n"
      "  %wa: f32[4] = wait(%a)\n"
      "  %wb: f32[4] = wait(%b)\n"
      "  %wo: f32[4] = wait(%own)\n"
      "  return %wa, %wb, %wo\n"
      "}\n"
      "graph b on [1] (%x: f32[4]) {\n"
      "  %a: pending f32[4] = all_reduce(%x) {group=\"r\", channel=0}\n"
      "  %b: pending f32[4] = all_reduce(%x) {group=\"r\", channel=1}\n"
      "  %wa: f32[4] = wait(%a)\n"
      "  %wb: f32[4] = wait(%b)\n"
      "  return %wa, %wb\n"
      "}\n",
      ops::all());
  EXPECT_EQ(more_edges(p.graphs[0], Holds::none), "a>b b>wa b>wb");
  Program q = parse(
      "mesh(r=2)\n"
      "graph step(%x: f32[4]) {\n"
      "  %a: pending f32[4] = all_reduce(%x) {group=\"r\", channel=0}\n"
      "  barrier() {group=\"r\", channel=1}\n"
      "  %b: pending f32[4] = all_reduce(%x) {group=\"r\", channel=2}\n"
      "  %wa: f32[4] = wait(%a)\n"
      "  %wb: f32[4] = wait(%b)\n"
      "  return %wa, %wb\n"
      "}\n",
      ops::all());
  EXPECT_EQ(more_edges(q.graphs[0], Holds::none), "a>barrier barrier>b");
}

TEST(Dependencies, OperandsAreReadFromTheGraphAsItIsNow) {
  Program p = parse(
      "graph step(%x: f32[4]) {\n"
      "  %a: f32[4] = neg(%x)\n"
      "  %b: f32[4] = exp(%x)\n"
      "  %c: f32[4] = relu(%a)\n"
      "  return %c, %b\n"
      "}\n",
      ops::all());
  Graph& g = p.graphs[0];
  const Dependencies edges(g, Holds::strict);
  NodeId c = g.node(g.find("c"));
  EXPECT_EQ(edges.before(c, 0), g.node(g.find("a")));
  g.set_operand(c, 0, g.find("b"));
  EXPECT_EQ(edges.before(c, 0), g.node(g.find("b")));
  EXPECT_EQ(edges.position(c), 3U);
  EXPECT_FALSE(edges.before(g.node(g.find("a")), 0));  // an input
}

TEST(DisjointSets, TheFirstNamedStandsForBoth) {
  DisjointSets sets(6);
  sets.join(3, 1);
  sets.join(4, 5);
  EXPECT_EQ(sets.find(1), 3U);
  sets.join(1, 5);  // 3 stands for the first set
  for (std::uint32_t i : {1U, 3U, 4U, 5U}) EXPECT_EQ(sets.find(i), 3U);
  EXPECT_EQ(sets.find(0), 0U);
  EXPECT_EQ(sets.find(2), 2U);
}

}  // namespace
}  // namespace hocket

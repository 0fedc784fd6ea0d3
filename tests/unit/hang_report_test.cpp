// The report of a failed run as JSON and as lines.

#include "hocket/report/hang_report.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "hocket/base/json_writer.h"
#include "hocket/frontend/formats/json.h"
#include "hocket/frontend/formats/json_values.h"

namespace hocket {
namespace {

IssuedCalls issued(std::int64_t first, std::vector<std::uint64_t> orders) {
  IssuedCalls calls{.group = "dp", .ranks = {0, 1}, .count = first + std::ssize(orders)};
  for (std::uint64_t order : orders) {
    calls.calls.push_back({first, order, fmt::format("call {}", first)});
    ++first;
  }
  return calls;
}

HangReport some_report() {
  OpenTransfer open{"%h", "all_reduce", "dp", 3, 1.5, {1}};
  StoppedRank waits{.rank = 0, .state = Standing::waits, .seconds = 1.25, .iteration = 7};
  waits.phase = "steady";
  waits.instruction = 4;
  waits.instructions = 9;
  waits.text = "wait 0 as %s";
  waits.label = {"%s", "wait", "net \"a\""};
  waits.waits_for = open;
  waits.in_flight = {open, open};
  waits.issued = {issued(2, {20, 21, 22})};
  StoppedRank ended{.rank = 1, .state = Standing::done, .iteration = 7, .drain = 1};
  ended.instruction = ended.instructions = 2;
  ended.issued = {issued(1, {19, 20, 99, 98})};
  HangReport report{.error = "rank 0: late", .ranks = {waits, ended}};
  report.differences = find_differences(report.ranks);
  return report;
}

TEST(HangReport, FirstDifference) {
  auto difference = [](IssuedCalls a, IssuedCalls b) -> std::int64_t {
    StoppedRank first{.rank = 0}, second{.rank = 1};
    first.issued = {std::move(a)};
    second.issued = {std::move(b)};
    auto found = find_differences({first, second});
    return found.empty() ? -1 : found[0].number;
  };
  EXPECT_EQ(difference(issued(0, {5, 6, 7}), issued(0, {5, 6, 7})), -1);
  EXPECT_EQ(difference(issued(0, {5, 6, 7}), issued(0, {5})), -1);  // late, not different
  EXPECT_EQ(difference(issued(0, {5, 6, 7}), issued(0, {5, 8, 9})), 1);
  EXPECT_EQ(difference(issued(0, {5, 6, 7, 8}), issued(2, {7, 9})), 3);
  EXPECT_EQ(difference(issued(0, {5, 6}), issued(4, {7, 9})), -1);  // nothing to compare
  IssuedCalls pair = issued(0, {9});
  pair.pair = true;
  EXPECT_EQ(difference(issued(0, {5}), pair), -1);
}

TEST(HangReport, AsJson) {
  std::string text = to_json(some_report());
  auto doc = frontend::JsonDocument::parse(text, "report");
  frontend::Json root = doc.root();
  EXPECT_EQ(root.at("error").string(), "rank 0: late");
  std::vector<frontend::Json> ranks;
  for (frontend::Json r : root.at("ranks").array()) ranks.push_back(r);
  ASSERT_EQ(ranks.size(), 2);
  EXPECT_EQ(ranks[0].at("state").string(), "waits");
  EXPECT_EQ(ranks[0].at("seconds").number(), 1.25);
  EXPECT_EQ(ranks[0].at("instruction").integer(), 4);
  EXPECT_EQ(ranks[0].at("module").string(), "net \"a\"");
  EXPECT_EQ(ranks[0].at("waits_for").at("node").string(), "%h");
  for (frontend::Json rank : ranks[0].at("waits_for").at("missing").array())
    EXPECT_EQ(rank.integer(), 1);
  EXPECT_EQ(ranks[1].at("state").string(), "done");
  EXPECT_EQ(ranks[1].at("drain").integer(), 1);
  EXPECT_FALSE(ranks[1].find("waits_for"));
  EXPECT_FALSE(ranks[1].find("text"));
  int differences = 0;
  for (frontend::Json d : root.at("differences").array()) {
    ++differences;
    EXPECT_EQ(d.at("number").integer(), 3);
    std::string numbers;
    for (frontend::Json r : d.at("ranks").array())
      for (frontend::Json c : r.at("calls").array())
        numbers += fmt::format(" {}", c.at("number").integer());
    EXPECT_EQ(numbers, " 2 3 4 1 2 3 4");
  }
  EXPECT_EQ(differences, 1);
}

TEST(HangReport, AsLines) {
  EXPECT_EQ(
      to_lines(some_report()),
      "  rank 0: waits for rank 1 in %h = all_reduce on channel 3 of group \"dp\", for 1.25 s, "
      "at instruction 4 of 9 (%s = wait in net \"a\") of iteration 7\n"
      "  rank 1: has done all 2 instructions of drain 1 after iteration 7, at most 0 s ago\n"
      "  order of calls in group \"dp\": rank 0 called call 2, call 3, call 4; rank 1 called "
      "call 2, call 3, call 4\n");
  HangReport many;
  for (int r = 0; r < 20; ++r) many.ranks.push_back({.rank = r, .state = Standing::done});
  std::string text = to_lines(many);
  EXPECT_EQ(std::ranges::count(text, '\n'), 17);
  EXPECT_TRUE(text.ends_with("  and 4 more ranks\n")) << text;
  many.ranks[18].state = Standing::failed;
  EXPECT_EQ(to_lines(many), "");
}

TEST(HangReport, IndentedJson) {
  JsonWriter json;
  json.begin_object().field("a", "x\\\"]{,:").key("b").begin_array().value(1).value(2.5);
  json.end_array().key("c").begin_array().begin_array().end_array().value("s").end_array();
  json.key("d").begin_object().end_object().end_object();
  EXPECT_EQ(
      indented(json.take()),
      "{\n  \"a\": \"x\\\\\\\"]{,:\",\n  \"b\": [1, 2.5],\n  \"c\": [\n    [],\n    \"s\"\n  ],\n"
      "  \"d\": {}\n}");
}

}  // namespace
}  // namespace hocket

// The hash of what a rank has issued: equal for ranks that agree, and for no others.

#include "hocket/comm/issued_order.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>

#include "hocket/comm/round_sequence.h"

namespace hocket::comm {
namespace {

std::uint64_t order_of(std::initializer_list<CollectiveCall> calls) {
  IssuedOrder order;
  for (const CollectiveCall& call : calls) order.issue(call);
  return order.order();
}

TEST(IssuedOrder, EverythingThatMustAgreeCounts) {
  Member small{.count = 4}, large{.count = 5};
  Member two[] = {small, large}, swapped[] = {large, small}, joined[] = {{.count = 9}};
  CollectiveCall call{.channel = 3, .members = {&small, 1}};
  auto with = [&](auto change) {
    CollectiveCall other = call;
    change(other);
    return other;
  };
  const CollectiveCall all[] = {
      call,
      with([](auto& c) { c.kind = Kind::all_gather; }),
      with([](auto& c) { c.kind = Kind::broadcast; }),
      with([](auto& c) { c.kind = Kind::broadcast, c.peer = 1; }),
      with([](auto& c) { c.reduce = Reduce::max; }),
      with([](auto& c) { c.dtype = DType::i32; }),
      with([](auto& c) { c.channel = 4; }),
      with([&](auto& c) {
        c.members = {&large, 1};
      }),
      with([&](auto& c) { c.members = two; }),
      with([&](auto& c) { c.members = swapped; }),
      with([&](auto& c) { c.members = joined; }),
      with([](auto& c) { c.members = {}; }),
  };
  std::set<std::uint64_t> seen;
  for (const CollectiveCall& c : all) seen.insert(order_of({c}));
  for (const CollectiveCall& c : all) seen.insert(order_of({call, c}));
  EXPECT_EQ(seen.size(), 2 * std::size(all));
  EXPECT_NE(order_of({all[0], all[1]}), order_of({all[1], all[0]}));
}

TEST(IssuedOrder, WhatMayDifferDoesNotCount) {
  Member m{.count = 4, .row = 2}, more{.count = 6, .row = 2}, wider{.count = 4, .row = 4};
  CollectiveCall send{.kind = Kind::send, .peer = 1, .members = {&m, 1}}, receive = send;
  receive.kind = Kind::recv;
  receive.peer = 0;
  EXPECT_EQ(order_of({send}), order_of({receive}));
  CollectiveCall gather{.kind = Kind::all_gather, .members = {&m, 1}, .name = "%a"}, same = gather;
  same.reduce = Reduce::max;
  same.peer = 2;
  same.name = "%b";
  EXPECT_EQ(order_of({gather}), order_of({same}));
  CollectiveCall rows{.kind = Kind::all_to_all, .members = {&m, 1}}, other = rows, wide = rows;
  other.members = {&more, 1};
  wide.members = {&wider, 1};
  EXPECT_EQ(order_of({rows}), order_of({other}));
  EXPECT_NE(order_of({rows}), order_of({wide}));
}

TEST(IssuedOrder, KeepsTheLastCalls) {
  Member m{.count = 4};
  IssuedOrder order;
  EXPECT_EQ(order.first_kept(), 0);
  for (std::int64_t i = 0; i < 100; ++i) order.issue({.channel = i, .members = {&m, 1}});
  EXPECT_EQ(order.count(), 100);
  EXPECT_EQ(order.first_kept(), 100 - IssuedOrder::kept);
  EXPECT_EQ(order.at(99).order, order.order());
  EXPECT_EQ(order.at(order.first_kept()).text(), "all_reduce of 4 f32 on channel 68");
  EXPECT_NE(order.at(98).order, order.at(99).order);
}

TEST(IssuedOrder, CallsAsText) {
  Member two[] = {{.count = 4}, {.count = 5}};
  IssuedOrder order;
  order.issue({.kind = Kind::reduce_scatter,
               .reduce = Reduce::max,
               .dtype = DType::f64,
               .channel = 2,
               .members = two});
  order.issue({.kind = Kind::barrier, .channel = 7});
  EXPECT_EQ(order.at(0).text(), "reduce_scatter max of 9 f64 in 2 members on channel 2");
  EXPECT_EQ(order.at(1).text(), "barrier on channel 7");
}

/// Calls that agree are refused when those before them did not.
TEST(IssuedOrder, ADifferenceIsNotForgotten) {
  RoundSequence sequence("dp", {4, 7}, {0, 1});
  Member m{.count = 4};
  CollectiveCall call{.channel = 3, .members = {&m, 1}, .name = "%h"};
  auto post = [&](int participant) -> PostedCall& {
    PostedCall& p = sequence.next(participant);
    CallHead head = p.fill(call, 2);
    head.order = sequence.issued(participant).issue(call);
    p.epoch = 1;
    p.publish(head);
    sequence.advance(participant);
    return p;
  };
  PostedCall &first = post(0), &second = post(1);
  EXPECT_EQ(disagreement(first, 1), "");
  EXPECT_EQ(disagreement(second, 0), "");
  sequence.issued(1).issue(call);  // that rank 0 never makes
  PostedCall& third = post(0);
  post(1);
  EXPECT_EQ(disagreement(third, 1),
            "%h = all_reduce on channel 3 of group \"dp\": rank 4 and rank 7 agree on this call, "
            "but not on those before it");
}

}  // namespace
}  // namespace hocket::comm

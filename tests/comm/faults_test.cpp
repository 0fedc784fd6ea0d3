// What ranks are told when one of them fails, leaves or calls something else, over every transport.

#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "hocket/base/error.h"
#include "tests/comm/ranks.h"

namespace hocket::comm {
namespace {

class Faults : public testing::TestWithParam<TransportKind> {
 protected:
  static TestWorld open(int ranks) { return GetParam().open(ranks); }
  /// Of two ranks that wait for each other with a deadline of a minute.
  static Messages deadlock(const std::function<void(const TestWorld&, int)>& body) {
    TestWorld world = open(2);
    return run_ranks(world, [&](int rank) { body(world, rank); });
  }
};
INSTANTIATE_TEST_SUITE_P(Over, Faults, testing::ValuesIn(transport_kinds()), name_of_kind);

TEST_P(Faults, calls_that_do_not_match) {
  TestWorld world = open(2);
  std::vector<float> x(256), y(256);
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    Member m{rank == 0 ? x.data() : y.data(), rank == 0 ? x.data() : y.data(), 64};
    CollectiveCall call{.channel = 3, .members = {&m, 1}, .name = "%h"};
    if (rank == 1) call.kind = Kind::all_gather;
    group->start(call).wait();
  });
  for (const auto& [rank, m] : messages)
    EXPECT_EQ(m,
              "%h = all_reduce on channel 3 of group \"world\": rank 0 calls all_reduce of 64 f32, "
              "rank 1 calls all_gather of 64 f32");
}

TEST_P(Faults, everything_that_must_agree) {
  float data[2][8] = {};
  auto message = [&](auto edit) {
    TestWorld world = open(2);
    return run_ranks(world,
                     [&](int rank) {
                       auto group = world.all(rank);
                       std::vector<Member> members{{data[rank], data[rank], 4},
                                                   {data[rank] + 4, data[rank] + 4, 2}};
                       CollectiveCall call{.channel = 3, .members = members, .name = "%h"};
                       call.kind = Kind::reduce;
                       if (rank == 1) edit(call, members);
                       call.members = members;
                       group->start(call).wait();
                     })
        .begin()
        ->second;
  };
  std::string_view head =
      "%h = reduce on channel 3 of group \"world\": rank 0 calls reduce to 0 of 4 + 2 f32, rank 1 "
      "calls ";
  auto tail = [&](std::string text) { return std::string(head) + text; };
  EXPECT_EQ(message([](CollectiveCall& c, auto&) { c.channel = 4; }),
            tail("reduce to 0 of 4 + 2 f32 on channel 4"));
  EXPECT_EQ(message([](CollectiveCall& c, auto&) { c.peer = 1; }),
            tail("reduce to 1 of 4 + 2 f32"));
  EXPECT_EQ(message([](CollectiveCall& c, auto&) { c.reduce = Reduce::max; }),
            tail("reduce max to 0 of 4 + 2 f32"));
  EXPECT_EQ(message([](CollectiveCall& c, auto&) { c.dtype = DType::i32; }),
            tail("reduce to 0 of 4 + 2 i32"));
  EXPECT_EQ(message([](CollectiveCall&, auto& m) { m.pop_back(); }), tail("reduce to 0 of 4 f32"));
  EXPECT_EQ(message([](CollectiveCall&, auto& m) { m[1].count = 1; }),
            tail("reduce to 0 of 4 + 1 f32"));
}

TEST_P(Faults, groups_waited_for_in_opposite_order) {
  auto messages = deadlock([](const TestWorld& world, int rank) {
    std::vector<int> both{0, 1};
    auto a = world.group(rank, "a", both), b = world.group(rank, "b", both);
    (rank == 0 ? a : b)->start({.kind = Kind::barrier, .channel = 1, .name = "%x"}).wait();
  });
  for (const auto& [rank, m] : messages) {
    EXPECT_NE(m.find("ranks wait for each other for ever: "), std::string::npos) << m;
    EXPECT_NE(m.find("rank 0 for rank 1 in %x = barrier on channel 1 of group \"a\""),
              std::string::npos)
        << m;
    EXPECT_NE(m.find("rank 1 for rank 0 in %x = barrier on channel 1 of group \"b\""),
              std::string::npos)
        << m;
  }
}

TEST_P(Faults, a_send_that_meets_a_collective) {
  auto messages = deadlock([](const TestWorld& world, int rank) {
    auto group = world.all(rank);
    float x = 1;
    Member m{&x, &x, 1};
    CollectiveCall call{.channel = 4, .members = {&m, 1}, .name = "%r"};
    if (rank == 0)
      call = {.kind = Kind::send, .peer = 1, .channel = 2, .members = {&m, 1}, .name = "%s"};
    group->start(call).wait();
  });
  for (const auto& [rank, m] : messages) {
    EXPECT_NE(m.find("rank 0 for rank 1 in %s = send on channel 2"), std::string::npos) << m;
    EXPECT_NE(m.find("rank 1 for rank 0 in %r = all_reduce on channel 4"), std::string::npos) << m;
  }
}

TEST_P(Faults, ten_thousand_in_flight_waited_for_from_the_end) {
  TestWorld world = open(2);
  auto messages = run_ranks(world, [&](int rank) {
    constexpr std::size_t calls = 10'000;
    std::vector<std::int64_t> x(calls, rank + 1);
    auto group = world.all(rank);
    std::deque<Work> works;
    for (std::size_t i = 0; i < calls; ++i) {
      Member m{&x[i], &x[i], 1};
      works.push_back(group->start(
          {.dtype = DType::i64, .channel = static_cast<std::int64_t>(i), .members = {&m, 1}}));
    }
    while (!works.empty()) {
      works.back().wait();
      works.pop_back();
    }
    for (std::int64_t sum : x) ASSERT_EQ(sum, 3);
  });
  expect_no_errors(messages);
}

TEST_P(Faults, sixty_four_ranks_and_nothing_to_move) {
  TestWorld world = open(64);
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    float x = 1;
    Member empty{&x, &x, 0}, one{&x, &x, 1};
    for (int i = 0; i < 50; ++i) {
      group->start({.channel = 3 * i}).wait();  // a bucket without members
      group->start({.channel = 3 * i + 1, .members = {&empty, 1}}).wait();
      group->start({.kind = Kind::barrier, .channel = 3 * i + 2}).wait();
    }
    group->start({.channel = 1000, .members = {&one, 1}}).wait();
    EXPECT_EQ(x, 64);
  });
  expect_no_errors(messages);
}

TEST_P(Faults, a_rank_that_throws_fails_all_groups) {
  TestWorld world = open(4);
  auto messages = run_ranks(world, [&](int rank) {
    std::vector<int> low{0, 1}, high{2, 3};
    auto group = world.group(rank, "pair", rank < 2 ? low : high);
    if (rank == 1) world.fail(1, std::make_exception_ptr(std::runtime_error("boom")));
    while (true) group->start({.kind = Kind::barrier, .channel = 5, .name = "%b"}).wait();
  });
  for (int rank : {0, 2, 3})
    expect_told(messages, rank, "%b = barrier on channel 5 of group \"pair\": rank 1 failed: boom");
}

TEST_P(Faults, a_rank_that_leaves) {
  TestWorld world = open(2);
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    int calls = rank == 0 ? 3 : 2;
    for (int i = 0; i < calls; ++i)
      group->start({.kind = Kind::barrier, .channel = i, .name = "%b"}).wait();
  });
  expect_told(messages, 0, "%b = barrier on channel 2 of group \"world\": rank 1 left");
  expect_told(messages, 1, "");
}

TEST_P(Faults, a_rank_that_leaves_with_a_call_in_flight) {
  TestWorld world = open(3);
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    if (rank == 2) {  // does not wait, or it and rank 0 would wait for each other
      Work send = group->start({.kind = Kind::send, .peer = 0, .channel = 1});
      while (!send.test()) std::this_thread::yield();
    }
    Work work = group->start({.kind = Kind::barrier, .channel = 2, .name = "%b"});
    if (rank == 0) work.wait();
  });
  expect_told(
      messages, 0,
      "%b = barrier on channel 2 of group \"world\": rank 1 failed: %b = barrier on channel 2 "
      "of group \"world\": left before it was done");
}

TEST_P(Faults, arguments) {
  TestWorld world = open(2);
  int rank = world.hosts[0]->hosted()[0];
  auto group = world.all(rank);
  Member m{nullptr, nullptr, 3};
  EXPECT_THROW(group->start({.kind = Kind::reduce_scatter, .members = {&m, 1}}), Error);
  EXPECT_THROW(group->start({.kind = Kind::all_to_all, .members = {&m, 1}}), Error);
  m.row = 0;
  EXPECT_THROW(group->start({.kind = Kind::all_to_all, .members = {&m, 1}}), Error);
  EXPECT_THROW(group->start({.kind = Kind::broadcast, .peer = 2}), Error);
  EXPECT_THROW(group->start({.kind = Kind::send, .peer = rank}), Error);
  std::vector<int> twice{rank, rank}, far{rank, 2};
  EXPECT_THROW(world.group(rank, "x", twice), Error);
  EXPECT_THROW(world.group(rank, "x", far), Error);
}

}  // namespace
}  // namespace hocket::comm

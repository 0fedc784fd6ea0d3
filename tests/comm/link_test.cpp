// The emulated link: what its text means, and that transfers take their time and no more.

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>

#include "hocket/base/error.h"
#include "hocket/comm/in_process.h"
#include "hocket/comm/wakeup.h"
#include "tests/comm/ranks.h"

namespace hocket::comm {
namespace {

TEST(Link, text) {
  Link link = parse_link("10Gbps,20us");
  EXPECT_DOUBLE_EQ(link.bandwidth, 1.25e9);
  EXPECT_DOUBLE_EQ(link.latency, 20e-6);
  EXPECT_DOUBLE_EQ(parse_link("0.5 Mbps, 3ms").bandwidth, 62500);
  EXPECT_DOUBLE_EQ(parse_link("8bps,1s").bandwidth, 1);
  EXPECT_DOUBLE_EQ(parse_link("8Kbps,250ns").latency, 250e-9);
  for (const char* bad : {"", "10Gbps", "10Gbps,20", "10GB,20us", "x,20us", "0Gbps,1us",
                          "1Gbps,-1us", "infGbps,1us", "1Gbps,1us,1us"})
    EXPECT_THROW(parse_link(bad), Error) << bad;
}

TEST(Link, bytes_by_kind) {
  EXPECT_EQ(link_bytes(Kind::all_reduce, 4, 100), 150);
  EXPECT_EQ(link_bytes(Kind::all_gather, 4, 100), 300);
  EXPECT_EQ(link_bytes(Kind::reduce_scatter, 4, 100), 75);
  EXPECT_EQ(link_bytes(Kind::all_to_all, 4, 100), 75);
  EXPECT_EQ(link_bytes(Kind::broadcast, 4, 100), 100);
  EXPECT_EQ(link_bytes(Kind::send, 2, 100), 100);
  EXPECT_EQ(link_bytes(Kind::barrier, 4, 0), 0);
  EXPECT_EQ(link_bytes(Kind::all_reduce, 1, 100), 0);
}

/// Three transfers of two ranks, waited for from the last on; rank 1 pauses before each call.
void follow_one_another(std::chrono::milliseconds pause) {
  // 40 KB by all-reduce of two ranks: 40 KB through each link, 4 ms and 1 ms of latency.
  InProcess world(2, {.link = Link{1e7, 1e-3}});
  auto messages = run_ranks(world, [&](int rank) {
    std::vector<int> both{0, 1};
    std::vector<float> x(30'000, 1);
    auto a = world.group(rank, "a", both), b = world.group(rank, "b", both);
    a->start({.kind = Kind::barrier}).wait();
    double start = now();
    std::deque<Work> works;
    for (int i = 0; i < 3; ++i) {
      if (rank == 1) std::this_thread::sleep_for(pause);
      // A bucket pays the latency once.
      float* at = x.data() + 10'000 * i;
      std::vector<Member> members{{at, at, 4000}, {at + 4000, at + 4000, 6000}};
      works.push_back((i == 1 ? b : a)->start({.channel = i, .members = members}));
    }
    while (!works[2].test() && now() - start < 0.005) {
    }
    works[2].wait();
    EXPECT_GE(now() - start, 0.0149);
    EXPECT_TRUE(works[0].test());
    works[1].wait();
    for (int i = 0; i < 3; ++i) {
      const Transfer& t = works[static_cast<std::size_t>(i)].transfer();
      EXPECT_EQ(t.bytes, 40'000);
      EXPECT_NEAR(t.end - t.begin, 5e-3, 1e-9);
      if (i > 0) {
        EXPECT_GE(t.begin, works[static_cast<std::size_t>(i - 1)].transfer().end);
      }
    }
    EXPECT_EQ(x[29'999], 2);
  });
  expect_no_errors(messages);
}

TEST(Link, transfers_follow_one_another) { follow_one_another({}); }

// A rank that waits for the last call must not let it pass those in front that come meanwhile.
TEST(Link, a_late_rank_changes_no_order) { follow_one_another(std::chrono::milliseconds(3)); }

TEST(Link, a_wait_in_a_transfer_ends_when_a_rank_fails) {
  InProcess world(2, {.link = Link{0.1, 0}});  // 40 s
  auto messages = run_ranks(world, [&](int rank) {
    float x = 0;
    Member m{&x, &x, 1};
    auto group = world.all(rank);
    Work work = group->start({.members = {&m, 1}, .name = "%h"});
    if (rank == 1) throw std::runtime_error("boom");
    work.wait();
  });
  EXPECT_NE(messages[0].find("rank 1 failed"), std::string::npos) << messages[0];
}

}  // namespace
}  // namespace hocket::comm

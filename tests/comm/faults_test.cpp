// What ranks are told when one of them fails, leaves, calls something else or does not come; and
// random programs in which that happens somewhere.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>

#include "hocket/base/error.h"
#include "hocket/comm/bell.h"
#include "hocket/comm/in_process.h"
#include "tests/comm/ranks.h"

namespace hocket::comm {
namespace {

Call reduce_of(std::span<const Member> members, std::int64_t channel) {
  return {.channel = channel, .members = members, .name = "%h"};
}

TEST(Faults, calls_that_do_not_match) {
  InProcess world(2);
  std::vector<float> x(256), y(256);
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    Member m{rank == 0 ? x.data() : y.data(), rank == 0 ? x.data() : y.data(), 64};
    Call call = reduce_of({&m, 1}, 3);
    if (rank == 1) call.kind = Kind::all_gather;
    group->start(call).wait();
  });
  for (const std::string& m : messages)
    EXPECT_EQ(m, "channel 3: rank 0 calls all_reduce of 64 f32, rank 1 calls all_gather of 64 f32");
}

TEST(Faults, everything_that_must_agree) {
  float data[2][8] = {};
  auto message = [&](auto edit) {
    InProcess world(2);
    return run_ranks(world, [&](int rank) {
      auto group = world.all(rank);
      std::vector<Member> members{{data[rank], data[rank], 4}, {data[rank] + 4, data[rank] + 4, 2}};
      Call call = reduce_of(members, 3);
      call.kind = Kind::reduce;
      if (rank == 1) edit(call, members);
      call.members = members;
      group->start(call).wait();
    })[0];
  };
  std::string_view head = "channel 3: rank 0 calls reduce to 0 of 4 + 2 f32, rank 1 calls ";
  auto tail = [&](std::string text) { return std::string(head) + text; };
  EXPECT_EQ(message([](Call& c, auto&) { c.channel = 4; }),
            tail("reduce to 0 of 4 + 2 f32 on channel 4"));
  EXPECT_EQ(message([](Call& c, auto&) { c.peer = 1; }), tail("reduce to 1 of 4 + 2 f32"));
  EXPECT_EQ(message([](Call& c, auto&) { c.reduce = Reduce::max; }),
            tail("reduce max to 0 of 4 + 2 f32"));
  EXPECT_EQ(message([](Call& c, auto&) { c.dtype = DType::i32; }),
            tail("reduce to 0 of 4 + 2 i32"));
  EXPECT_EQ(message([](Call&, auto& m) { m.pop_back(); }), tail("reduce to 0 of 4 f32"));
  EXPECT_EQ(message([](Call&, auto& m) { m[1].count = 1; }), tail("reduce to 0 of 4 + 1 f32"));
}

TEST(Faults, a_rank_that_does_not_come) {
  InProcess world(3, {.deadline = 0.1});
  std::atomic<bool> over{false};
  auto messages = run_ranks(world, [&](int rank) {
    std::vector<int> all{0, 1, 2};
    auto group = world.group(rank, "dp", all);
    float x = 1;
    Member m{&x, &x, 1};
    if (rank == 2)
      while (!over) std::this_thread::yield();
    try {
      group->start(reduce_of({&m, 1}, 3)).wait();
    } catch (...) {
      over = true;
      throw;
    }
  });
  std::string late =
      "%h = all_reduce on channel 3 of group \"dp\": rank 2 did not come within 0.1 s";
  EXPECT_EQ(std::ranges::count(messages, late), 1);
  for (const std::string& m : messages) EXPECT_TRUE(m.find(late) != std::string::npos) << m;
}

TEST(Faults, a_rank_that_throws_fails_all_groups) {
  InProcess world(4);
  auto messages = run_ranks(world, [&](int rank) {
    std::vector<int> low{0, 1}, high{2, 3};
    auto group = world.group(rank, "pair", rank < 2 ? low : high);
    if (rank == 1) world.fail(1, std::make_exception_ptr(std::runtime_error("boom")));
    while (true) group->start({.kind = Kind::barrier, .channel = 5, .name = "%b"}).wait();
  });
  for (int rank : {0, 2, 3})
    EXPECT_EQ(messages[static_cast<std::size_t>(rank)],
              "%b = barrier on channel 5 of group \"pair\": rank 1 failed: boom");
}

TEST(Faults, a_rank_that_leaves) {
  InProcess world(2);
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    int calls = rank == 0 ? 3 : 2;
    for (int i = 0; i < calls; ++i)
      group->start({.kind = Kind::barrier, .channel = i, .name = "%b"}).wait();
  });
  EXPECT_EQ(messages[0], "%b = barrier on channel 2 of group \"world\": rank 1 left");
  EXPECT_EQ(messages[1], "");
}

TEST(Faults, a_rank_that_leaves_with_a_call_in_flight) {
  InProcess world(3);
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    if (rank == 2)
      while (true) group->start({.kind = Kind::send, .peer = 0, .channel = 1}).wait();
    Work work = group->start({.kind = Kind::barrier, .channel = 2, .name = "%b"});
    if (rank == 0) work.wait();
  });
  EXPECT_EQ(
      messages[0],
      "%b = barrier on channel 2 of group \"world\": rank 1 failed: %b = barrier on channel 2 "
      "of group \"world\": left before it was done");
}

TEST(Faults, arguments) {
  InProcess world(2);
  auto group = world.all(0);
  Member m{nullptr, nullptr, 3};
  EXPECT_THROW(group->start({.kind = Kind::reduce_scatter, .members = {&m, 1}}), Error);
  EXPECT_THROW(group->start({.kind = Kind::all_to_all, .members = {&m, 1}}), Error);
  EXPECT_THROW(group->start({.kind = Kind::broadcast, .peer = 2}), Error);
  EXPECT_THROW(group->start({.kind = Kind::send, .peer = 0}), Error);
  std::vector<int> twice{0, 0}, far{0, 2};
  EXPECT_THROW(world.group(0, "x", twice), Error);
  EXPECT_THROW(world.group(0, "x", far), Error);
  EXPECT_THROW(InProcess(0), Error);
}

enum class Fault { throws, never_comes };

constexpr double deadline = 0.2;

/// A program that all ranks derive from the seed; one of them stops at a random call.
struct Story {
  explicit Story(std::uint64_t given)
      : seed(given),
        ranks(2 + static_cast<int>(mix(seed) % 3)),
        calls(1 + static_cast<int>(mix(seed + 1) % 30)),
        culprit(static_cast<int>(mix(seed + 2) % static_cast<unsigned>(ranks))),
        at(static_cast<int>(mix(seed + 3) % static_cast<unsigned>(calls))),
        fault(mix(seed + 4) % 2 == 0 ? Fault::throws : Fault::never_comes) {}

  std::uint64_t seed;
  int ranks, calls, culprit, at;
  Fault fault;

  void run(InProcess& world, int rank, std::atomic<int>& running,
           std::atomic<double>& stopped) const {
    // Memory first: it must outlive the groups.
    std::deque<std::vector<float>> memory;
    std::vector<int> first{0, 1}, list(static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; ++i) list[static_cast<std::size_t>(i)] = i;
    auto all = world.group(rank, "all", list);
    auto pair = rank < 2 ? world.group(rank, "pair", first) : nullptr;
    std::deque<Work> works;
    for (int i = 0; i < calls; ++i) {
      if (rank == culprit && i == at) {
        stopped = now();
        if (fault == Fault::throws) throw std::runtime_error("struck");
        while (running > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::uint64_t dice = mix(seed * 1000 + static_cast<std::uint64_t>(i));
      ProcessGroup* group = dice % 4 == 0 ? pair.get() : all.get();
      if (group == nullptr) continue;
      auto kind = static_cast<Kind>(dice / 4 % 6);
      std::int64_t count = static_cast<std::int64_t>(dice / 64 % 4 == 0 ? 20000 : dice / 256 % 60);
      count *= group->size();
      auto room = static_cast<std::size_t>(count * group->size());
      auto& send = memory.emplace_back(room, 1.0f);
      auto& recv = memory.emplace_back(room);
      Member m{send.data(), recv.data(), count};
      works.push_back(group->start({.kind = kind, .channel = i, .members = {&m, 1}, .name = "%n"}));
      while (works.size() > mix(dice + static_cast<std::uint64_t>(rank)) % 6) {
        works.front().wait();
        works.pop_front();
      }
    }
    for (Work& w : works) w.wait();
    // Something that needs all: nobody may end well.
    all->start({.kind = Kind::barrier, .channel = calls, .name = "%end"}).wait();
  }
};

/// What is wrong with how a story ended, or "".
std::string tell(const Story& story) {
  InProcess world(story.ranks, {.deadline = deadline});
  std::atomic<int> running{story.ranks};
  std::vector<double> seconds(static_cast<std::size_t>(story.ranks));
  std::atomic<double> stopped{now()};
  auto messages = run_ranks(world, [&](int rank) {
    auto ended = [&] {
      seconds[static_cast<std::size_t>(rank)] = now() - stopped;
      --running;
    };
    try {
      story.run(world, rank, running, stopped);
    } catch (...) {
      ended();
      throw;
    }
    ended();
  });
  for (int rank = 0; rank < story.ranks; ++rank) {
    const std::string& m = messages[static_cast<std::size_t>(rank)];
    double took = seconds[static_cast<std::size_t>(rank)];
    if (rank == story.culprit) continue;
    if (took > deadline + 1) return fmt::format("rank {} took {:.2f} s", rank, took);
    auto has = [&](std::string_view part) { return m.find(part) != std::string::npos; };
    bool collective = has(" on channel ") && has("of group \"");
    // `rank 1 `, or one of `ranks 1, 2 `.
    auto listed = m.find("ranks ");
    bool names =
        has(fmt::format("rank {} ", story.culprit)) ||
        (listed != std::string::npos &&
         m.substr(listed, m.find(" did not") - listed).find(std::to_string(story.culprit)) !=
             std::string::npos);
    bool why = has("struck") || has("did not come within 0.2 s") || has(" left");
    if (!collective || !names || !why) return fmt::format("rank {} was told '{}'", rank, m);
  }
  return "";
}

}  // namespace

int run_faults(int runs, std::uint64_t seed) {
  int thrown = 0, wrong = 0;
  std::atomic<int> finished{0};
  // A hang would hang the test as well; then at least the seed is known.
  std::jthread watch([&](std::stop_token stop) {
    int seen = -1;
    for (double since = now(); !stop.stop_requested();
         std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      if (finished != seen) since = now();
      seen = finished;
      if (now() - since < 30) continue;
      fmt::print("run {} of seed {} hangs\n", seen, seed);
      std::fflush(stdout);
      std::_Exit(1);
    }
  });
  for (int i = 0; i < runs; ++i, ++finished) {
    Story story(mix(seed) + static_cast<std::uint64_t>(i) * 16);
    if (story.fault == Fault::throws) ++thrown;
    std::string bad = tell(story);
    if (bad.empty()) continue;
    ++wrong;
    fmt::print("run {} of seed {} ({} ranks, rank {} stops at call {} of {}): {}\n", i, seed,
               story.ranks, story.culprit, story.at, story.calls, bad);
  }
  fmt::print("{} runs: {} ranks threw, {} never came; 0 hangs, {} wrong\n", runs, thrown,
             runs - thrown, wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace hocket::comm

// What ranks are told when one of them fails, leaves, calls something else or does not come; and
// random programs in which that happens somewhere.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <new>
#include <optional>
#include <utility>

#include "hocket/base/error.h"
#include "hocket/comm/bell.h"
#include "hocket/comm/in_process.h"
#include "tests/comm/ranks.h"

namespace {

thread_local bool next_new_fails = false;

}  // namespace

// The way to a wait in which memory is short. All of them, since those of a sanitizer do not call
// each other; not inlined, or the compiler sees a `new` that is met by `free`.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* memory = std::exchange(next_new_fails, false) ? nullptr : std::malloc(size);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

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
    EXPECT_EQ(m,
              "%h = all_reduce on channel 3 of group \"world\": rank 0 calls all_reduce of 64 f32, "
              "rank 1 calls all_gather of 64 f32");
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
  std::string_view head =
      "%h = reduce on channel 3 of group \"world\": rank 0 calls reduce to 0 of 4 + 2 f32, rank 1 "
      "calls ";
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

/// Ranks 0 and 1 have come for certain before either of them begins its short wait for rank 2.
void miss_a_rank(bool timed, std::string_view said) {
  InProcess world(3, {.timed = timed});
  std::atomic<bool> over{false};
  auto messages = run_ranks(world, [&](int rank) {
    std::vector<int> all{0, 1, 2}, low{0, 1};
    float x = 1;
    Member m{&x, &x, 1};
    auto group = world.group(rank, "dp", all);
    auto pair = rank < 2 ? world.group(rank, "pair", low) : nullptr;
    group->start({.kind = Kind::barrier}).wait();  // rank 2 has made a call, too
    while (rank == 2 && !over) std::this_thread::yield();
    try {
      Work work = group->start(reduce_of({&m, 1}, 3));
      if (rank < 2) pair->start({.kind = Kind::barrier}).wait();
      work.wait(0.1);
    } catch (...) {
      over = true;
      throw;
    }
  });
  std::string late = fmt::format(
      "%h = all_reduce on channel 3 of group \"dp\": rank 2 did not come within 0.1 s: rank 2 {}",
      said);
  auto told = [&](const std::string& m) { return m.starts_with(late); };
  EXPECT_GE(std::ranges::count_if(messages, told), 1);  // both can be late at the same moment
  for (const std::string& m : messages) EXPECT_TRUE(m.find(late) != std::string::npos) << m;
}

TEST(Faults, a_rank_that_does_not_come) { miss_a_rank(true, "has not started anything for "); }

// Nobody notes then whether it has.
TEST(Faults, nothing_is_said_about_starts_without_times) {
  miss_a_rank(false, "is in no long wait");
}

TEST(Faults, a_difference_is_told_before_all_have_come) {
  InProcess world(3);
  std::atomic<int> told{0};
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    while (rank == 2 && told < 2) std::this_thread::yield();  // comes when it is over
    float x = 1;
    Member m{&x, &x, 1};
    Call call = reduce_of({&m, 1}, 3);
    if (rank == 1) call.dtype = DType::i32;
    try {
      group->start(call).wait();
    } catch (...) {
      ++told;
      throw;
    }
  });
  for (const std::string& m : messages)
    EXPECT_NE(m.find("rank 0 calls all_reduce of 1 f32, rank 1 calls all_reduce of 1 i32"),
              std::string::npos)
        << m;
}

/// Of two ranks that wait for each other with a deadline of a minute.
std::vector<std::string> deadlock(const std::function<void(InProcess&, int)>& body) {
  InProcess world(2);
  return run_ranks(world, [&](int rank) { body(world, rank); });
}

TEST(Faults, groups_waited_for_in_opposite_order) {
  auto messages = deadlock([](InProcess& world, int rank) {
    std::vector<int> both{0, 1};
    auto a = world.group(rank, "a", both), b = world.group(rank, "b", both);
    (rank == 0 ? a : b)->start({.kind = Kind::barrier, .channel = 1, .name = "%x"}).wait();
  });
  for (const std::string& m : messages) {
    EXPECT_NE(m.find("ranks wait for each other for ever: "), std::string::npos) << m;
    EXPECT_NE(m.find("rank 0 for rank 1 in %x = barrier on channel 1 of group \"a\""),
              std::string::npos)
        << m;
    EXPECT_NE(m.find("rank 1 for rank 0 in %x = barrier on channel 1 of group \"b\""),
              std::string::npos)
        << m;
  }
}

TEST(Faults, a_send_that_meets_a_collective) {
  auto messages = deadlock([](InProcess& world, int rank) {
    auto group = world.all(rank);
    float x = 1;
    Member m{&x, &x, 1};
    Call call{.channel = 4, .members = {&m, 1}, .name = "%r"};
    if (rank == 0)
      call = {.kind = Kind::send, .peer = 1, .channel = 2, .members = {&m, 1}, .name = "%s"};
    group->start(call).wait();
  });
  for (const std::string& m : messages) {
    EXPECT_NE(m.find("rank 0 for rank 1 in %s = send on channel 2"), std::string::npos) << m;
    EXPECT_NE(m.find("rank 1 for rank 0 in %r = all_reduce on channel 4"), std::string::npos) << m;
  }
}

TEST(Faults, a_late_message_says_what_the_missing_rank_waits_for) {
  InProcess world(3, {.timed = true});
  std::atomic<bool> over{false};
  auto messages = run_ranks(world, [&](int rank) {
    std::vector<int> low{0, 1}, high{1, 2};
    if (rank == 2) {
      auto group = world.group(rank, "high", high);
      while (!over) std::this_thread::yield();
      return;
    }
    auto a = world.group(rank, "low", low);
    auto b = rank == 1 ? world.group(rank, "high", high) : nullptr;
    try {
      if (rank == 1) b->start({.kind = Kind::barrier, .channel = 7, .name = "%b"}).wait();
      while (!world.doing(1).starts_with("waits in")) std::this_thread::yield();
      a->start({.kind = Kind::barrier, .channel = 6, .name = "%a"}).wait(0.1);
    } catch (...) {
      over = true;
      throw;
    }
  });
  EXPECT_EQ(messages[0],
            "%a = barrier on channel 6 of group \"low\": rank 1 did not come within 0.1 s: rank 1 "
            "waits in %b = barrier on channel 7 of group \"high\" for rank 2, which has not "
            "started anything");
}

TEST(Faults, ten_thousand_in_flight_waited_for_from_the_end) {
  InProcess world(2);
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
  for (const std::string& m : messages) EXPECT_EQ(m, "");
}

TEST(Faults, sixty_four_ranks_and_nothing_to_move) {
  InProcess world(64);
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
  for (const std::string& m : messages) EXPECT_EQ(m, "");
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
    if (rank == 2) {  // does not wait, or it and rank 0 would wait for each other
      Work send = group->start({.kind = Kind::send, .peer = 0, .channel = 1});
      while (!send.test()) std::this_thread::yield();
    }
    Work work = group->start({.kind = Kind::barrier, .channel = 2, .name = "%b"});
    if (rank == 0) work.wait();
  });
  EXPECT_EQ(
      messages[0],
      "%b = barrier on channel 2 of group \"world\": rank 1 failed: %b = barrier on channel 2 "
      "of group \"world\": left before it was done");
}

TEST(Faults, a_rank_without_memory_for_its_share) {
  constexpr int ranks = 17;  // more than a reduction keeps inside itself
  InProcess world(ranks);
  std::atomic<int> here{0};
  std::atomic<bool> over{false};
  auto messages = run_ranks(world, [&](int rank) {
    float x = 1;
    Member m{&x, &x, 1};
    auto group = world.all(rank);
    Work work = group->start(reduce_of({&m, 1}, 3));
    ++here;
    // Rank 0 alone, for else another one may take over its share.
    while (rank == 0 ? here < ranks : !over) std::this_thread::yield();
    next_new_fails = rank == 0;
    try {
      work.wait();
    } catch (...) {
      over = true;
      throw;
    }
  });
  std::string cause = "%h = all_reduce on channel 3 of group \"world\": std::bad_alloc";
  EXPECT_EQ(messages[0], cause);
  for (int rank = 1; rank < ranks; ++rank)
    EXPECT_EQ(messages[static_cast<std::size_t>(rank)],
              "%h = all_reduce on channel 3 of group \"world\": rank 0 failed: " + cause);
}

TEST(Faults, arguments) {
  InProcess world(2);
  auto group = world.all(0);
  Member m{nullptr, nullptr, 3};
  EXPECT_THROW(group->start({.kind = Kind::reduce_scatter, .members = {&m, 1}}), Error);
  EXPECT_THROW(group->start({.kind = Kind::all_to_all, .members = {&m, 1}}), Error);
  m.row = 0;
  EXPECT_THROW(group->start({.kind = Kind::all_to_all, .members = {&m, 1}}), Error);
  EXPECT_THROW(group->start({.kind = Kind::broadcast, .peer = 2}), Error);
  EXPECT_THROW(group->start({.kind = Kind::send, .peer = 0}), Error);
  std::vector<int> twice{0, 0}, far{0, 2};
  EXPECT_THROW(world.group(0, "x", twice), Error);
  EXPECT_THROW(world.group(0, "x", far), Error);
  EXPECT_THROW(InProcess(0), Error);
}

enum class Fault { throws, never_comes };

// Seconds, of waits. Where every access is watched, a rank may well wait that long for a core, and
// new memory is slow.
#ifdef __SANITIZE_THREAD__
constexpr double short_deadline = 0.5;
constexpr std::int64_t large = 6000;
#else
constexpr double short_deadline = 0.2;
constexpr std::int64_t large = 20000;
#endif

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
  /// Some have a link, on which a large transfer takes a hundredth of a second.
  std::optional<Link> link() const {
    return mix(seed + 5) % 3 == 0 ? std::optional(Link{80e6, 1e-4}) : std::nullopt;
  }
  /// Stops after it has started call `at`, not before.
  bool between() const { return mix(seed + 6) % 2 == 0; }
  void strike(std::atomic<int>& running, std::atomic<double>& stopped) const {
    stopped = now();
    if (fault == Fault::throws) throw std::runtime_error("struck");
    while (running > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

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
      if (rank == culprit && i == at && !between()) strike(running, stopped);
      std::uint64_t dice = mix(seed * 1000 + static_cast<std::uint64_t>(i));
      ProcessGroup* group = dice % 4 == 0 ? pair.get() : all.get();
      if (group == nullptr) continue;
      auto kind = static_cast<Kind>(dice / 4 % 7);
      int peer = 0;
      if (kind == Kind::send) {  // from one to the next, both in the group
        auto from = static_cast<int>(dice / 4096 % static_cast<unsigned>(group->size()));
        int to = (from + 1) % group->size();
        if (group->index() == to) kind = Kind::recv;
        peer = group->index() == to ? from : to;
        if (group->index() != from && group->index() != to) continue;
      }
      std::vector<Member> members;
      for (std::uint64_t m = 0; m <= dice / 1024 % 3; ++m) {
        auto count = static_cast<std::int64_t>((dice + m) / 64 % 4 == 0 ? large : dice / 256 % 60);
        count *= group->size();
        auto room = static_cast<std::size_t>(count * group->size());
        auto& send = memory.emplace_back(room, 1.0f);
        auto& recv = memory.emplace_back(room);
        members.push_back({send.data(), recv.data(), count});
      }
      works.push_back(group->start(
          {.kind = kind, .peer = peer, .channel = i, .members = members, .name = "%n"}));
      if (rank == culprit && i >= at && between() && stopped == 0) strike(running, stopped);
      while (works.size() > mix(dice + static_cast<std::uint64_t>(rank)) % 6) {
        works.front().wait();
        works.pop_front();
      }
    }
    if (rank == culprit && between() && stopped == 0) strike(running, stopped);
    for (Work& w : works) w.wait();
    // Something that needs all: nobody may end well.
    all->start({.kind = Kind::barrier, .channel = calls, .name = "%end"}).wait();
  }
};

/// What is wrong with how a story ended, or "".
struct Ending {
  std::string wrong;
  bool slow = false;  // it may be only that an innocent rank had no core
};

/// Of one rank, which took `seconds` from when the culprit stopped.
Ending judge(const Story& story, int rank, const std::string& m, double seconds, double deadline) {
  if (seconds > 6 * deadline) return {fmt::format("rank {} took {:.2f} s", rank, seconds), true};
  auto has = [&](std::string_view part) { return m.find(part) != std::string::npos; };
  bool collective = has(" on channel ") && has("of group \"");
  // `rank 1 `, or one of `ranks 1, 2 `.
  auto listed = m.find("ranks ");
  bool names = has(fmt::format("rank {} ", story.culprit)) ||
               has(fmt::format("rank {},", story.culprit)) ||
               (listed != std::string::npos &&
                m.substr(listed, m.find(" did not") - listed).find(std::to_string(story.culprit)) !=
                    std::string::npos);
  std::string time = fmt::format(" {:.4g} s", deadline);
  bool late = has("did not come within" + time);
  if (collective && names && (late || has("struck") || has(" left"))) return {};
  return {fmt::format("rank {} was told '{}'", rank, m),
          collective && (late || has("it takes over" + time))};
}

Ending tell(const Story& story, double deadline) {
  InProcess world(story.ranks, {.deadline = deadline, .link = story.link()});
  std::atomic<int> running{story.ranks};
  std::vector<double> seconds(static_cast<std::size_t>(story.ranks));
  std::atomic<double> stopped{0};
  auto messages = run_ranks(world, [&](int rank) {
    auto ended = [&] {
      // A link may have failed them before the culprit got to its deed.
      seconds[static_cast<std::size_t>(rank)] = stopped == 0 ? 0 : now() - stopped;
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
  Ending worst;
  for (int rank = 0; rank < story.ranks; ++rank) {
    if (rank == story.culprit) continue;
    auto r = static_cast<std::size_t>(rank);
    Ending one = judge(story, rank, messages[r], seconds[r], deadline);
    if (!one.wrong.empty() && (worst.wrong.empty() || !one.slow)) worst = one;
  }
  return worst;
}

/// An innocent rank that had no core for a whole deadline is late like a culprit. With ten times as
/// long a deadline that is no excuse.
std::string tell_patiently(const Story& story, const std::string& title) {
  Ending ending = tell(story, short_deadline);
  if (!ending.slow) return ending.wrong;
  fmt::print("{}: {}; once more with a deadline of {} s\n", title, ending.wrong,
             10 * short_deadline);
  return tell(story, 10 * short_deadline).wrong;
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
    std::string title = fmt::format("run {} of seed {} ({} ranks, rank {} stops at call {} of {})",
                                    i, seed, story.ranks, story.culprit, story.at, story.calls);
    std::string bad = tell_patiently(story, title);
    if (bad.empty()) continue;
    ++wrong;
    fmt::print("{}: {}\n", title, bad);
  }
  fmt::print("{} runs: {} ranks threw, {} never came; 0 hangs, {} wrong\n", runs, thrown,
             runs - thrown, wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace hocket::comm

// What only ranks of one process can be told about: those that share memory with the test, so that
// it knows who has come; and what depends on options of the transport.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "hocket/base/error.h"
#include "tests/comm/ranks.h"

namespace {

thread_local int news = 0;  // of this thread

}  // namespace

// All of them, since those of a sanitizer do not call each other; not inlined, or the compiler sees
// a `new` that is met by `free`.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++news;
  void* memory = std::malloc(size);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace hocket::comm {
namespace {

CollectiveCall reduce_of(std::span<const Member> members, std::int64_t channel) {
  return {.channel = channel, .members = members, .name = "%h"};
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
  auto told = [&](const auto& entry) { return entry.second.starts_with(late); };
  EXPECT_GE(std::ranges::count_if(messages, told), 1);  // both can be late at the same moment
  for (const auto& [rank, m] : messages) EXPECT_TRUE(m.find(late) != std::string::npos) << m;
}

TEST(InProcess, a_rank_that_does_not_come) { miss_a_rank(true, "has not started anything for "); }

// Nobody notes then whether it has.
TEST(InProcess, nothing_is_said_about_starts_without_times) {
  miss_a_rank(false, "is in no long wait");
}

TEST(InProcess, a_difference_is_told_before_all_have_come) {
  InProcess world(3);
  std::atomic<int> told{0};
  auto messages = run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    while (rank == 2 && told < 2) std::this_thread::yield();  // comes when it is over
    float x = 1;
    Member m{&x, &x, 1};
    CollectiveCall call = reduce_of({&m, 1}, 3);
    if (rank == 1) call.dtype = DType::i32;
    try {
      group->start(call).wait();
    } catch (...) {
      ++told;
      throw;
    }
  });
  for (const auto& [rank, m] : messages)
    EXPECT_NE(m.find("rank 0 calls all_reduce of 1 f32, rank 1 calls all_reduce of 1 i32"),
              std::string::npos)
        << m;
}

TEST(InProcess, a_late_message_says_what_the_missing_rank_waits_for) {
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

/// The calls of a rank in a step, some in flight at the same time.
struct StepOfCalls {
  std::vector<float> x = std::vector<float>(600), y = std::vector<float>(600);
  std::vector<Member> bucket, rows;
  std::vector<std::int64_t> ones = {1, 1, 1};
  std::vector<CollectiveCall> calls;

  explicit StepOfCalls(int rank) {
    constexpr std::string_view long_name = "%a_name_that_does_not_fit_into_a_string_object";
    for (int i = 0; i < 5; ++i) bucket.push_back({&x[60 * i], &y[60 * i], 60});
    rows = {{&x[300], &y[300], 30, ones, ones, 10}, {&x[330], &y[330], 30, {}, {}, 10}};
    for (int i = 0; i < 20; ++i)
      calls.push_back({.channel = i, .members = std::span(bucket).first(1 + i % 5)});
    calls[3].name = long_name;
    calls.push_back({.kind = Kind::all_to_all, .channel = 20, .members = rows, .name = long_name});
    calls.push_back({.kind = Kind::barrier, .channel = 21});
    if (rank < 2)
      calls.push_back({.kind = rank == 0 ? Kind::send : Kind::recv,
                       .peer = 1 - rank,
                       .channel = 22,
                       .members = std::span(bucket).first(2),
                       .name = long_name});
  }
};

/// However far ranks run ahead of each other.
TEST(InProcess, announced_calls_allocate_nothing) {
  for (bool slow : {false, true}) {
    InProcessOptions options;
    if (slow) options.link = Link{1e9, 2e-6};
    InProcess world(3, options);
    auto messages = run_ranks(world, [&](int rank) {
      auto group = world.all(rank);
      StepOfCalls step(rank);
      for (const CollectiveCall& call : step.calls) group->expect(call);
      std::vector<Work> works(step.calls.size());
      int before = news;
      for (int k = 0; k < 200; ++k) {
        if (k % 50 == 10 * rank) std::this_thread::sleep_for(std::chrono::milliseconds(15));
        for (std::size_t i = 0; i < works.size(); ++i) {
          works[i] = group->start(step.calls[i]);
          if (k % 3 == 0) works[0].test();
        }
        for (Work& work : works) work.wait();
      }
      EXPECT_EQ(news, before);
    });
    expect_no_errors(messages);
  }
}

TEST(InProcess, announced_calls_of_many_ranks_allocate_nothing) {
  constexpr int ranks = 80;
  InProcess world(ranks);
  auto messages = run_ranks(world, [&](int rank) {
    std::vector<float> x(ranks, 1), y(ranks);
    Member whole{x.data(), y.data(), ranks}, in_place{x.data(), x.data(), ranks};
    std::vector<CollectiveCall> calls;
    for (Kind kind : {Kind::all_reduce, Kind::reduce, Kind::reduce_scatter, Kind::broadcast})
      calls.push_back({.kind = kind, .channel = std::ssize(calls), .members = {&whole, 1}});
    calls.push_back({.reduce = Reduce::avg, .channel = 4, .members = {&in_place, 1}});
    auto group = world.all(rank);
    for (const CollectiveCall& call : calls) group->expect(call);
    int before = news;
    for (int k = 0; k < 5; ++k)
      for (const CollectiveCall& call : calls) group->start(call).wait();
    EXPECT_EQ(news, before);
  });
  expect_no_errors(messages);
}

TEST(InProcess, without_ranks) { EXPECT_THROW(InProcess(0), Error); }

}  // namespace
}  // namespace hocket::comm

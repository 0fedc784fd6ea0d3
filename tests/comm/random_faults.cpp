// Random programs in which a rank fails or does not come.

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <optional>
#include <thread>

#include "hocket/comm/wakeup.h"
#include "tests/comm/ranks.h"

namespace hocket::comm {
namespace {

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

  /// Those without a link run over any transport.
  TestWorld open(double deadline) const {
    const auto& kinds = transport_kinds();
    if (!link()) return kinds[mix(seed + 7) % kinds.size()].open(ranks, deadline);
    TestWorld world;
    world.hosts.push_back(
        std::make_unique<InProcess>(ranks, InProcessOptions{.deadline = deadline, .link = link()}));
    return world;
  }

  void run(const TestWorld& world, int rank, std::atomic<int>& running,
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
  TestWorld world = story.open(deadline);
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
    double took = seconds[static_cast<std::size_t>(rank)];
    Ending one = judge(story, rank, messages[rank], took, deadline);
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

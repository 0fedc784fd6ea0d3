#include "hocket/runtime/ranks.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/runtime/rank.h"

namespace hocket {
namespace {

void require_same_world(const Program& program, const comm::Transport& transport) {
  if (int world = program.world->ranks(); world > 1 && transport.ranks() != world)
    fail("{} wanted, the program is for {}", count_of(transport.ranks(), "rank"), world);
}

/// The rank's handle of every group that its graph names.
Rank::Groups join_groups(comm::Transport& transport, const Graph& graph, Rank::Identity identity) {
  Rank::Groups groups;
  for (NodeId n : graph.nodes()) {
    if (!graph[n].op->is_collective && graph[n].op->attribute_index("channel") < 0) continue;
    const auto& name = graph[n].attr<std::string>("group");
    if (groups.contains(name)) continue;
    std::vector<int> members = graph.world().members(name, identity.role);
    for (int& member : members) member += identity.number - identity.role;  // of a copy
    groups.emplace(name, transport.group(identity.number, name, members));
  }
  return groups;
}

}  // namespace

struct Ranks::Threads {
  Threads(const Program& of, comm::Transport& given, const RanksOptions& options)
      : transport(given), numbers(given.hosted()) {
    require_same_world(of, given);
    for (int number : numbers) {
      Rank::Identity identity{number, of.role_of(number)};
      auto groups = join_groups(transport, of.graph_of(number), identity);
      ranks.push_back(std::make_unique<Rank>(identity, std::move(groups),
                                             options.backend ? options.backend() : nullptr,
                                             options.trace));
    }
    results.resize(ranks.size());
    errors.resize(ranks.size());
    try {
      for (std::size_t i = 0; i < ranks.size(); ++i) threads.emplace_back([this, i] { live(i); });
    } catch (const std::system_error& e) {
      end();
      fail("{}: a thread for each cannot be had: {}", count_of(std::ssize(ranks), "rank"),
           e.what());
    }
  }

  ~Threads() { end(); }

  void end() {
    {
      std::lock_guard lock(mutex);
      over = true;
    }
    go.notify_all();
    threads.clear();  // joins
  }

  /// The thread of a rank: runs one step whenever the turn changes.
  void live(std::size_t i) {
    for (std::int64_t seen = 0;; ++seen) {
      {
        std::unique_lock lock(mutex);
        go.wait(lock, [&] { return over || turn > seen; });
        if (over) return;
      }
      try {
        results[i] = ranks[i]->step(*current, inputs[i]);
      } catch (...) {
        errors[i] = std::current_exception();
        // Other ranks must get the cause before this rank leaves its groups.
        transport.fail(numbers[i], errors[i]);
        ranks[i]->leave();
      }
      std::lock_guard lock(mutex);
      if (--running == 0) done.notify_all();
    }
  }

  void run(const StepProgram& what, std::span<const std::vector<Tensor>> given) {
    std::unique_lock lock(mutex);
    current = &what;
    inputs = given;
    running = ranks.size();
    ++turn;
    go.notify_all();
    // Every wait of a rank has a deadline, so this one ends.
    done.wait(lock, [&] { return running == 0; });
    if (auto failure = transport.failure()) failed = first_cause(*failure);
  }

  /// The error of the first rank to fail, with its number, or the mismatch between ranks. For a
  /// rank hosted elsewhere, what the transport knows. Exceptions other than RunError stay as they
  /// are.
  std::exception_ptr first_cause(const comm::Transport::Failure& failure) const {
    auto found = failure.rank ? std::ranges::find(numbers, *failure.rank) : numbers.end();
    std::exception_ptr cause = found == numbers.end()
                                   ? nullptr
                                   : errors[static_cast<std::size_t>(found - numbers.begin())];
    if (!cause) return std::make_exception_ptr(RunError(failure.message));
    try {
      std::rethrow_exception(cause);
    } catch (const RunError& e) {
      return std::make_exception_ptr(RunError(fmt::format("rank {}: {}", *failure.rank, e.what())));
    } catch (...) {
      return cause;
    }
  }

  comm::Transport& transport;
  std::span<const int> numbers;  // of the ranks below, in the world
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<RankResult> results;
  std::vector<std::exception_ptr> errors;
  std::exception_ptr failed;

  std::mutex mutex;  // of what follows
  std::condition_variable go, done;
  std::int64_t turn = 0;
  std::size_t running = 0;
  bool over = false;
  const StepProgram* current = nullptr;
  std::span<const std::vector<Tensor>> inputs;
  std::vector<std::jthread> threads;
};

Ranks::Ranks(const Program& program, comm::Transport& transport, const RanksOptions& options)
    : threads_(std::make_unique<Threads>(program, transport, options)) {}

Ranks::~Ranks() = default;

std::span<const int> Ranks::ranks() const { return threads_->numbers; }

void Ranks::announce(std::int64_t iteration, int drain) {
  for (const auto& rank : threads_->ranks) rank->announce(iteration, drain);
}

std::vector<RankResult> Ranks::step(const StepProgram& what,
                                    std::span<const std::vector<Tensor>> inputs) {
  std::span<const int> numbers = ranks();
  if (inputs.size() != numbers.size())
    fail("inputs for {}, wanted {}", count_of(std::ssize(inputs), "rank"), numbers.size());
  if (threads_->failed) std::rethrow_exception(threads_->failed);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    require_inputs(what.program.graph_of(numbers[i]), numbers[i], inputs[i], true);
  threads_->run(what, inputs);
  if (threads_->failed) std::rethrow_exception(threads_->failed);
  return std::exchange(threads_->results, std::vector<RankResult>(numbers.size()));
}

std::vector<StepTimes> Ranks::times() const {
  std::vector<StepTimes> all;
  for (const auto& rank : threads_->ranks) all.push_back(rank->times());
  return all;
}

Trace Ranks::trace() const {
  Trace trace;
  for (const auto& rank : threads_->ranks) trace.ranks.push_back(rank->trace());
  return trace;
}

std::string Ranks::numerics() const { return numerics_of(threads_->ranks[0]->backend()); }

}  // namespace hocket

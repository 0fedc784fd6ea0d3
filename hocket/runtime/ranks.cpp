#include "hocket/runtime/ranks.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/comm/in_process.h"
#include "hocket/runtime/rank.h"

namespace hocket {
namespace {

int count_of_ranks(const Program& program, const RanksOptions& options) {
  int world = program.world->ranks(), wanted = options.ranks.value_or(world);
  if (wanted < 1 || (world > 1 && wanted != world))
    fail("{} wanted, the program is for {}", count_of(wanted, "rank"), world);
  return wanted;
}

/// What the first rank to fail says, with its number; or what does not fit together. Bugs of ours
/// as they are.
std::exception_ptr first_cause(const comm::InProcess::Failure& failure,
                               std::span<const std::exception_ptr> errors) {
  if (!failure.rank) return std::make_exception_ptr(RunError(failure.message));
  const std::exception_ptr& cause = errors[static_cast<std::size_t>(*failure.rank)];
  try {
    std::rethrow_exception(cause);
  } catch (const RunError& e) {
    return std::make_exception_ptr(RunError(fmt::format("rank {}: {}", *failure.rank, e.what())));
  } catch (...) {
    return cause;
  }
}

/// The rank's end of every group that its graph names.
Rank::Groups join_groups(comm::InProcess& world, const Graph& graph, Rank::Identity identity) {
  Rank::Groups groups;
  for (NodeId n : graph.nodes()) {
    if (!graph[n].op->is_collective && graph[n].op->attribute_index("channel") < 0) continue;
    const auto& name = graph[n].attr<std::string>("group");
    if (groups.contains(name)) continue;
    std::vector<int> members = graph.world().members(name, identity.place);
    for (int& member : members) member += identity.number - identity.place;  // of a copy
    groups.emplace(name, world.group(identity.number, name, members));
  }
  return groups;
}

}  // namespace

struct Ranks::Crew {
  Crew(const Program& of, const RanksOptions& options)
      : world(count_of_ranks(of, options), {options.deadline, options.link, true}) {
    bool copies = of.world->ranks() == 1;
    for (int r = 0; r < world.ranks(); ++r) {
      Rank::Identity identity{r, copies ? 0 : r};
      auto groups = join_groups(world, of.graph_of(identity.place), identity);
      ranks.push_back(std::make_unique<Rank>(identity, std::move(groups),
                                             options.backend ? options.backend() : nullptr,
                                             options.trace));
    }
    results.resize(ranks.size());
    errors.resize(ranks.size());
    try {
      for (std::size_t r = 0; r < ranks.size(); ++r) threads.emplace_back([this, r] { live(r); });
    } catch (const std::system_error& e) {
      dismiss();
      fail("{}: a thread for each cannot be had: {}", count_of(world.ranks(), "rank"), e.what());
    }
  }

  ~Crew() { dismiss(); }

  void dismiss() {
    {
      std::lock_guard lock(mutex);
      over = true;
    }
    go.notify_all();
    threads.clear();  // joins
  }

  /// A rank's thread: one step whenever the turn changes.
  void live(std::size_t r) {
    for (std::int64_t seen = 0;; ++seen) {
      {
        std::unique_lock lock(mutex);
        go.wait(lock, [&] { return over || turn > seen; });
        if (over) return;
      }
      try {
        results[r] = ranks[r]->step(*program, inputs[r]);
      } catch (...) {
        errors[r] = std::current_exception();
        // Others first learn why, then lose what this rank had to give.
        world.fail(static_cast<int>(r), errors[r]);
        ranks[r]->leave();
      }
      std::lock_guard lock(mutex);
      if (--running == 0) done.notify_all();
    }
  }

  void run(const Program& what, std::span<const std::vector<Tensor>> given) {
    std::unique_lock lock(mutex);
    program = &what;
    inputs = given;
    running = ranks.size();
    ++turn;
    go.notify_all();
    // Every wait of a rank has a deadline, so this one ends.
    done.wait(lock, [&] { return running == 0; });
    if (auto failure = world.failure()) failed = first_cause(*failure, errors);
  }

  comm::InProcess world;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<RankResult> results;
  std::vector<std::exception_ptr> errors;
  std::exception_ptr failed;

  std::mutex mutex;  // of what follows
  std::condition_variable go, done;
  std::int64_t turn = 0;
  std::size_t running = 0;
  bool over = false;
  const Program* program = nullptr;
  std::span<const std::vector<Tensor>> inputs;
  std::vector<std::jthread> threads;
};

Ranks::Ranks(const Program& program, const RanksOptions& options)
    : crew_(std::make_unique<Crew>(program, options)) {}

Ranks::~Ranks() = default;

int Ranks::count() const { return static_cast<int>(crew_->ranks.size()); }

void Ranks::announce(std::int64_t iteration, int drain) {
  for (const auto& rank : crew_->ranks) rank->announce(iteration, drain);
}

std::vector<RankResult> Ranks::step(const Program& program,
                                    std::span<const std::vector<Tensor>> inputs) {
  if (inputs.size() != crew_->ranks.size())
    fail("inputs for {}, wanted {}", count_of(std::ssize(inputs), "rank"), count());
  if (crew_->failed) std::rethrow_exception(crew_->failed);
  bool copies = program.world->ranks() == 1;
  for (int r = 0; r < count(); ++r)
    require_inputs(program.graph_of(copies ? 0 : r), r, inputs[static_cast<std::size_t>(r)], true);
  crew_->run(program, inputs);
  if (crew_->failed) std::rethrow_exception(crew_->failed);
  return std::exchange(crew_->results, std::vector<RankResult>(crew_->ranks.size()));
}

std::vector<StepTimes> Ranks::times() const {
  std::vector<StepTimes> all;
  for (const auto& rank : crew_->ranks) all.push_back(rank->times());
  return all;
}

Trace Ranks::trace() const {
  Trace trace;
  for (const auto& rank : crew_->ranks) trace.ranks.push_back(rank->trace());
  return trace;
}

std::string Ranks::numerics() const {
  const Backend* backend = crew_->ranks[0]->backend();
  return backend != nullptr ? backend->numerics() : "reference: plain kernels";
}

}  // namespace hocket

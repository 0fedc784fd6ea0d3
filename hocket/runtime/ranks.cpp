#include "hocket/runtime/ranks.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "hocket/base/clock.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/lower/lower.h"
#include "hocket/runtime/rank.h"

namespace hocket {
namespace {

void require_same_world(const Program& program, const comm::Transport& transport) {
  if (int world = program.world->ranks(); world > 1 && transport.ranks() != world)
    fail("{} wanted, the program is for {}", count_of(transport.ranks(), "rank"), world);
}

Plan lowered(const Program& program, const RanksOptions& options) {
  if (std::ranges::any_of(program.graphs, is_rotated))
    verify(program);  // phases take over its types and order
  std::unique_ptr<Backend> backend = options.backend ? options.backend() : nullptr;
  return lower(program, {.backend = backend.get()});
}

}  // namespace

struct Ranks::Threads {
  Threads(std::shared_ptr<const Plan> given_plan, comm::Transport& given,
          const RanksOptions& options)
      : shared(std::move(given_plan)), plan(*shared), transport(given), numbers(given.hosted()) {
    require_same_world(plan.program, given);
    make_produced();
    ranks.resize(numbers.size());
    errors.resize(numbers.size());
    positions.resize(numbers.size());
    stopped.resize(numbers.size());
    try {
      for (std::size_t i = 0; i < numbers.size(); ++i) threads.emplace_back([this, i] { live(i); });
    } catch (const std::system_error& e) {
      end();
      fail("{}: a thread for each cannot be had: {}", count_of(std::ssize(numbers), "rank"),
           e.what());
    }
    try {
      each([&](std::size_t i) {
        Rank::Identity identity{numbers[i], plan.program.role_of(numbers[i])};
        std::span<Produced> outputs(produced.data() + first_output[i],
                                    first_output[i + 1] - first_output[i]);
        ranks[i] = std::make_unique<Rank>(plan, identity, transport, kernels,
                                          options.backend ? options.backend() : nullptr, outputs,
                                          options.trace);
      });
    } catch (...) {
      end();
      throw;
    }
  }

  ~Threads() { end(); }

  void end() {
    over = true;
    turn.fetch_add(1);
    turn.notify_all();
    threads.clear();  // joins
  }

  /// A place for every output of every rank, in order.
  void make_produced() {
    for (int number : numbers) {
      std::size_t graph = plan.program.graph_index(number), first = produced.size();
      first_output.push_back(first);
      std::size_t outputs = plan.program.graphs[graph].outputs().size();
      for (std::size_t o = 0; o < outputs; ++o) produced.push_back({0, number, o, {}});
      const std::vector<PlanPhase>& phases = plan.graphs.at(graph).phases;
      produced_by.resize(phases.size());
      for (std::size_t p = 0; p < phases.size(); ++p) {
        for (const Instruction& i : phases[p].instructions)
          if (i.kind == InstructionKind::output) produced_by[p].push_back(first + i.index);
        std::ranges::sort(produced_by[p]);
      }
    }
    first_output.push_back(produced.size());
  }

  /// The thread of a rank: does the task whenever the turn changes.
  void live(std::size_t i) {
    for (std::uint32_t seen = 0;; ++seen) {
      turn.wait(seen);
      if (over) break;
      try {
        (*task)(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
      if (running.fetch_sub(1) == 1) running.notify_all();
    }
    ranks[i] = nullptr;
  }

  /// Does something on the threads of all ranks; throws the error of the first one that had any.
  void each(const std::function<void(std::size_t)>& what) {
    std::ranges::fill(errors, nullptr);
    task = &what;
    running.store(static_cast<std::uint32_t>(numbers.size()));
    turn.fetch_add(1);
    turn.notify_all();
    // Every wait of a rank has a deadline, so this one ends.
    for (std::uint32_t left = running.load(); left != 0; left = running.load()) running.wait(left);
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }

  void run_step(std::size_t i) {
    try {
      std::span<const Tensor> row;
      if (i < batch->size()) row = (*batch)[i];
      ranks[i]->run(phase, row);
    } catch (...) {
      describe(i);
      // Other ranks must get the cause before this rank leaves its groups.
      transport.fail(numbers[i], std::current_exception());
      ranks[i]->leave();
      throw;
    }
  }

  /// Notes where a rank stood when the first one failed.
  void describe(std::size_t i) {
    std::call_once(failing, [&] {
      failed_at = steady_seconds();
      for (std::size_t r = 0; r < ranks.size(); ++r) positions[r] = ranks[r]->position();
    });
    try {
      stopped[i] = ranks[i]->stopped(positions[i], failed_at);
    } catch (...) {  // no memory for it: the cause must reach the others in any case
    }
  }

  /// After a failed step, while all threads sleep.
  void finish_report() {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (!stopped[i]) describe(i);
      if (stopped[i]) report.ranks.push_back(std::move(*stopped[i]));
    }
    report.differences = find_differences(report.ranks);
    try {
      std::rethrow_exception(failed);
    } catch (const std::exception& e) {
      report.error = e.what();
    } catch (...) {
      report.error = "an exception without a message";
    }
  }

  void run(std::size_t number, const InputTables& given) {
    phase = number;
    batch = &given;
    some.clear();
    try {
      each(step);
    } catch (...) {
      failed = std::current_exception();
    }
    if (auto failure = transport.failure()) failed = first_cause(*failure);
    if (!failed) return;
    finish_report();
    std::rethrow_exception(failed);
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

  /// The outputs of the phase that ran last. The steady phase has all of them.
  std::span<Produced> outputs() {
    const std::vector<std::size_t>& places = produced_by[phase];
    if (places.size() == produced.size()) return produced;
    for (std::size_t place : places) some.push_back(produced[place]);
    return some;
  }

  const std::shared_ptr<const Plan> shared;
  const Plan& plan;
  comm::Transport& transport;
  std::span<const int> numbers;  // of the ranks below, in the world
  std::vector<Produced> produced, some;
  std::vector<std::size_t> first_output;              // in `produced`, by rank; last: its size
  std::vector<std::vector<std::size_t>> produced_by;  // by phase, in `produced`
  ReferenceKernels kernels;                           // of all ranks
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::exception_ptr> errors;
  std::exception_ptr failed;

  std::once_flag failing;
  double failed_at = 0;
  std::vector<Rank::Position> positions;  // at that time
  std::vector<std::optional<StoppedRank>> stopped;
  HangReport report;

  std::size_t phase = 0;
  const InputTables* batch = nullptr;
  const std::function<void(std::size_t)> step = [this](std::size_t i) { run_step(i); };

  // Written while all threads sleep, and read after `turn`.
  const std::function<void(std::size_t)>* task = nullptr;
  bool over = false;
  std::atomic<std::uint32_t> turn{0}, running{0};
  std::vector<std::jthread> threads;
};

Ranks::Ranks(std::shared_ptr<const Plan> plan, comm::Transport& transport,
             const RanksOptions& options)
    : threads_(std::make_unique<Threads>(std::move(plan), transport, options)) {}

Ranks::Ranks(Plan plan, comm::Transport& transport, const RanksOptions& options)
    : Ranks(std::make_shared<const Plan>(std::move(plan)), transport, options) {}

Ranks::Ranks(const Program& program, comm::Transport& transport, const RanksOptions& options)
    : Ranks((require_same_world(program, transport), lowered(program, options)), transport,
            options) {}

Ranks::~Ranks() = default;

const Plan& Ranks::plan() const { return threads_->plan; }

std::span<const int> Ranks::ranks() const { return threads_->numbers; }

void Ranks::load(const InputTables& state) {
  if (threads_->failed) std::rethrow_exception(threads_->failed);
  require_state(program(), ranks(), state);
  threads_->each([&](std::size_t i) { threads_->ranks[i]->load(state[i]); });
}

void Ranks::announce(std::int64_t iteration, int drain) {
  for (const auto& rank : threads_->ranks) rank->announce(iteration, drain);
}

std::span<Produced> Ranks::run(Window window, const InputTables& batch) {
  if (threads_->failed) std::rethrow_exception(threads_->failed);
  if (window.lo == 0) require_batch(program(), ranks(), batch);
  threads_->run(plan().phase_index(window), batch);
  return threads_->outputs();
}

InputTables Ranks::state() const {
  if (threads_->failed) std::rethrow_exception(threads_->failed);
  InputTables all(ranks().size());
  threads_->each([&](std::size_t i) { all[i] = threads_->ranks[i]->state(); });
  return all;
}

std::int64_t Ranks::peak_bytes() const {
  std::int64_t most = 0;
  for (const auto& rank : threads_->ranks) most = std::max(most, rank->peak_bytes());
  return most;
}

std::int64_t Ranks::planned_peak_bytes() const {
  std::int64_t most = 0;
  for (const PlanGraph& graph : plan().graphs) most = std::max(most, graph.arena_bytes);
  return most;
}

std::vector<StepTimes> Ranks::times() const {
  std::vector<StepTimes> all;
  for (const auto& rank : threads_->ranks) all.push_back(rank->times());
  return all;
}

const HangReport& Ranks::hang_report() const { return threads_->report; }

Trace Ranks::trace() const {
  Trace trace;
  for (const auto& rank : threads_->ranks) trace.ranks.push_back(rank->trace());
  return trace;
}

}  // namespace hocket

#include "meaning.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "bases.h"
#include "hocket/base/file.h"
#include "hocket/base/hash.h"
#include "hocket/check/check.h"
#include "hocket/check/meaning.h"
#include "hocket/comm/in_process.h"
#include "hocket/driver/compile.h"
#include "hocket/driver/random_inputs.h"
#include "hocket/driver/shards.h"
#include "hocket/lower/lower.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"
#include "hocket/runtime/loop.h"
#include "hocket/runtime/ranks.h"
#include "mistakes.h"
#include "support/pass_choices.h"
#include "support/random_families.h"
#include "support/random_program.h"

namespace hocket::testing {
namespace {

constexpr int most_ranks_run = 4;
constexpr std::size_t most_instructions_run = 400;  // of all phases
constexpr std::size_t mistakes_of_a_base = 24;
constexpr std::size_t most_written = 8;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mixed(a * 0x9e3779b97f4a7c15ull + b); }

std::uint64_t hash_of(const Tensor& t) {
  if (!t) return 7;
  std::uint64_t h = 1;
  for (std::byte b : t.bytes()) h = mix(h, static_cast<std::uint64_t>(b));
  return h;
}

/// What runs of a plan are fed.
struct Feed {
  InputTables state;
  std::vector<InputTables> batches;
};

int longest_run(const Plan& plan) { return plan.shape.depth + 2 * plan.shape.turns + 1; }

Feed plain_feed(const Plan& plan, std::uint64_t seed) {
  RandomInputs inputs(plan.program, seed, plan.program.world->ranks());
  Feed feed{inputs.state(), {}};
  for (int t = 0; t < longest_run(plan); ++t) feed.batches.push_back(inputs.batch(t));
  return feed;
}

/// With NaN, infinities and -0; none for a program that may expect state to be equal on ranks that
/// do not get it equal here.
std::optional<Feed> odd_feed(const Plan& plan, Random& random) {
  if (plan.program.graphs.size() > 1) return std::nullopt;
  for (const Input& in : plan.program.graphs[0].inputs())
    if (in.shard || !in.equal.empty()) return std::nullopt;
  Feed feed{random_inputs(random, plan.program), {}};
  for (int t = 0; t < longest_run(plan); ++t)
    feed.batches.push_back(random_inputs(random, plan.program));
  return feed;
}

/// Digests of the outputs and the state of runs of 1 .. depth + 2 turns + 1 iterations; none where
/// the plan does not fit the kernels, or a run fails.
std::vector<std::uint64_t> results(const Plan& plan, const Feed& feed) {
  std::vector<std::uint64_t> all;
  int longest = longest_run(plan);
  int first = plan.shape.depth == 0 ? longest : 1;  // without a drain a run begins like longer ones
  comm::InProcess transport(plan.program.world->ranks(), {.deadline = 5});
  try {
    Ranks executor(plan, transport);
    for (int steps = first; steps <= longest; ++steps) {
      std::uint64_t h = 1;
      auto add = [&](std::span<const Produced> some) {
        for (const Produced& p : some)
          h = mix(h, mix(mix(static_cast<std::uint64_t>(p.iteration * 64 + p.rank), p.output),
                         hash_of(p.value)));
      };
      Loop loop(executor, feed.state);
      for (int t = 0; t < steps; ++t) add(loop.step(feed.batches[static_cast<std::size_t>(t)]));
      add(loop.finish());
      for (const auto& row : unshard_state(plan.source, plan.program, loop.state()))
        for (const Tensor& t : row) h = mix(h, hash_of(t));
      all.push_back(h);
    }
  } catch (const std::exception&) {
    return {};
  }
  return all;
}

/// The same of a plan without a mistake, for each of its feeds.
struct Wanted {
  std::vector<Feed> feeds;
  std::vector<std::vector<std::uint64_t>> results;
};

enum class Outcome : std::uint8_t { equal, other, failed };

Outcome outcome(const Plan& plan, const Wanted& wanted) {
  for (std::size_t k = 0; k < wanted.feeds.size(); ++k) {
    std::vector<std::uint64_t> found = results(plan, wanted.feeds[k]);
    if (found.empty()) return Outcome::failed;
    if (found != wanted.results[k]) return Outcome::other;
  }
  return Outcome::equal;
}

struct MeaningCount {
  std::uint64_t mutants = 0, same_bits = 0, no_plan = 0, fails = 0;
  std::array<std::uint64_t, 3> verdicts{}, same_bits_verdicts{};  // by Verdict
};

class MeaningTrial {
 public:
  explicit MeaningTrial(const MutantOptions& options) : options_(options) {}

  int run() {
    for (std::uint64_t b = 0; done_ < options_.count; ++b) {
      Random random = random_at(options_.seed, b);
      std::optional<Plan> plan = draw(random, b);
      if (!plan) continue;
      ++bases_;
      MeaningReport report = compare_meaning(*plan);
      auto& verdicts = base_verdicts_[std::string(family_at(b).name)];
      ++verdicts[static_cast<std::size_t>(report.verdict)];
      if (report.verdict != Verdict::same)
        keep(*plan, report.verdict == Verdict::different ? "base different" : "base undecided",
             fmt::format("{} {}, passes {}", family_at(b).name, b, passes_), report.message);
      if (is_small(*plan)) mutate_base(*plan, random, b);
      progress();
    }
    return report();
  }

 private:
  std::optional<Plan> draw(Random& random, std::uint64_t b) {
    Program source = random_case(random, b).program;
    if (chance(random, 30)) source = graph_for_each_rank(source);
    Program program = source;
    passes_ = chance(random, 25)   ? "none"
              : chance(random, 30) ? "default,cross-iteration:delay=all"
                                   : to_text(random_list(random, table_, 6, Tensors::tiny));
    try {
      compile(program, {.passes = passes_, .table = table_});
    } catch (const std::exception&) {
      return std::nullopt;  // a list that does not fit the program
    }
    Plan plan = lower(program);
    plan.source = source;
    plan.origin.passes = passes_;
    return plan;
  }

  static bool is_small(const Plan& plan) {
    std::size_t count = 0;
    for (const PlanGraph& g : plan.graphs)
      for (const PlanPhase& p : g.phases) count += p.instructions.size();
    return plan.program.world->ranks() <= most_ranks_run && count <= most_instructions_run;
  }

  void mutate_base(Plan& plan, Random& random, std::uint64_t b) {
    Wanted wanted;
    wanted.feeds.push_back(plain_feed(plan, b));
    if (auto odd = odd_feed(plan, random)) wanted.feeds.push_back(std::move(*odd));
    for (const Feed& feed : wanted.feeds) wanted.results.push_back(results(plan, feed));
    if (wanted.results.front().empty()) {
      keep(plan, "base fails", "", "");
      return;
    }
    if (wanted.results.back().empty()) wanted.feeds.pop_back();
    ++mutated_;
    std::vector<PlanGraph> graphs = plan.graphs;
    for (std::size_t n = 0; n < mistakes_of_a_base && done_ < options_.count; ++n) {
      auto kind = static_cast<std::size_t>(turn_++ % mistake_names.size());
      if (turn_ % 4 != 0)
        for (std::size_t k = 0; k < counts_.size(); ++k)
          if (counts_[k].mutants < counts_[kind].mutants) kind = k;
      mutate_once(plan, static_cast<Mistake>(kind), random, wanted);
      plan.graphs = graphs;
    }
  }

  void mutate_once(Plan& plan, Mistake kind, Random& random, const Wanted& wanted) {
    MeaningCount& count = counts_[static_cast<std::size_t>(kind)];
    std::optional<std::string> what = mistake(plan, kind, random);
    if (!what) return;
    if (find_violation(plan) || find_unsafe(plan)) {
      ++count.no_plan;
      return;
    }
    Outcome found = outcome(plan, wanted);
    if (found == Outcome::failed) {
      ++count.fails;
      return;
    }
    MeaningReport report = compare_meaning(plan);
    auto verdict = static_cast<std::size_t>(report.verdict);
    if (found == Outcome::equal) {
      ++count.same_bits;
      ++count.same_bits_verdicts[verdict];
      return;
    }
    ++done_;
    ++count.mutants;
    ++count.verdicts[verdict];
    if (report.verdict == Verdict::same)
      keep(plan, fmt::format("certified {}", mistake_names[static_cast<std::size_t>(kind)]), *what,
           report.message);
    if (report.verdict == Verdict::undecided) ++undecided_[report.message.substr(0, 60)];
  }

  void keep(const Plan& plan, const std::string& cause, const std::string& what,
            const std::string& message) {
    std::size_t number = ++kept_[cause];
    if (options_.keep.empty() || number > most_written) return;
    std::string file = cause;
    std::ranges::replace(file, ' ', '-');
    std::filesystem::create_directories(options_.keep);
    write_file(fmt::format("{}/{}-{}.plan", options_.keep, file, number),
               fmt::format("# {}\n# {}\n{}", what, message, to_text(plan)));
  }

  void progress() const {
    if (isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r{} of {} mutants, {} bases  ", done_, options_.count, bases_);
  }

  int report() const {
    fmt::print("{:<20}{:>9}{:>11}{:>11}{:>11}{:>11}{:>11}{:>10}{:>8}\n", "kind", "mutants",
               "certified", "different", "undecided", "same bits", "certified", "no plan", "fails");
    std::uint64_t certified = 0, missing = 0;
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      const MeaningCount& c = counts_[k];
      fmt::print("{:<20}{:>9}{:>11}{:>11}{:>11}{:>11}{:>11}{:>10}{:>8}\n", mistake_names[k],
                 c.mutants, c.verdicts[0], c.verdicts[1], c.verdicts[2], c.same_bits,
                 c.same_bits_verdicts[0], c.no_plan, c.fails);
      certified += c.verdicts[0];
      missing += c.mutants == 0;
    }
    fmt::print("\n{} plans without a mistake, {} of them small enough to make one\n", bases_,
               mutated_);
    std::array<std::uint64_t, 3> all{};
    for (const auto& [family, v] : base_verdicts_) {
      fmt::print("{:<16}{:>7} certified{:>7} different{:>7} undecided\n", family, v[0], v[1], v[2]);
      for (std::size_t k = 0; k < all.size(); ++k) all[k] += v[k];
    }
    for (const auto& [cause, n] : kept_) fmt::print("wrong: {:<40}{:>7}\n", cause, n);
    for (const auto& [message, n] : undecided_) fmt::print("undecided: {:<62}{:>7}\n", message, n);
    int missed = 0;
    auto bar = [&](bool good, const std::string& text) {
      fmt::print("{}: {}\n", good ? "ok" : "FAILED", text);
      missed += !good;
    };
    bar(certified == 0, fmt::format("{} plans that give other bits certified", certified));
    bar(all[1] + all[2] == 0,
        fmt::format("{} of {} plans without a mistake not certified", all[1] + all[2], bases_));
    bar(missing == 0 || options_.count < 300, fmt::format("{} kinds without a mutant", missing));
    return missed == 0 ? 0 : 1;
  }

  const MutantOptions& options_;
  const PassTable table_ = standard_passes();
  std::string passes_;
  std::array<MeaningCount, mistake_names.size()> counts_{};
  std::map<std::string, std::array<std::uint64_t, 3>> base_verdicts_;
  std::map<std::string, std::size_t> kept_, undecided_;
  std::uint64_t done_ = 0, turn_ = 0, bases_ = 0, mutated_ = 0;
};

}  // namespace

int judge_meanings(const MutantOptions& options) { return MeaningTrial(options).run(); }

}  // namespace hocket::testing

#include "safety.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>

#include "bases.h"
#include "hocket/base/file.h"
#include "hocket/check/check.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"
#include "mutate.h"
#include "oracle.h"
#include "support/random_families.h"

namespace hocket::testing {
namespace {

constexpr std::size_t mutants_of_a_base = 56;
constexpr std::uint64_t least_of_a_kind = 20;  // of 100 mutants of an even share: a bar of --count
constexpr std::uint64_t compared = 16;         // one mutant in so many is judged twice
constexpr std::size_t most_kept = 8;           // plans of one kind and cause

/// Rules of verify_plan that the oracle judges as well. A plan that breaks another one is no plan.
constexpr std::string_view shared_rules[] = {"in-flight", "carried", "transfers", "alignment",
                                             "arena"};

bool is_a_plan(const std::optional<PlanViolation>& v) {
  return !v || std::ranges::find(shared_rules, v->rule) != std::end(shared_rules);
}

struct Refusal {
  std::string rule, message;
};

/// What a plan must pass before it runs: the verifier, then the checker, which trusts the verifier.
std::optional<Refusal> refuse(const Plan& plan, const std::optional<PlanViolation>& v, bool total) {
  if (v) return Refusal{fmt::format("verify {}", v->rule), describe(plan, *v)};
  auto r = find_unsafe(plan, total ? LaunchOrder::total : LaunchOrder::per_group);
  if (!r) return std::nullopt;
  Refusal out{std::string(r->rule), r->message};
  for (const std::string& line : r->example) out.message += "\n#   " + line;
  return out;
}

struct Count {
  std::uint64_t mutants = 0, harmful = 0, accepted_harmful = 0, refused_harmless = 0;
  std::uint64_t no_plan = 0, too_large = 0;
  Count& operator+=(const Count& o) {
    mutants += o.mutants, harmful += o.harmful;
    accepted_harmful += o.accepted_harmful, refused_harmless += o.refused_harmless;
    no_plan += o.no_plan, too_large += o.too_large;
    return *this;
  }
};

class Trial {
 public:
  explicit Trial(const MutantOptions& options) : options_(options) {}

  int run() {
    for (std::uint64_t b = 0; done_ < options_.count; ++b) {
      Random random = random_at(options_.seed, b);
      std::optional<Base> base = random_base(random, chance(random, 95));
      if (!base) continue;
      std::string harm;
      bool large = false;
      std::array<bool, 2> usable{};
      for (bool total : {false, true}) {
        Judgement j = judge(base->plan, {.total = total});
        large = large || j.too_large;
        usable[total] = !j.too_large && j.harm.empty();
        if (!total) harm = j.harm;
        if (!usable[total]) continue;
        if (auto r = refuse(base->plan, find_violation(base->plan), total)) {
          usable[total] = false;
          if (++refused_bases_ <= most_kept)
            keep(*base, "base refused", fmt::format("{}: {}", r->rule, r->message), "", total);
        }
      }
      ++drawn_bases_;
      if (large) ++large_bases_;
      if (!harm.empty() && ++harmful_bases_ <= most_kept)
        keep(*base, "base harmful", "", harm, false);
      if (!usable[0]) continue;
      ++bases_;
      count_features(base->plan);
      mutate_base(*base, random, usable[1]);
      progress();
    }
    return report();
  }

 private:
  void count_features(const Plan& plan) {
    bool carried = false, sends = false, bucket = false, groups = false, slots = false;
    for (const PlanGraph& g : plan.graphs) {
      carried = carried || g.carried_transfers > 0;
      groups = groups || g.groups.size() > 1;
      for (const Home& home : g.homes) slots = slots || home.slot > 0;
      for (const PlanPhase& p : g.phases)
        for (const Instruction& i : p.instructions) {
          if (i.kind != InstructionKind::start) continue;
          sends = sends || i.op->collective->point_to_point;
          bucket = bucket || i.operands > 1;
        }
    }
    features_["several graphs"] += plan.graphs.size() > 1;
    features_["3 ranks"] += plan.program.world->ranks() == 3;
    features_["a loop with delays"] += plan.shape.depth > 0;
    features_["carried transfers"] += carried;
    features_["several turns"] += plan.shape.turns > 1;
    features_["several slots"] += slots;
    features_["sends"] += sends;
    features_["members"] += bucket;
    features_["several groups"] += groups;
  }

  void mutate_base(Base& base, Random& random, bool total_is_safe) {
    std::vector<PlanGraph> graphs = base.plan.graphs;
    for (std::size_t n = 0; n < mutants_of_a_base && done_ < options_.count; ++n) {
      auto kind = fewest();
      bool total = total_is_safe && chance(random, 50);
      mutate_once(base, static_cast<Mutation>(kind), random, total);
      base.plan.graphs = graphs;
    }
  }

  /// Kinds take turns; one that does not fit a base catches up in the next.
  std::size_t fewest() {
    std::size_t best = turn_++ % counts_.size();
    if (turn_ % 2 == 0)
      for (std::size_t k = 0; k < counts_.size(); ++k)
        if (counts_[k].mutants < counts_[best].mutants) best = k;
    return best;
  }

  void mutate_once(Base& base, Mutation kind, Random& random, bool total) {
    Count& count = counts_[static_cast<std::size_t>(kind)];
    Plan& plan = base.plan;
    std::optional<std::string> what = mutate(plan, kind, random);
    if (!what) return;
    std::optional<PlanViolation> violation = find_violation(plan);
    if (!is_a_plan(violation)) {
      ++count.no_plan;
      return;
    }
    Judgement j = judge(plan, {.total = total});
    if (j.too_large) {
      ++count.too_large;
      return;
    }
    ++done_;
    ++count.mutants;
    if (done_ % compared == 0) compare(base, *what, j, total);
    totals_ += total;
    states_ += j.states;
    std::optional<Refusal> r = refuse(plan, violation, total);
    bool harmful = !j.harm.empty();
    if (harmful) {
      ++count.harmful;
      ++harms_[j.harm.substr(0, j.harm.find(':'))];
    }
    if (r) ++rules_[r->rule][harmful];
    if (harmful && !r) {
      ++count.accepted_harmful;
      keep(base, fmt::format("accepted {}", j.harm.substr(0, j.harm.find(':'))), *what, j.harm,
           total);
    } else if (!harmful && r) {
      ++count.refused_harmless;
      keep(base, fmt::format("refused {}", r->rule),
           fmt::format("{}\n# checker: {}", *what, r->message), "", total);
    }
  }

  /// The oracle itself: with an event for each action it finds the same.
  void compare(const Base& base, const std::string& what, const Judgement& j, bool total) {
    Judgement fine = judge(base.plan, {.total = total, .every_action = true});
    if (fine.too_large) return;
    ++compared_;
    if (fine.harm.empty() == j.harm.empty()) return;
    ++oracle_differs_;
    keep(base, "oracle differs", what, j.harm + " / " + fine.harm, total);
  }

  void keep(const Base& base, const std::string& cause, const std::string& what,
            const std::string& harm, bool total) {
    std::size_t number = ++kept_[cause];
    if (options_.keep.empty() || number > most_kept) return;
    std::string file = cause;
    for (char& c : file)
      if (c == ' ') c = '-';
    std::filesystem::create_directories(options_.keep);
    write_file(fmt::format("{}/{}-{}.plan", options_.keep, file, number),
               fmt::format("# base: {}\n# mutant: {}\n# oracle, {}: {}\n{}", base.name, what,
                           total ? "total" : "per group", harm.empty() ? "harmless" : harm,
                           to_text(base.plan)));
  }

  void progress() const {
    if (isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r{} of {} mutants, {} bases  ", done_, options_.count, bases_);
  }

  int report() const {
    fmt::print("{:<20}{:>9}{:>9}{:>19}{:>18}{:>10}{:>11}\n", "kind", "mutants", "harmful",
               "harmful, accepted", "harmless, refused", "no plan", "too large");
    Count all;
    auto line = [](std::string_view name, const Count& c) {
      fmt::print("{:<20}{:>9}{:>9}{:>19}{:>18}{:>10}{:>11}\n", name, c.mutants, c.harmful,
                 c.accepted_harmful, c.refused_harmless, c.no_plan, c.too_large);
    };
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      line(mutation_names[k], counts_[k]);
      all += counts_[k];
    }
    line("all", all);
    fmt::print(
        "\n{} bases of {} drawn: {} too large, {} harmful, {} refused; {} mutants under a "
        "total order; {:.0f} states on average\n",
        bases_, drawn_bases_, large_bases_, harmful_bases_, refused_bases_, totals_,
        static_cast<double>(states_) / static_cast<double>(std::max<std::uint64_t>(1, done_)));
    for (const auto& [feature, n] : features_) fmt::print("bases with {:<20}{:>7}\n", feature, n);
    for (const auto& [harm, n] : harms_) fmt::print("harm {:<20}{:>9}\n", harm, n);
    for (const auto& [rule, n] : rules_)
      fmt::print("rule {:<20}{:>9} harmful{:>9} harmless\n", rule, n[1], n[0]);
    for (const auto& [cause, n] : kept_) fmt::print("wrong: {:<30}{:>9}\n", cause, n);
    return verdict(all);
  }

  int verdict(const Count& all) const {
    int missed = 0;
    auto bar = [&](bool good, const std::string& text) {
      fmt::print("{}: {}\n", good ? "ok" : "FAILED", text);
      missed += !good;
    };
    std::uint64_t harmless = all.mutants - all.harmful;
    bar(all.accepted_harmful == 0, fmt::format("{} harmful plans accepted", all.accepted_harmful));
    bar(all.refused_harmless * 100 < std::max<std::uint64_t>(200, harmless),  // one of a few may be
        fmt::format("{} of {} harmless plans refused, wanted fewer than 1 %", all.refused_harmless,
                    harmless));
    bar(refused_bases_ + harmful_bases_ == 0,
        fmt::format("{} plans without a mistake refused, {} harmful", refused_bases_,
                    harmful_bases_));
    bar(oracle_differs_ == 0, fmt::format("{} of {} plans judged otherwise with an event for each "
                                          "instruction",
                                          oracle_differs_, compared_));
    bar(all.harmful * 100 >= all.mutants * 30, fmt::format("{} harmful, wanted 30 %", all.harmful));
    for (std::size_t k = 0; k < counts_.size(); ++k)
      if (counts_[k].mutants * least_of_a_kind < options_.count)
        bar(false, fmt::format("{}: {} mutants, wanted a {}th of all", mutation_names[k],
                               counts_[k].mutants, least_of_a_kind));
    return missed == 0 ? 0 : 1;
  }

  const MutantOptions& options_;
  std::array<Count, mutation_names.size()> counts_{};
  std::map<std::string, std::size_t> kept_, features_;
  std::map<std::string, std::uint64_t> harms_;
  std::map<std::string, std::array<std::uint64_t, 2>> rules_;
  std::uint64_t done_ = 0, turn_ = 0, totals_ = 0, states_ = 0;
  std::uint64_t bases_ = 0, drawn_bases_ = 0, large_bases_ = 0, harmful_bases_ = 0,
                refused_bases_ = 0, compared_ = 0, oracle_differs_ = 0;
};

}  // namespace

int judge_mutants(const MutantOptions& options) { return Trial(options).run(); }

}  // namespace hocket::testing

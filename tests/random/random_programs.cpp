// Random programs of all families are compiled by random lists of passes and run, on threads and by
// the interpreter, with drains. Their digest must be that of the original program in the
// interpreter. `random_programs --programs N --seed S --lists L --only FAMILY` tries more of them.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "hocket/ir/print.h"
#include "support/digests.h"
#include "support/pass_choices.h"
#include "support/random_families.h"

namespace hocket::testing {
namespace {

struct Options {
  std::uint64_t programs = 800, seed = 1, lists = 2;
  std::string_view only = "";
};

/// Combinations of passes that random lists rarely contain.
constexpr std::string_view lists[] = {
    "default",
    "default,cross-iteration:delay=all",
    "default,shard-optimizer,cross-iteration:delay=all",
    "split-collectives:part=12,raise-collectives,sink-waits",
    "bucket-collectives:first=16:cap=64,split-optimizer:by=parameter,fuse-optimizer,"
    "shard-optimizer,cross-iteration:delay=all,fold,common-nodes,dead-nodes,sink-waits",
    "cross-iteration:delay=all,sink-waits,expedite-collectives,fuse-optimizer",
};

DigestOptions random_run(Random& random, const PassTable& table, std::int64_t iterations) {
  DigestOptions how{.table = table, .iterations = iterations};
  how.passes = chance(random, 40) ? std::string(lists[below(random, std::size(lists))])
                                  : to_text(random_list(random, table, 8, Tensors::tiny));
  how.comm = chance(random, 80) ? "in_process" : "in_order";
  if (iterations > 1 && chance(random, 40))
    how.drain_after = {
        1 + static_cast<std::int64_t>(below(random, static_cast<std::size_t>(iterations)))};
  return how;
}

struct Count {
  int programs = 0, failures = 0;
};

void check(const Options& options, const PassTable& table, std::uint64_t index, Count& count) {
  Random random = random_at(options.seed, index);
  RandomCase drawn = random_case(random, index);
  auto iterations = 1 + static_cast<std::int64_t>(below(random, 5));
  DigestOptions plainly{.table = table, .iterations = iterations, .inputs = index};
  std::string wanted = digest(drawn.reference, plainly);
  for (std::uint64_t l = 0; l <= options.lists; ++l) {
    DigestOptions how = random_run(random, table, iterations);
    if (l == 0) how.passes = "none";
    how.inputs = index;
    std::string found = digest(drawn.program, how);
    if (found == wanted && !wanted.starts_with("error")) continue;
    ++count.failures;
    fmt::print("FAILED: {} {}: {} --passes '{}': {}, wanted {}\n{}", family_at(index).name, index,
               how.comm, how.passes, found, wanted, to_text(drawn.program));
  }
}

/// Checks that the comparison detects a pass that drops an update.
bool notices_a_wrong_pass(std::uint64_t seed, std::uint64_t index) {
  PassTable table;
  table.add(make_pass({.name = "forget", .doc = "a state keeps its value"}, [](Graph& g) {
    for (const Input& in : g.inputs())
      if (in.state && in.kind != StateKind::forwarded && g.next(in.value))
        g.set_next(in.value, in.value);
  }));
  Random random = random_at(seed, index);
  Program program = random_case(random, index).program;
  DigestOptions plainly{.table = table, .inputs = index}, wrong = plainly;
  wrong.passes = "forget";
  wrong.certify = false;  // which would notice it
  return digest(program, wrong) != digest(program, plainly);
}

int run(const Options& options) {
  const PassTable table = standard_passes();
  std::map<std::string_view, Count> counts;
  int failures = 0;
  for (std::uint64_t i = 0; i < options.programs && failures < 5; ++i) {
    std::string_view family = family_at(i).name;
    if (family.find(options.only) == family.npos) continue;
    Count& count = counts[family];
    ++count.programs;
    int before = count.failures;
    check(options, table, i, count);
    failures += count.failures - before;
  }
  for (const auto& [family, count] : counts)
    fmt::print("{:<16}{:>6} programs, {} failures\n", family, count.programs, count.failures);
  if (counts.empty()) fmt::print("FAILED: no family has '{}' in its name\n", options.only);
  std::size_t noticed = 0;
  for (std::uint64_t i = 0; i < random_families().size(); ++i)
    for (std::uint64_t turn = 0; turn < 4; ++turn)  // a program may have no update
      if (notices_a_wrong_pass(options.seed, i + turn * random_families().size())) {
        ++noticed;
        break;
      }
  bool all_noticed = noticed == random_families().size();
  if (!all_noticed) fmt::print("FAILED: a wrong pass was not noticed in a family\n");
  return failures == 0 && !counts.empty() && all_noticed ? 0 : 1;
}

}  // namespace
}  // namespace hocket::testing

int main(int argc, char** argv) {
  hocket::testing::Options options;
  for (int i = 1; i < argc; i += 2) {
    std::string_view key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    auto read = [&](std::uint64_t& target) {
      return std::from_chars(value.data(), value.data() + value.size(), target).ec == std::errc{};
    };
    bool good = key == "--programs" ? read(options.programs)
                : key == "--seed"   ? read(options.seed)
                : key == "--lists"  ? read(options.lists)
                                    : key == "--only";
    if (!good) {
      fmt::print(stderr,
                 "usage: random_programs [--programs N] [--seed S] [--lists L] [--only FAMILY]\n");
      return 2;
    }
    if (key == "--only") options.only = value;
  }
  return hocket::testing::run(options);
}

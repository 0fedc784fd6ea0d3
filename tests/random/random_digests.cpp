// Prints digests of the results of random programs, to compare two builds of the library:
//   random_digests --seed S --programs N [--passes LIST]
// Each line is `FAMILY INDEX DIGEST`; lines are ordered by index and depend only on the arguments.
// Each program is compiled by a random list of passes (or by LIST) and run on threads for a few
// iterations. If that fails, `error: ...` replaces the digest.

#include <fmt/core.h>

#include <charconv>
#include <cstdio>

#include "support/digests.h"
#include "support/pass_choices.h"
#include "support/random_families.h"

namespace hocket::testing {
namespace {

struct Options {
  std::uint64_t seed = 1, programs = 100;
  std::string passes;  // empty: a random list for each program
};

std::string digest_of(const Options& options, const PassTable& table, std::uint64_t index) {
  try {
    Random random = random_at(options.seed, index);
    RandomCase drawn = random_case(random, index);
    DigestOptions how{.table = table, .comm = "in_process", .inputs = index};
    how.passes = to_text(random_list(random, table, 8, Tensors::tiny));
    how.iterations = 1 + static_cast<std::int64_t>(below(random, 4));
    if (how.iterations > 1 && chance(random, 50)) how.drain_after = {1};
    if (!options.passes.empty()) how.passes = options.passes;
    return digest(drawn.program, how);
  } catch (const std::exception& e) {  // thrown while the program was made
    return fmt::format("error: {}", e.what());
  }
}

void print_digest(const Options& options, const PassTable& table, std::uint64_t index) {
  std::string text = digest_of(options, table, index);
  fmt::print("{} {} {}\n", family_at(index).name, index, text.substr(0, text.find('\n')));
  std::fflush(stdout);  // so that a crash loses no earlier line
}

int run(const Options& options) {
  const PassTable table = standard_passes();
  for (std::uint64_t i = 0; i < options.programs; ++i) print_digest(options, table, i);
  return 0;
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
    bool good = key == "--seed"       ? read(options.seed)
                : key == "--programs" ? read(options.programs)
                                      : key == "--passes" && !value.empty();
    if (!good) {
      fmt::print(stderr, "usage: random_digests [--seed S] [--programs N] [--passes LIST]\n");
      return 2;
    }
    if (key == "--passes") options.passes = value;
  }
  return hocket::testing::run(options);
}

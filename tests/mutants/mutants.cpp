// Makes small mistakes in plans. What an oracle finds harmful, the checker must refuse:
// `mutants --count N --seed S --keep DIR`. With --meaning the mistakes leave the plan safe, and no
// plan that gives other bits may be certified.

#include <fmt/core.h>

#include <charconv>
#include <string_view>

#include "meaning.h"
#include "safety.h"

int main(int argc, char** argv) {
  hocket::testing::MutantOptions options;
  bool meaning = false;
  for (int i = 1; i < argc; i += 2) {
    std::string_view key = argv[i];
    if (key == "--meaning") {
      meaning = true;
      --i;
      continue;
    }
    std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    auto read = [&](std::uint64_t& target) {
      return std::from_chars(value.data(), value.data() + value.size(), target).ec == std::errc{};
    };
    bool good = key == "--count"  ? read(options.count)
                : key == "--seed" ? read(options.seed)
                                  : key == "--keep" && !value.empty();
    if (!good) {
      fmt::print(stderr, "usage: mutants [--meaning] [--count N] [--seed S] [--keep DIR]\n");
      return 2;
    }
    if (key == "--keep") options.keep = value;
  }
  return meaning ? hocket::testing::judge_meanings(options)
                 : hocket::testing::judge_mutants(options);
}

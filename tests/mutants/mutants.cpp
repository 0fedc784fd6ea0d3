// Makes small mistakes in plans. What an oracle finds harmful, the checker must refuse:
// `mutants --count N --seed S --keep DIR`.

#include <fmt/core.h>

#include <charconv>
#include <string_view>

#include "safety.h"

int main(int argc, char** argv) {
  hocket::testing::MutantOptions options;
  for (int i = 1; i < argc; i += 2) {
    std::string_view key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    auto read = [&](std::uint64_t& target) {
      return std::from_chars(value.data(), value.data() + value.size(), target).ec == std::errc{};
    };
    bool good = key == "--count"  ? read(options.count)
                : key == "--seed" ? read(options.seed)
                                  : key == "--keep" && !value.empty();
    if (!good) {
      fmt::print(stderr, "usage: mutants [--count N] [--seed S] [--keep DIR]\n");
      return 2;
    }
    if (key == "--keep") options.keep = value;
  }
  return hocket::testing::judge_mutants(options);
}

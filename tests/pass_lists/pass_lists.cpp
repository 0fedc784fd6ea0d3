// Random lists of passes that keep bits, on every step with values: whatever the table allows must
// leave the digest of `--passes none`. `pass_lists --lists N --seed S --only TEXT` tries more of
// them, or some sources.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <random>
#include <string_view>

#include "hocket/driver/run.h"
#include "support/pass_choices.h"
#include "support/random.h"
#include "support/sources.h"

namespace hocket::testing {
namespace {

struct Options {
  std::uint64_t lists = 10, seed = 1;
  std::string_view only = "";
};

constexpr std::int64_t iterations = 2;  // the second reads what the first has left
constexpr std::size_t most_passes = 8;

RunReport run_with(const Step& step, const std::string& passes) {
  RunOptions options;
  options.compile.passes = passes;
  options.iterations = iterations;
  return run(step, options);
}

int run_source(const std::string& source, const PassTable& table, const Options& options,
               std::map<std::string, int>& changes) {
  Step step = load_step(source);
  std::string wanted = run_with(step, "none").digest;
  int failures = 0;
  for (std::uint64_t i = 0; i < options.lists; ++i) {
    // The lists differ from source to source, and each can be had again by itself.
    std::string key = fmt::format("{} {} {}", source_name(source), options.seed, i);
    std::seed_seq seed(key.begin(), key.end());
    Random random(seed);
    std::string passes = to_text(random_list(random, table, most_passes));
    std::string fault;
    try {
      RunReport report = run_with(step, passes);
      for (const PassReport& pass : report.compiled.passes)
        if (pass.changed) ++changes[pass.pass];
      if (report.digest != wanted)
        fault = fmt::format("digest {}, without passes {}", report.digest, wanted);
    } catch (const std::exception& e) {
      fault = e.what();
    }
    if (fault.empty()) continue;
    ++failures;
    fmt::print("FAILED: {}\n  hocket run {} --iters {} --passes '{}'\n", fault, source, iterations,
               passes);
  }
  fmt::print("{:<32}{:>5} lists, {} failures\n", source_name(source), options.lists, failures);
  return failures;
}

/// A pass that drops an update must not go unnoticed.
bool notices_a_wrong_pass() {
  Step step = load_step(sources().front());
  RunOptions options;
  options.compile.table.add(
      make_pass({.name = "forget", .doc = "a state keeps its value"}, [](Graph& g) {
        for (const Input& in : g.inputs())
          if (in.state) return g.set_next(in.value, in.value);
      }));
  options.compile.passes = "forget";
  options.certify = false;  // which would notice it
  options.iterations = iterations;
  return run(step, options).digest != run_with(step, "none").digest;
}

int run_all(const Options& options) {
  const PassTable table = standard_passes();
  std::map<std::string, int> changes;
  int failures = 0, tried = 0;
  for (const std::string& source : sources()) {
    if (source_name(source).find(options.only) == std::string::npos) continue;
    failures += run_source(source, table, options, changes);
    ++tried;
  }
  for (const auto& [pass, count] : changes) fmt::print("{:<24}changed {} steps\n", pass, count);
  if (tried == 0) fmt::print("FAILED: no source has '{}' in its name\n", options.only);
  bool notices = notices_a_wrong_pass();
  if (!notices) fmt::print("FAILED: a wrong pass was not noticed\n");
  return failures == 0 && tried > 0 && notices ? 0 : 1;
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
    bool good = key == "--lists"  ? read(options.lists)
                : key == "--seed" ? read(options.seed)
                                  : key == "--only";
    if (!good) {
      fmt::print(stderr, "usage: pass_lists [--lists N] [--seed S] [--only TEXT]\n");
      return 2;
    }
    if (key == "--only") options.only = value;
  }
  return hocket::testing::run_all(options);
}

#include "fuzz.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "child.h"
#include "hocket/base/file.h"
#include "mutate.h"

namespace hocket::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string program;
  std::string file;
  std::uint64_t runs = 0;
  std::uint64_t seed = 1;
};

/// The input under test, where the parent finds it when the child is gone.
struct Shared {
  std::atomic<std::uint64_t> run{0};
  std::atomic<bool> finished{false};
  std::size_t size = 0;
  char* bytes;  // behind this record; fork leaves it at the same address
};

Shared* share(std::size_t largest) {
  void* memory = mmap(nullptr, sizeof(Shared) + largest, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map shared memory");
  return new (memory) Shared{.bytes = static_cast<char*>(memory) + sizeof(Shared)};
}

/// A message without what differs between two cases of one behaviour: numbers, names, quoted text.
std::string shape_of(std::string_view line) {
  auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ',';
  };
  std::string shape;
  for (std::size_t i = 0; i < line.size() && shape.size() < 200; ++i) {
    char c = line[i];
    if (c == '%' || std::isdigit(static_cast<unsigned char>(c)) != 0) {
      shape += c == '%' ? '%' : '0';
      while (i + 1 < line.size() && is_name(line[i + 1])) ++i;
    } else if (c == '"' || c == '\'') {
      shape += c;
      for (++i; i < line.size() && line[i] != c; ++i) i += line[i] == '\\' ? 1 : 0;
    } else {
      shape += c;
    }
  }
  return shape;
}

/// Runs the target on bytes of exactly the input's length, so that a sanitizer sees one read too
/// far. The message of a failure, empty when all is well.
std::string attempt(const Target& target, std::string_view input, Outcome& outcome) {
  auto bytes = std::make_unique<char[]>(input.size());
  std::copy(input.begin(), input.end(), bytes.get());
  try {
    outcome = target({bytes.get(), input.size()});
    return "";
  } catch (const std::exception& e) {
    return *e.what() == '\0' ? "an exception without a message" : e.what();
  } catch (...) {
    return "something thrown that is no std::exception";
  }
}

std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
  return 0;
}

void report_failure(const Arguments& arguments, std::uint64_t run, std::string_view input,
                    std::string_view what) {
  std::string program = std::filesystem::path(arguments.program).filename().string();
  std::string file = fmt::format("{}-{}-{}.txt", program, arguments.seed, run);
  write_file(file, input);
  fmt::print(stderr, "FAILED: run {}: {}\nreplay: {} --file {}\n", run, what, arguments.program,
             std::filesystem::absolute(file).string());
}

/// The child: mutates, runs, keeps what is new, collects failures of different shapes.
class Worker {
 public:
  Worker(const Reader& reader, const Arguments& arguments, Shared& shared)
      : reader_(reader), arguments_(arguments), shared_(shared), random_(arguments.seed) {}

  bool work() {
    auto start = Clock::now();
    for (const std::string& text : reader_.corpus) run(text.substr(0, reader_.largest_size), true);
    if (accepted_.empty() && refused_.empty()) return report(seconds_since(start));  // all failed
    while (run_ < arguments_.runs && failures_.size() < most_failures) run(next_input(), false);
    return report(seconds_since(start));
  }

 private:
  static constexpr std::size_t most_failures = 20;
  static constexpr std::size_t most_kept = 3000;

  std::string next_input() {
    // What is accepted leads deeper than what is refused, but both lead somewhere.
    const auto& others = accepted_.empty() ? refused_ : accepted_;
    const auto& pool = refused_.empty() || !random_.one_in(4) ? others : refused_;
    std::string text = random_.pick(pool);
    mutate(text, {others, reader_.dictionary}, random_);
    std::size_t limit = random_.one_in(256) ? reader_.largest_size : reader_.usual_size;
    if (text.size() > limit) text.resize(limit);
    return text;
  }

  /// Runs the target after leaving the input where the parent finds it.
  std::string guarded(std::string_view input, Outcome& outcome) {
    std::copy(input.begin(), input.end(), shared_.bytes);
    shared_.size = input.size();
    ++shared_.run;
    return attempt(reader_.target, input, outcome);
  }

  void run(std::string input, bool keep) {
    ++run_;
    Outcome outcome;
    std::clock_t start = std::clock();  // processor time: whoever else runs here does not count
    std::string failure = guarded(input, outcome);
    slowest_ = std::max(slowest_, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    if (!failure.empty()) return note_failure(std::move(input), failure);
    accepted_runs_ += outcome.accepted ? 1 : 0;
    if (is_new(outcome.behaviour) || keep)
      remember(outcome.accepted ? accepted_ : refused_, std::move(input));
  }

  bool is_new(std::string_view behaviour) {
    bool news = false;
    while (!behaviour.empty()) {
      std::size_t end = std::min(behaviour.find('\n'), behaviour.size());
      news |= seen_.insert(std::hash<std::string>{}(shape_of(behaviour.substr(0, end)))).second;
      behaviour.remove_prefix(std::min(end + 1, behaviour.size()));
    }
    return news;
  }

  void remember(std::vector<std::string>& pool, std::string input) {
    if (pool.size() < most_kept)
      pool.push_back(std::move(input));
    else
      random_.pick(pool) = std::move(input);
  }

  void note_failure(std::string input, const std::string& message) {
    std::string shape = shape_of(message);
    if (!failures_.insert(shape).second) return;
    Outcome ignored;
    input = minimised(std::move(input), [&](const std::string& smaller) {
      return shape_of(guarded(smaller, ignored)) == shape;
    });
    report_failure(arguments_, run_, input, guarded(input, ignored));
  }

  bool report(double seconds) const {
    double runs = static_cast<double>(run_);
    std::size_t peak = peak_bytes();
    fmt::print(
        "{} runs, seed {}: {:.0f}/s, {:.1f} % accepted, {} behaviours, slowest {:.1f} ms, "
        "peak {} MB, {} failures\n",
        run_, arguments_.seed, runs / seconds, 100 * static_cast<double>(accepted_runs_) / runs,
        seen_.size(), slowest_ * 1e3, peak >> 20, failures_.size());
    bool too_much = !sanitized() && peak > reader_.memory_limit;
    if (too_much) fmt::print(stderr, "FAILED: more than {} MB\n", reader_.memory_limit >> 20);
    return failures_.empty() && !too_much;
  }

  const Reader& reader_;
  const Arguments& arguments_;
  Shared& shared_;
  Random random_;
  std::vector<std::string> accepted_, refused_;  // the corpus and what was kept
  std::unordered_set<std::size_t> seen_;         // hashes of the shapes of behaviours
  std::unordered_set<std::string> failures_;
  std::uint64_t run_ = 0, accepted_runs_ = 0;
  double slowest_ = 0;
};

/// True when the target does not survive the input.
bool crashes(const Reader& reader, Shared& shared, const std::string& input) {
  shared.finished = false;
  auto work = [&] {
    Outcome ignored;
    attempt(reader.target, input, ignored);
    shared.finished = true;
    return 0;
  };
  ChildEnd end = run_child(
      work, {.bytes = reader.memory_limit, .seconds = reader.seconds_per_input, .quiet = true});
  return !end.hung && !shared.finished;
}

int fuzz(const Reader& reader, const Arguments& arguments) {
  Shared& shared = *share(reader.largest_size);
  auto work = [&] {
    bool good = Worker(reader, arguments, shared).work();
    shared.finished = true;
    return good ? 0 : 1;
  };
  ChildEnd end = run_child(
      work,
      {.bytes = reader.memory_limit, .seconds = reader.seconds_per_input, .progress = &shared.run});
  if (shared.finished) return end.code;
  std::string what = describe(end), input(shared.bytes, shared.size);
  std::uint64_t run = shared.run;
  auto still = [&](const std::string& smaller) { return crashes(reader, shared, smaller); };
  if (!end.hung && still(input))
    input = minimised(std::move(input), still, 1000);
  else if (!end.hung)
    what += ", but not by this input alone";
  report_failure(arguments, run, input, what);
  return 1;
}

int replay(const Reader& reader, const std::string& file) {
  Outcome outcome;
  std::string input = read_file(file);
  auto start = Clock::now();
  std::string failure = attempt(reader.target, input, outcome);
  fmt::print("{}: {} in {:.3f} s, peak {} MB\n", file,
             !failure.empty()   ? "FAILED"
             : outcome.accepted ? "accepted"
                                : "refused",
             seconds_since(start), peak_bytes() >> 20);
  fmt::print("{}\n", failure.empty() ? outcome.behaviour : failure);
  return failure.empty() ? 0 : 1;
}

bool read_number(std::string_view text, std::uint64_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_arguments(int argc, char** argv, Arguments& arguments) {
  arguments.program = argv[0];
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view key = argv[i], value = argv[i + 1];
    if (key == "--file")
      arguments.file = value;
    else if (!(key == "--runs" && read_number(value, arguments.runs)) &&
             !(key == "--seed" && read_number(value, arguments.seed)))
      return false;
  }
  return argc % 2 == 1;
}

}  // namespace

std::vector<std::string> read_corpus(const std::string& folder, std::string_view extension) {
  std::vector<std::string> paths, texts;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().extension() == extension)
        paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) texts.push_back(read_file(path));
  return texts;
}

int fuzz_main(int argc, char** argv, Reader reader) {
  Arguments arguments{.runs = reader.runs};
  if (!read_arguments(argc, argv, arguments)) {
    fmt::print(stderr, "usage: {} [--runs N] [--seed S] [--file F]\n", argv[0]);
    return 2;
  }
  try {
    return arguments.file.empty() ? fuzz(reader, arguments) : replay(reader, arguments.file);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
}

}  // namespace hocket::fuzz

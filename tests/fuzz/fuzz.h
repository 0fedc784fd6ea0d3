#pragma once
// A small mutation fuzzer for readers of untrusted bytes. A reader brings a corpus, a dictionary
// and a function that looks at one input; `fuzz_main` is the rest of its program.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::fuzz {

/// What became of an input that was treated rightly.
struct Outcome {
  bool accepted = false;
  /// What happened, in a line or several. An input with a line whose shape (numbers, names and
  /// quoted text aside) is new is kept and mutated further; without lines there is no such guide.
  std::string behaviour = {};
};

/// Looks at one input; whatever it throws is a failure.
using Target = std::function<Outcome(std::string_view)>;

struct Reader {
  std::vector<std::string> corpus;      ///< not empty
  std::vector<std::string> dictionary;  ///< words of the format
  Target target;
  std::uint64_t runs = 100'000;
  std::size_t usual_size = 4 << 10;      ///< most inputs are at most this long
  std::size_t largest_size = 64 << 10;   ///< one in a few hundred may be this long
  std::size_t memory_limit = 256 << 20;  ///< of the whole process, in bytes
  int seconds_per_input = 20;            ///< an input that takes longer is a failure
};

/// Runs the reader on mutated inputs: `--runs N --seed S`, or on the bytes of one file: `--file F`.
/// The inputs are a function of corpus and seed. The work is done in a child process, so that a
/// crash, a hang and a memory blow-up are found like any failure: the input, made smaller where
/// that is possible, is written to a file in the current folder, and a line says how to replay it.
/// Returns the exit code: 0 when nothing failed.
int fuzz_main(int argc, char** argv, Reader reader);

/// All texts of the files with this extension in a folder and below, in the order of their paths.
std::vector<std::string> read_corpus(const std::string& folder, std::string_view extension);

}  // namespace hocket::fuzz

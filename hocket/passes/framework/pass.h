#pragma once
// What a pass is: a row with a name, rules about order, options, and a function.

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/ir/program.h"

namespace hocket {

/// Whether results keep every bit.
enum class Bits : std::uint8_t { same, changes };

/// A number of bytes; written plain or with KiB, MiB, GiB.
struct Bytes {
  std::int64_t count = 0;
  friend bool operator==(Bytes, Bytes) = default;
};

struct NoOptions {};

/// The description of an option in the pass table.
struct OptionRow {
  std::string name;
  std::string kind;      ///< `int`, `size`, `bool` or `text`
  std::string fallback;  ///< the default as text
  std::string doc;
  std::vector<std::string> values = {};  ///< all that a text may be; empty: anything
  Bits bits = Bits::same;                ///< whether another value than the default changes bits
};

using OptionTexts = std::vector<std::pair<std::string, std::string>>;  ///< key, value

struct PassInfo {
  std::string name;
  std::string doc;
  std::vector<std::string> needs = {};  ///< passes that must have been applied before
  std::vector<std::string> after = {};  ///< passes that, if applied at all, must come before
  bool once = false;                    ///< at most once per program
  /// The pass moves work to other iterations, so that outputs and state of the body may lag more
  /// than before.
  bool retimes = false;
  Bits bits = Bits::same;
  /// Path, without extension, of the golden file that shows the pass in the documents. Empty:
  /// NAME/example.
  std::string example = {};
};

struct Pass : PassInfo {
  std::vector<OptionRow> options = {};
  /// Runs on one graph; the runner calls it for each graph of the program.
  std::function<void(Graph&, const OptionTexts&)> on_graph = nullptr;
  /// Runs on the whole program, where ranks must agree; used when `on_graph` is not set.
  std::function<void(Program&, const OptionTexts&)> on_program = nullptr;

  /// Whether results keep every bit with these options.
  Bits bits_with(const OptionTexts& texts) const;
};

/// An option: a member of the options struct and its key in the text. The default is the
/// initialiser of the member.
template <class Options>
struct Option {
  std::string name;
  std::variant<std::int64_t Options::*, bool Options::*, std::string Options::*, Bytes Options::*>
      member;
  std::string doc;
  std::vector<std::string> values = {};  ///< all that a text may be; empty: anything
  Bits bits = Bits::same;                ///< whether another value than the default changes bits
};

namespace option_text {
void read(std::string_view text, std::int64_t& value);
void read(std::string_view text, bool& value);
void read(std::string_view text, std::string& value);
void read(std::string_view text, Bytes& value);
std::string write(std::int64_t value);
std::string write(bool value);
std::string write(const std::string& value);
std::string write(Bytes value);
std::string_view kind(std::int64_t);
std::string_view kind(bool);
std::string_view kind(const std::string&);
std::string_view kind(Bytes);
[[noreturn]] void unknown_key(std::string_view key, std::span<const std::string_view> known);
/// Error if `values` is not empty and `text` is none of them.
void require_one_of(std::string_view text, std::span<const std::string> values);
[[noreturn]] void bad_value(std::string_view key, std::string_view why);
}  // namespace option_text

/// Converts texts into an options struct; throws Error for unknown keys and bad values.
template <class Options>
Options read_options(const std::vector<Option<Options>>& list, const OptionTexts& texts) {
  Options result{};
  for (const auto& [key, text] : texts) {
    const Option<Options>* found = nullptr;
    std::vector<std::string_view> known;
    for (const auto& option : list) {
      known.push_back(option.name);
      if (option.name == key) found = &option;
    }
    if (found == nullptr) option_text::unknown_key(key, known);
    if constexpr (!std::is_empty_v<Options>) try {
        option_text::require_one_of(text, found->values);
        std::visit([&, value = &text](auto member) { option_text::read(*value, result.*member); },
                   found->member);
      } catch (const Error& e) {
        option_text::bad_value(key, e.what());
      }
  }
  return result;
}

/// Makes a row from a function and its options. A new pass needs nothing else.
template <class Target, class Options>
requires std::same_as<Target, Graph> || std::same_as<Target, Program> Pass
make_pass(PassInfo info, void (*function)(Target&, const Options&),
          std::type_identity_t<std::vector<Option<Options>>> options = {}) {
  Pass pass{std::move(info)};
  Options defaults{};
  if constexpr (!std::is_empty_v<Options>)
    for (const auto& o : options)
      std::visit(
          [&](auto member) {
            pass.options.push_back({o.name, std::string(option_text::kind(defaults.*member)),
                                    option_text::write(defaults.*member), o.doc, o.values, o.bits});
          },
          o.member);
  auto run = [function, options = std::move(options)](Target& target, const OptionTexts& texts) {
    function(target, read_options(options, texts));
  };
  if constexpr (std::same_as<Target, Graph>)
    pass.on_graph = std::move(run);
  else
    pass.on_program = std::move(run);
  return pass;
}

/// The same for a pass without options: any function of a Graph or a Program.
Pass make_pass(PassInfo info, std::function<void(Graph&)> function);
Pass make_program_pass(PassInfo info, std::function<void(Program&)> function);

}  // namespace hocket

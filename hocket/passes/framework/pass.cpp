#include "hocket/passes/framework/pass.h"

#include <algorithm>
#include <charconv>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket {
namespace option_text {
namespace {

constexpr std::pair<std::string_view, std::int64_t> units[] = {
    {"GiB", std::int64_t{1} << 30}, {"MiB", std::int64_t{1} << 20}, {"KiB", std::int64_t{1} << 10}};

}  // namespace

void read(std::string_view text, std::int64_t& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail("found '{}', wanted an int", text);
}

void read(std::string_view text, bool& value) {
  if (text != "true" && text != "false") fail("found '{}', wanted true or false", text);
  value = text == "true";
}

void read(std::string_view text, std::string& value) { value = text; }

void read(std::string_view text, Bytes& value) {
  std::string_view digits = text;
  std::int64_t unit = 1;
  for (auto [name, size] : units) {
    if (!text.ends_with(name)) continue;
    unit = size;
    digits.remove_suffix(name.size());
  }
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value.count);
  bool whole = error == std::errc{} && end == digits.data() + digits.size() && value.count >= 0;
  if (!whole || __builtin_mul_overflow(value.count, unit, &value.count))
    fail("found '{}', wanted a size such as 65536, 64KiB or 25MiB", text);
}

std::string write(std::int64_t value) { return fmt::format("{}", value); }
std::string write(bool value) { return value ? "true" : "false"; }
std::string write(const std::string& value) { return value; }
std::string write(Bytes value) {
  for (auto [name, size] : units)
    if (value.count > 0 && value.count % size == 0)
      return fmt::format("{}{}", value.count / size, name);
  return fmt::format("{}", value.count);
}

std::string_view kind(std::int64_t) { return "int"; }
std::string_view kind(bool) { return "bool"; }
std::string_view kind(const std::string&) { return "text"; }
std::string_view kind(Bytes) { return "size"; }

void unknown_key(std::string_view key, std::span<const std::string_view> known) {
  fail("unknown option '{}'{}", key, known.empty() ? "; it has none" : nearest_hint(key, known));
}

void require_one_of(std::string_view text, std::span<const std::string> values) {
  if (values.empty() || std::ranges::find(values, text) != values.end()) return;
  std::string wanted;
  for (std::size_t i = 0; i < values.size(); ++i)
    wanted += fmt::format("{}{}", i == 0 ? "" : i + 1 < values.size() ? ", " : " or ", values[i]);
  fail("found '{}', wanted {}", text, wanted);
}

void bad_value(std::string_view key, std::string_view why) { fail("option '{}': {}", key, why); }

}  // namespace option_text

namespace {

void require_no_options(const OptionTexts& texts) {
  if (!texts.empty()) option_text::unknown_key(texts[0].first, {});
}

}  // namespace

Bits Pass::bits_with(const OptionTexts& texts) const {
  for (const auto& text : texts) {
    auto row = std::ranges::find(options, text.first, &OptionRow::name);
    if (row != options.end() && row->bits == Bits::changes && row->fallback != text.second)
      return Bits::changes;
  }
  return bits;
}

Pass make_pass(PassInfo info, std::function<void(Graph&)> function) {
  Pass pass{std::move(info)};
  pass.on_graph = [function = std::move(function)](Graph& g, const OptionTexts& texts) {
    require_no_options(texts);
    function(g);
  };
  return pass;
}

Pass make_program_pass(PassInfo info, std::function<void(Program&)> function) {
  Pass pass{std::move(info)};
  pass.on_program = [function = std::move(function)](Program& p, const OptionTexts& texts) {
    require_no_options(texts);
    function(p);
  };
  return pass;
}

}  // namespace hocket

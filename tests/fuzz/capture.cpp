// Fuzzes the reader of captures, and with it that of JSON: it refuses with one line that names a
// place, or gives a sound source.

#include "hocket/frontend/formats/capture.h"

#include "fuzz.h"
#include "hocket/base/error.h"
#include "hocket/frontend/formats/json.h"
#include "require.h"
#include "support/source_check.h"

namespace hocket::fuzz {
namespace {

/// Two parsers agree on what is JSON.
void compare_parsers(std::string_view text) {
  std::string fault = frontend::json_fault(text), message;
  try {
    frontend::JsonDocument::parse(text, "fuzz");
  } catch (const Error& e) {
    message = e.what();
  }
  if (message.ends_with("stands there twice")) message = "";  // no matter of grammar
  require(fault.empty() == message.empty(),
          fmt::format("one finds '{}', the other '{}'", quoted(fault), quoted(message)));
}

Outcome check(std::string_view text) {
  compare_parsers(text);
  try {
    frontend::Source source = frontend::read_capture(text, "fuzz");
    must("the source", [&] { testing::require_sound(source); });
    return {true, testing::features(source)};
  } catch (const Error& e) {
    require_one_line(e.what(), "fuzz: ");
    return {false, e.what()};
  }
}

std::vector<std::string> dictionary() {
  std::vector<std::string> words{"\"node\":",
                                 "\"float\":",
                                 "\"dtype\":",
                                 "\"device\":",
                                 "\"layout\":",
                                 "\"slice\":",
                                 "\"dict\":",
                                 "\"memory_format\":",
                                 "\"args\":",
                                 "\"kwargs\":",
                                 "\"meta\":",
                                 "\"shape\":",
                                 "\"stride\":",
                                 "\"kind\":",
                                 "\"fqn\":",
                                 "\"constants\":",
                                 "\"groups\":",
                                 "\"nodes\":",
                                 "\"op\":",
                                 "\"name\":",
                                 "\"placeholder\"",
                                 "\"get_attr\"",
                                 "\"call_function\"",
                                 "\"output\"",
                                 "\"call_module\"",
                                 "\"parameter\"",
                                 "\"buffer\"",
                                 "\"input\"",
                                 "\"inf\"",
                                 "\"nan\"",
                                 "null",
                                 "true",
                                 "false",
                                 "-1",
                                 "1.5",
                                 "1e999",
                                 "1e-400",
                                 "-0",
                                 "9223372036854775808",
                                 "18446744073709551616",
                                 "\\u0000",
                                 "\\ud83d\\ude00",
                                 "\\ud800",
                                 "\xff",
                                 "\xc3\xa4",
                                 "{}",
                                 "[]",
                                 "[[",
                                 "]]",
                                 "{\"node\":\"x\"}",
                                 "\"complex64\"",
                                 ",",
                                 ":"};
  for (const char* dtype : {"float64", "float32", "bfloat16", "float16", "int64", "int32", "int16",
                            "int8", "uint8", "bool"})
    words.push_back(fmt::format("\"{}\"", dtype));
  return words;
}

}  // namespace
}  // namespace hocket::fuzz

int main(int argc, char** argv) {
  using namespace hocket::fuzz;
  auto corpus = read_corpus(HOCKET_SOURCE_DIR "/tests/fuzz/capture", ".json");
  return fuzz_main(argc, argv, {.corpus = corpus, .dictionary = dictionary(), .target = check});
}

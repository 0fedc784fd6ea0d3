// Fuzzes the reader of zip archives: whatever the bytes, it refuses with one line, or lists entries
// each of which can be read or is refused with one line.

#include "hocket/frontend/formats/archive.h"

#include "fuzz.h"
#include "hocket/base/error.h"
#include "require.h"
#include "support/zip.h"

namespace hocket::fuzz {
namespace {

using frontend::Archive;
using testing::make_zip;
using testing::zip_of_text;

Outcome check(std::string_view input) {
  // A text is packed here: its names and contents get through, which a checksum else forbids.
  std::string bytes = input.starts_with("=== ") ? zip_of_text(input) : std::string(input);
  std::string seen;
  try {
    Archive archive = Archive::parse(std::move(bytes), "fuzz");
    must("an entry", [&] {
      for (const Archive::Entry& entry : archive.entries()) {
        require(archive.contains(entry.name), "an entry that is not there");
        try {
          std::string content = archive.read(entry.name, 1 << 20);
          require(content.size() == entry.size, "an entry of another size");
          seen += entry.size > 0 ? "full\n" : "empty\n";
        } catch (const Error& e) {
          require_one_line(e.what(), "fuzz: ");
          // Without the name, which says nothing.
          std::string_view message = e.what();
          seen += fmt::format("{}\n", message.substr(message.rfind(": ")));
        }
      }
    });
    return {true, fmt::format("{} entries\n{}", archive.entries().size(), seen)};
  } catch (const Error& e) {
    require_one_line(e.what(), "fuzz: ");
    return {false, e.what()};
  }
}

std::vector<std::string> corpus() {
  const std::string packed(
      "\xed\xc4\xa1\x0d\x00\x00\x08\x03\xb0\x6b\x49\x26\x96\xf0\xbf\xe3\x0a\x5c\x2b\x9a\x69\x37"
      "\x92\x24\x49\x92\x24\x49\x92\x3e\x3b",
      31);
  std::string hello;
  for (int i = 0; i < 1000; ++i) hello += "hello";
  return {
      make_zip({}),
      make_zip({{"a", "content"}}),
      make_zip({{"top/", ""}, {"top/a", "content"}, {"top/b/c", "more", 8}}),
      make_zip({{.name = "x", .content = hello, .method = 8, .packed = packed}}),
      make_zip({{"encrypted", "content", 0, 1}}),
      make_zip({{"streamed", "content", 8, 8}}),
      make_zip({{"unicode", "content", 0, 0x800}}),
      make_zip({{.name = "bomb", .content = "x", .method = 8, .size = 0xfffffffe}}),
      make_zip({{.name = "big", .content = "x", .size = 0xffffffff, .packed_size = 0xffffffff}}),
      make_zip({{"a", "1"}, {.name = "b", .content = "2", .offset = 0}}),
      "=== a\ncontent\n=== b/c deflated\nmore\n=== d\n"};
}

}  // namespace
}  // namespace hocket::fuzz

int main(int argc, char** argv) {
  using namespace hocket::fuzz;
  std::vector<std::string> words{"PK\1\2",
                                 "PK\3\4",
                                 "PK\5\6",
                                 "PK\6\6",
                                 "PK\6\7",
                                 "PK\7\x8",
                                 "=== ",
                                 "\n=== ",
                                 " deflated\n",
                                 "../",
                                 "/",
                                 "\\",
                                 "..",
                                 std::string(4, '\0'),
                                 std::string(4, '\xff'),
                                 std::string(8, '\xff'),
                                 std::string("\1\0", 2),
                                 std::string("\x8\0", 2),
                                 std::string("\1\0\x10\0", 4)};
  return fuzz_main(argc, argv, {.corpus = corpus(), .dictionary = words, .target = check});
}

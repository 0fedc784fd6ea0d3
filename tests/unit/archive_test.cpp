#include "hocket/frontend/formats/archive.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "hocket/base/file.h"
#include "support/message.h"
#include "support/zip.h"

namespace hocket::frontend {
namespace {

using testing::make_zip;
using testing::message_of;
using testing::ZipEntry;

std::string archive_refusal(const std::string& bytes) {
  return message_of([&] { Archive::parse(bytes, "a.zip"); });
}
std::string read_refusal(const std::string& bytes, std::uint64_t limit = 1 << 20) {
  return message_of([&] { Archive::parse(bytes, "a.zip").read("x", limit); });
}

TEST(Archive, ReadsStoredAndDeflatedEntries) {
  std::string large(200'000, 'x');
  std::string bytes = make_zip({{"top/a", "content"},
                                {"top/", ""},
                                {"top/b c", large, 8},
                                {"\xc3\xa4", std::string("\0\1", 2)},
                                {"top/a.b..c", ""}});
  auto check = [&](const Archive& archive) {
    ASSERT_EQ(archive.entries().size(), 5u);
    EXPECT_EQ(archive.entries()[0].name, "top/a");
    EXPECT_EQ(archive.entries()[0].size, 7u);
    EXPECT_EQ(archive.read("top/a", 7), "content");
    EXPECT_EQ(archive.read("top/b c", 1 << 20), large);
    EXPECT_EQ(archive.read("top/a", 100), "content");
    EXPECT_EQ(archive.read("\xc3\xa4", 2), std::string("\0\1", 2));
    EXPECT_TRUE(archive.contains("top/"));
    EXPECT_FALSE(archive.contains("a"));
  };
  check(Archive::parse(bytes, "a.zip"));
  std::string path = ::testing::TempDir() + "hocket_archive.zip";
  write_file(path, bytes);
  Archive archive = Archive::open(path);
  check(archive);
  Archive moved = std::move(archive);
  check(moved);
  EXPECT_EQ(moved.place("top/a\n"), path + ": top/a\\n");
  std::filesystem::remove(path);
  EXPECT_EQ(message_of([&] { Archive::open(path); }),
            path + ": cannot be read: No such file or directory");
}

TEST(Archive, ReadsWhatIsTrulyCompressed) {
  const std::string packed(
      "\xed\xc4\xa1\x0d\x00\x00\x08\x03\xb0\x6b\x49\x26\x96\xf0\xbf\xe3\x0a\x5c\x2b\x9a\x69\x37"
      "\x92\x24\x49\x92\x24\x49\x92\x3e\x3b",
      31);
  std::string content;
  for (int i = 0; i < 1000; ++i) content += "hello";
  std::string bytes = make_zip({{.name = "x", .content = content, .method = 8, .packed = packed}});
  EXPECT_EQ(Archive::parse(bytes, "a.zip").read("x", 5000), content);
  EXPECT_NE(read_refusal(make_zip(
                {{.name = "x", .content = content.substr(1), .method = 8, .packed = packed}})),
            "");
  EXPECT_NE(read_refusal(make_zip(
                {{.name = "x", .content = content, .method = 8, .packed = packed.substr(0, 30)}})),
            "");
}

TEST(Archive, RefusesWhatIsNoArchive) {
  EXPECT_EQ(archive_refusal(""), "a.zip: empty, wanted a zip archive");
  EXPECT_EQ(archive_refusal("hello world, this is no archive at all"),
            "a.zip: cannot be read as a zip archive: not a zip archive");
  std::string whole = make_zip({{"a", "content"}, {"b", "more", 8}});
  EXPECT_EQ(archive_refusal(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(archive_refusal(whole.substr(0, size)), "") << size;
}

TEST(Archive, RefusesNamesThatAreUsedTwiceOrLeadOutside) {
  EXPECT_NE(archive_refusal(make_zip({{"x", "1"}, {"x", "2"}})), "");
  for (const char* name : {"/etc/passwd", "../x", "a/../../x", "a/..", ".."})
    EXPECT_EQ(archive_refusal(make_zip({{name, ""}})),
              "a.zip: entry '" + std::string(name) + "': wanted a name within the archive");
  EXPECT_EQ(archive_refusal(make_zip({{"a\\b", ""}})),
            "a.zip: entry 'a\\\\b': wanted a name within the archive");
  EXPECT_NE(archive_refusal(make_zip({{"", "1"}})), "");
}

TEST(Archive, RefusesEncryptedEntries) {
  EXPECT_EQ(archive_refusal(make_zip({{"x", "1", 0, 1}})), "a.zip: entry 'x' is encrypted");
}

TEST(Archive, RefusesBombs) {
  // 40 entries that say they hold 4 GB each.
  std::vector<ZipEntry> entries;
  for (int i = 0; i < 40; ++i)
    entries.push_back({.name = std::to_string(i), .content = "x", .method = 8, .size = 0xfffffffe});
  EXPECT_EQ(archive_refusal(make_zip(entries)).substr(0, 21), "a.zip: expands from 3");
  EXPECT_EQ(read_refusal(make_zip({{"x", "12345"}}), 4), "a.zip: x: 5 bytes, wanted at most 4");
  // Many entries over the same bytes.
  std::vector<ZipEntry> same{{.name = "x", .content = std::string(1 << 16, '\0')}};
  for (int i = 0; i < 100; ++i)
    same.push_back({.name = std::to_string(i),
                    .content = "",
                    .size = 1 << 16,
                    .packed_size = 1 << 16,
                    .offset = 0});
  EXPECT_NE(archive_refusal(make_zip(same)), "");
}

TEST(Archive, RefusesContentThatIsNotWhatTheDirectorySays) {
  EXPECT_EQ(read_refusal(make_zip({{"y", "1"}})), "a.zip: no entry 'x'");
  EXPECT_EQ(read_refusal(make_zip({{.name = "x", .content = "12", .crc = 7}})),
            "a.zip: x: CRC error");
  EXPECT_NE(read_refusal(make_zip({{.name = "x", .content = "12", .method = 8, .size = 1}})), "");
  EXPECT_NE(read_refusal(make_zip({{.name = "x", .content = "12", .method = 8, .size = 100}})), "");
  EXPECT_NE(read_refusal(make_zip({{.name = "x", .content = "12", .size = 1}})), "");
  EXPECT_NE(read_refusal(make_zip({{.name = "x", .content = "12", .size = 100}})), "");
  EXPECT_EQ(read_refusal(make_zip({{"x", "12", 12}})),
            "a.zip: x: compression method 12, wanted stored or deflated");
  std::string bytes = make_zip({{"x", "some content", 8}});
  bytes[35] = '\x77';  // no deflate data
  EXPECT_NE(read_refusal(bytes), "");
}

}  // namespace
}  // namespace hocket::frontend

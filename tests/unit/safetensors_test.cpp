#include "hocket/frontend/formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "hocket/base/file.h"
#include "hocket/base/mapped_file.h"
#include "support/message.h"

namespace hocket {
namespace {

using testing::message_of;
namespace fs = std::filesystem;

std::string temporary(const std::string& name) { return ::testing::TempDir() + "hocket_" + name; }

std::string file_of(const std::string& header, const std::string& data = "") {
  std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}
std::string refusal(const std::string& bytes) {
  return message_of([&] { Safetensors::parse(bytes, "t.st"); });
}
std::string refusal(const std::string& header, std::size_t data) {
  return refusal(file_of(header, std::string(data, '\0')));
}
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(MappedFile, ShowsTheBytesOfAFile) {
  std::string path = temporary("mapped");
  write_file(path, "some bytes");
  MappedFile file(path), other = std::move(file);
  EXPECT_EQ(other.bytes(), "some bytes");
  EXPECT_EQ(file.bytes(), "");  // NOLINT(bugprone-use-after-move): it is empty then
  write_file(path, "");
  EXPECT_EQ(MappedFile(path).bytes(), "");
  fs::remove(path);
  EXPECT_EQ(message_of([&] { MappedFile{path}; }),
            path + ": cannot be read: No such file or directory");
  EXPECT_EQ(message_of([&] { MappedFile{"/"}; }), "/: is a folder, wanted a file");
  EXPECT_EQ(message_of([&] { MappedFile{"/dev/null"}; }), "/dev/null: is no regular file");
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  std::map<std::string, Tensor, std::less<>> tensors;
  for (const DTypeRow& row : dtype_rows()) {
    Tensor t(Type{.dtype = *find_dtype(row.name), .shape = {3}});
    for (std::byte& b : t.bytes()) b = std::byte{1};
    tensors.emplace(row.name, t);
  }
  tensors.emplace("empty", Tensor(Type{.shape = {0, 7}}));
  tensors.emplace("\u00e4 \"quoted\"\n", Tensor(Type{.dtype = DType::i8}));
  tensors.at("\u00e4 \"quoted\"\n").as<char>()[0] = 5;
  std::string path = temporary("all.safetensors");
  write_safetensors(path, tensors);
  std::string bytes = read_file(path);
  EXPECT_EQ(bytes.find('\0', 8), std::string::npos);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  Safetensors file = Safetensors::open(path);
  EXPECT_EQ(file.types().size(), tensors.size());
  for (const auto& [name, tensor] : tensors)
    EXPECT_TRUE(same_bits(file.load(name), tensor)) << name;
  EXPECT_FALSE(file.contains("x"));
  EXPECT_EQ(message_of([&] { file.load("x\ny"); }), path + ": no tensor 'x\\ny'");
  write_safetensors(path, tensors);
  EXPECT_EQ(read_file(path), bytes);
  fs::remove(path);
  EXPECT_EQ(message_of([] { Safetensors().load("x"); }), "no file: no tensor 'x'");
  Tensor t(Type{});
  EXPECT_NE(message_of([&] { write_safetensors(path, {{"__metadata__", t}}); }), "");
  EXPECT_NE(message_of([&] { write_safetensors(path, {{"\xff", t}}); }), "");
  EXPECT_FALSE(fs::exists(path));
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"},\"b\":" + entry("I16", "[]", "[4,6]") +
      ",\"a\":" + entry("F32", "[1,1]", "[0,4]") + ",\"e\":" + entry("F32", "[0]", "[4,4]") +
      "}      ";
  Safetensors file = Safetensors::parse(file_of(header, {"\0\0\x80\x3f\x07\0", 6}), "t.st");
  EXPECT_EQ(file.types().size(), 3u);
  EXPECT_EQ(file.load("a").as<float>()[0], 1.0f);
  EXPECT_EQ(file.load("b").as<std::int16_t>()[0], 7);
  EXPECT_EQ(file.load("e").bytes().size(), 0u);
  EXPECT_EQ(Safetensors::parse(file_of("{}"), "t.st").types().size(), 0u);
}

TEST(Safetensors, RefusesDamagedFiles) {
  EXPECT_EQ(refusal(""), "t.st: 0 bytes, wanted at least 8 for a safetensors file");
  EXPECT_EQ(refusal(std::string(8, '\xff')),
            "t.st: a header of 18446744073709551615 bytes, wanted at most 100000000; is it a "
            "safetensors file?");
  EXPECT_EQ(refusal(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            "t.st: a header of 16 bytes, but only 2 follow");
  EXPECT_EQ(refusal("", 0), "t.st: header: ends after 0 bytes, wanted a value");
  EXPECT_EQ(refusal("[]", 0), "t.st: header: a list, wanted an object");
  EXPECT_EQ(refusal(std::string(1000, '['), 0), "t.st: header: byte 128: nested deeper than 128");
  EXPECT_EQ(refusal("{\"w\":3}", 0), "t.st: header: w: an integer, wanted an object");
  EXPECT_EQ(refusal("{\"__metadata__\":{\"a\":1}}", 0),
            "t.st: header: __metadata__.a: an integer, wanted a string");
  EXPECT_EQ(refusal("{}", 4), "t.st: bytes 0 to 4 of the data belong to no tensor");
  std::string whole =
      file_of("{\"w\":" + entry("F32", "[4]", "[0,16]") + "}", std::string(16, 'x'));
  EXPECT_EQ(refusal(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
}

TEST(Safetensors, RefusesHostileEntries) {
  auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return refusal("{\"w\":" + entry(dtype, shape, offsets) + "}", 96);
  };
  EXPECT_EQ(one("F32", "[4,4]", "[0,96]"),
            "t.st: tensor 'w': bytes 0 to 96, wanted 64 for f32[4,4]");
  EXPECT_EQ(one("F32", "[4,6]", "[0,96]"), "");
  EXPECT_EQ(one("F32", "[100]", "[0,400]"),
            "t.st: tensor 'w': bytes 0 to 400, but the data ends at 96");
  EXPECT_EQ(one("F32", "[1]", "[9223372036854775803,9223372036854775807]"),
            "t.st: tensor 'w': bytes 9223372036854775803 to 9223372036854775807, but the data ends "
            "at 96");
  EXPECT_EQ(one("F32", "[1]", "[8,4]"), "t.st: tensor 'w': bytes 8 to 4, wanted a range");
  EXPECT_EQ(one("F32", "[1]", "[-4,0]"), "t.st: tensor 'w': bytes -4 to 0, wanted a range");
  EXPECT_EQ(one("F32", "[1]", "[18446744073709551612,18446744073709551616]").substr(0, 20),
            "t.st: header: byte 6");
  EXPECT_EQ(one("F32", "[1]", "[0]"), "t.st: tensor 'w': data_offsets that are no pair");
  EXPECT_EQ(one("F32", "[1]", "[0,4,4]"), "t.st: tensor 'w': data_offsets that are no pair");
  EXPECT_EQ(one("F32", "[-24]", "[0,96]"), "t.st: header: w.shape[0]: -24, wanted 0 or more");
  EXPECT_EQ(one("F32", "[4294967296,4294967296]", "[0,0]"),
            "t.st: header: w.shape: [4294967296,4294967296] is too large");
  EXPECT_EQ(one("F32", "[1.5]", "[0,4]"), "t.st: header: w.shape[0]: a number, wanted an integer");
  EXPECT_EQ(one("C64", "[12]", "[0,96]"),
            "t.st: tensor 'w': dtype 'C64', wanted F64, F32, BF16, F16, I64, I32, I16, I8, U8 or "
            "BOOL");
  EXPECT_EQ(one("f32", "[24]", "[0,96]").substr(0, 30), "t.st: tensor 'w': dtype 'f32',");
  EXPECT_EQ(refusal("{\"w\":{\"dtype\":\"F32\",\"shape\":[]}}", 4),
            "t.st: header: w: no key 'data_offsets'");
}

TEST(Safetensors, EveryByteHasOneOwner) {
  auto two = [](const std::string& a, const std::string& b) {
    return refusal("{\"a\":" + entry("U8", "[4]", a) + ",\"b\":" + entry("U8", "[4]", b) + "}", 8);
  };
  EXPECT_EQ(two("[0,4]", "[4,8]"), "");
  EXPECT_EQ(two("[4,8]", "[0,4]"), "");
  EXPECT_EQ(two("[0,4]", "[2,6]"), "t.st: tensor 'b': bytes 2 to 6 overlap those of 'a'");
  EXPECT_EQ(two("[0,4]", "[0,4]"), "t.st: tensor 'b': bytes 0 to 4 overlap those of 'a'");
  EXPECT_EQ(refusal("{\"a\":" + entry("U8", "[4]", "[2,6]") + "}", 6),
            "t.st: bytes 0 to 2 of the data belong to no tensor");
  EXPECT_EQ(refusal("{\"a\":" + entry("U8", "[4]", "[0,4]") + "}", 6),
            "t.st: bytes 4 to 6 of the data belong to no tensor");
  EXPECT_EQ(refusal("{\"a\":" + entry("U8", "[0]", "[0,0]") +
                        ",\"a\":" + entry("U8", "[]", "[0,1]") + "}",
                    1),
            "t.st: header: key 'a' stands there twice");
}

TEST(Safetensors, ABoolIsZeroOrOne) {
  std::string header = "{\"m\":" + entry("BOOL", "[3]", "[0,3]") + "}";
  EXPECT_EQ(refusal(file_of(header, {"\0\1\0", 3})), "");
  EXPECT_EQ(refusal(file_of(header, {"\0\1\2", 3})),
            "t.st: tensor 'm': byte 2 is 2, wanted 0 or 1 for a bool");
  EXPECT_EQ(refusal(file_of(header, {"\0\xff\2", 3})),
            "t.st: tensor 'm': byte 1 is 255, wanted 0 or 1 for a bool");
}

TEST(Safetensors, ReadsTheRecordedFiles) {
  int found = 0;
  for (const auto& file : fs::recursive_directory_iterator(HOCKET_DATA)) {
    if (file.path().extension() != ".safetensors") continue;
    Safetensors tensors = Safetensors::open(file.path());
    for (const auto& [name, type] : tensors.types()) EXPECT_EQ(tensors.load(name).type(), type);
    ++found;
  }
  EXPECT_GT(found, 0) << "no data in " HOCKET_DATA;
}

}  // namespace
}  // namespace hocket

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include "hocket/base/dtype.h"
#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/float16.h"
#include "hocket/base/not_copied.h"
#include "hocket/base/small_vector.h"
#include "hocket/base/text.h"
#include "hocket/base/texts.h"

namespace hocket {
namespace {

TEST(DType, EveryRowIsFoundByItsName) {
  EXPECT_EQ(dtype_rows().size(), 10u);
  for (std::size_t i = 0; i < dtype_rows().size(); ++i)
    EXPECT_EQ(find_dtype(dtype_rows()[i].name), static_cast<DType>(i));
  EXPECT_FALSE(find_dtype("f8"));
  EXPECT_EQ(bytes(DType::bf16), 2);
  EXPECT_EQ(row(DType::bf16).compute, DType::f32);
  EXPECT_EQ(row(DType::i8).accumulate, DType::i64);
  EXPECT_EQ(row(DType::u8).highest, 255);
}

TEST(Float16, EveryHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto h = static_cast<std::uint16_t>(bits);
    float f = f16_to_float(h), b = bf16_to_float(h);
    if (std::isnan(f))
      EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(f)))) << bits;
    else
      EXPECT_EQ(float_to_f16(f), h) << bits;
    if (std::isnan(b))
      EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(b)))) << bits;
    else
      EXPECT_EQ(float_to_bf16(b), h) << bits;
  }
}

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(float_to_f16(1.0f + 0x1p-11f), 0x3c00);      // tie, down to even
  EXPECT_EQ(float_to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie, up to even
  EXPECT_EQ(float_to_f16(1.0f + 0x1.8p-11f), 0x3c01);
  EXPECT_EQ(float_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(float_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0f), 0x7c00);  // rounds to infinity
  EXPECT_EQ(float_to_f16(0x1p-24f), 1);
  EXPECT_EQ(float_to_f16(0x1p-25f), 0);  // tie, down to even
  EXPECT_EQ(float_to_f16(0x1.8p-25f), 1);
  EXPECT_EQ(float_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(float_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(float_to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

std::string number(double v) {
  std::string out;
  append_number(out, v);
  return out;
}

TEST(Text, FloatsAreShortAndNeverLookLikeInts) {
  EXPECT_EQ(number(1), "1.0");
  EXPECT_EQ(number(-0.0), "-0.0");
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(number(std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0)), "-nan");
}

TEST(Text, QuotesWhatNeedsIt) {
  EXPECT_EQ(quoted("a\"b\\c\n\x01"), R"("a\"b\\c\n\x01")");
  EXPECT_EQ(quoted("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
}

TEST(Text, NearestWord) {
  std::vector<std::string_view> words{"relu", "matmul", "all_reduce"};
  EXPECT_EQ(nearest("reluu", words), "relu");
  EXPECT_EQ(nearest("mamtul", words), "matmul");
  EXPECT_EQ(nearest("xyz", words), "");
  EXPECT_EQ(nearest_hint("allreduce", words), "; nearest is 'all_reduce'");
  EXPECT_EQ(nearest_hint("q", words), "");
}

TEST(SmallVector, GrowsMovesAndCopies) {
  SmallVector<int, 2> v{1, 2};
  SmallVector<int, 2> small = v;
  for (int i = 3; i < 100; ++i) v.push_back(i);
  SmallVector<int, 2> copy = v;
  SmallVector<int, 2> moved = std::move(v);
  EXPECT_EQ(copy, moved);
  EXPECT_EQ(moved.size(), 99u);
  EXPECT_TRUE(v.empty());  // NOLINT(bugprone-use-after-move): moved-from is empty by contract
  moved.erase(moved.begin());
  moved.insert(moved.begin() + 1, 77);
  EXPECT_EQ(moved[0], 2);
  EXPECT_EQ(moved[1], 77);
  EXPECT_EQ(moved[2], 3);
  moved = small;
  EXPECT_EQ(moved, small);
  SmallVector<int, 2>& self = moved;
  moved = self;
  EXPECT_EQ(moved, small);
}

TEST(NotCopied, IsMovedButACopyStartsWithout) {
  NotCopied<int> one;
  one.value = 1;
  NotCopied<int> copy = one, other;
  other.value = 2;
  EXPECT_EQ(copy.value, 0);
  other = one;
  EXPECT_EQ(other.value, 0);
  NotCopied<int> moved = std::move(one);
  EXPECT_EQ(moved.value, 1);
  EXPECT_EQ(one.value, 0);  // NOLINT(bugprone-use-after-move): that is the promise
  other = std::move(moved);
  EXPECT_EQ(other.value, 1);
}

TEST(Texts, EachHasOneNumber) {
  Texts texts;
  EXPECT_EQ(texts.find(""), Texts::none);
  EXPECT_EQ(texts.add(""), 0u);
  for (std::uint32_t round = 0; round < 2; ++round)
    for (std::uint32_t i = 1; i < 10'000; ++i)
      ASSERT_EQ(texts.add(std::string(i % 7 * 20, 'x') + std::to_string(i)), i);
  EXPECT_EQ(texts.add(std::string(1'000'000, 'y')), 10'000u);
  EXPECT_EQ(texts.size(), 10'001u);
  for (std::uint32_t i = 0; i < texts.size(); ++i) ASSERT_EQ(texts.find(texts[i]), i);
  EXPECT_EQ(texts.find("z"), Texts::none);
}

TEST(Texts, CopiesGoTheirOwnWayAndOutliveTheOriginal) {
  auto original = std::make_unique<Texts>();
  original->add("a");
  Texts copy = *original;
  EXPECT_EQ(original->add("b"), 1u);
  EXPECT_EQ(copy.add("c"), 1u);
  EXPECT_EQ((*original)[1], "b");
  Texts moved = std::move(*original);
  EXPECT_EQ(original->add("d"), 0u);  // NOLINT(bugprone-use-after-move): empty, as it says
  EXPECT_EQ(moved.add("e"), 2u);
  EXPECT_EQ(moved[1], "b");
  original.reset();
  EXPECT_EQ(copy[0], "a");
  EXPECT_EQ(copy[1], "c");
  copy = moved;
  EXPECT_EQ(copy.find("e"), 2u);
}

TEST(Text, ShowsTheEndsOfALongOne) {
  EXPECT_EQ(shortened("short"), "short");
  EXPECT_EQ(shortened(std::string(500, 'x')), std::string(500, 'x'));
  std::string text = shortened("a" + std::string(6'000'000, 'x') + "z");
  EXPECT_EQ(text, "a" + std::string(299, 'x') + "..." + std::string(199, 'x') + "z");
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "\u20ac";
  for (std::string lead : {"", "1", "12"}) EXPECT_TRUE(is_utf8(shortened(lead + wide)));
  EXPECT_LT(shortened(std::string(1000, '\x80')).size(), 510u);
}

TEST(File, WritesWholeOrNotAtAll) {
  std::string path = ::testing::TempDir() + "hocket_file_test";
  write_file(path, "one");
  write_file(path, "two");
  EXPECT_EQ(read_file(path), "two");
  EXPECT_THROW(write_file(path + "/below/a/file", "x"), Error);
  EXPECT_THROW(read_file(path + ".missing"), Error);
  EXPECT_THROW(read_file(::testing::TempDir()), Error);
}

/// An empty folder of its own for each test.
class NewFilesTest : public ::testing::Test {
 protected:
  NewFilesTest() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(::testing::TempDir()) / ("hocket_" + name);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~NewFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::ptrdiff_t count() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  std::filesystem::path folder_;
};

TEST_F(NewFilesTest, LeaveNeighboursAlone) {
  write_file(path("a.part"), "mine");
  write_file(path("a"), "one");
  EXPECT_EQ(read_file(path("a.part")), "mine");
  EXPECT_EQ(count(), 2);
  write_file(path(std::string(255, 'n')), "the longest name there is");
  EXPECT_EQ(count(), 3);
  EXPECT_THROW(write_file(path(std::string(256, 'n')), "too long"), Error);
  EXPECT_EQ(count(), 3);
}

TEST_F(NewFilesTest, HaveTheRightsOfAnyNewFile) {
  std::ofstream(path("plain")) << "x";
  write_file(path("ours"), "x");
  EXPECT_EQ(std::filesystem::status(path("ours")).permissions(),
            std::filesystem::status(path("plain")).permissions());
}

TEST_F(NewFilesTest, KeepLinks) {
  write_file(path("a"), "one");
  std::filesystem::create_directory(folder_ / "in");
  std::filesystem::create_symlink("../a", folder_ / "in/link");
  std::filesystem::create_symlink("b", folder_ / "early");
  std::filesystem::create_symlink("ring", folder_ / "ring");
  write_file(path("in/link"), "two");
  write_file(path("early"), "three");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "in/link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "early"));
  EXPECT_EQ(read_file(path("a")), "two");
  EXPECT_EQ(read_file(path("b")), "three");
  EXPECT_THROW(write_file(path("ring"), "four"), Error);
}

TEST_F(NewFilesTest, AppearTogetherOrNotAtAll) {
  write_file(path("a"), "old");
  {
    NewFiles files;
    files.write(path("a"), "new");
    files.write(path("b"), "new");
    std::filesystem::create_directory(folder_ / "b");
    EXPECT_THROW(files.publish(), Error);
    EXPECT_THROW(files.add(path("b")), Error);
  }
  EXPECT_EQ(read_file(path("a")), "old");
  EXPECT_EQ(count(), 2);
  {
    NewFiles files;
    files.write(path("a"), "new");
    files.write(path("c"), "new");
    EXPECT_EQ(read_file(path("a")), "old");
    files.publish();
  }
  EXPECT_EQ(read_file(path("a")), "new");
  EXPECT_EQ(count(), 3);
}

}  // namespace
}  // namespace hocket

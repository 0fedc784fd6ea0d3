#include "hocket/lower/place_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/driver/compile.h"
#include "hocket/driver/load.h"
#include "hocket/lower/best_fit.h"
#include "hocket/lower/lowest_fit.h"
#include "support/block_sets.h"
#include "support/random_families.h"
#include "support/sources.h"

namespace hocket {
namespace {

using testing::below;
using testing::Random;

std::int64_t rounded(const Block& b) { return (b.bytes + 63) / 64 * 64; }

bool meet(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

/// Goes through time: what comes into use touches nothing that is in use.
void expect_valid(const std::vector<Block>& blocks, const Placement& placed) {
  ASSERT_EQ(placed.offsets.size(), blocks.size());
  std::int64_t bytes = 0;
  std::multimap<std::uint64_t, std::size_t> events;  // ends are odd, so they come behind starts
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_TRUE(placed.offsets[i] >= 0 && placed.offsets[i] % 64 == 0);
    if (blocks[i].bytes == 0) continue;
    bytes = std::max(bytes, placed.offsets[i] + rounded(blocks[i]));
    events.emplace(std::uint64_t{blocks[i].first} * 2, i);
    events.emplace(std::uint64_t{blocks[i].last} * 2 + 1, i);
  }
  EXPECT_EQ(bytes, placed.bytes);
  std::map<std::int64_t, std::int64_t> used;  // from, to
  for (auto [time, i] : events) {
    std::int64_t from = placed.offsets[i], to = from + rounded(blocks[i]);
    if (time % 2 == 1) {
      used.erase(from);
      continue;
    }
    auto after = used.lower_bound(from);
    ASSERT_TRUE(after == used.end() || to <= after->first) << "block " << i;
    ASSERT_TRUE(after == used.begin() || std::prev(after)->second <= from) << "block " << i;
    used.emplace(from, to);
  }
}

double ratio(const std::vector<Block>& blocks) {
  Placement placed = place_blocks(blocks);
  expect_valid(blocks, placed);
  std::int64_t bound = live_bound(blocks);
  EXPECT_GE(placed.bytes, bound);
  return bound == 0 ? 1 : static_cast<double>(placed.bytes) / static_cast<double>(bound);
}

// ---- small sets

std::vector<Block> tiny_set(Random& random) {
  std::vector<Block> blocks(below(random, 14));
  std::size_t times = 1 + below(random, 12), sizes = 1 + below(random, 700);
  for (Block& b : blocks) {
    b.bytes = static_cast<std::int64_t>(below(random, sizes));
    b.first = static_cast<std::uint32_t>(below(random, times));
    b.last = b.first + static_cast<std::uint32_t>(below(random, times));
  }
  return blocks;
}

/// The most is in use at an instant where something comes into use.
std::int64_t most_in_use(const std::vector<Block>& blocks) {
  std::int64_t most = 0;
  for (const Block& now : blocks) {
    std::int64_t live = 0;
    for (const Block& b : blocks)
      if (b.first <= now.first && now.first <= b.last) live += rounded(b);
    most = std::max(most, live);
  }
  return most;
}

TEST(PlaceBlocks, BlocksInUseAtOnceShareNoBytes) {
  Random random(1);
  for (int k = 0; k < 5000; ++k) {
    std::vector<Block> blocks = tiny_set(random);
    Placement placed = place_blocks(blocks);
    expect_valid(blocks, placed);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        std::int64_t a = placed.offsets[i], b = placed.offsets[j];
        bool apart = a + rounded(blocks[i]) <= b || b + rounded(blocks[j]) <= a;
        ASSERT_TRUE(apart || !meet(blocks[i], blocks[j])) << "set " << k << ": " << i << ", " << j;
      }
    EXPECT_EQ(live_bound(blocks), most_in_use(blocks));
    EXPECT_GE(placed.bytes, live_bound(blocks));
    EXPECT_EQ(placed.offsets, place_blocks(blocks).offsets);
  }
}

/// So few always have a placement at the bound.
TEST(PlaceBlocks, EightBlocksWasteNothing) {
  Random random(2);
  for (int k = 0; k < 3000; ++k) {
    std::vector<Block> blocks(8);
    for (Block& b : blocks) {
      b.bytes = static_cast<std::int64_t>(below(random, 600));
      b.first = static_cast<std::uint32_t>(below(random, 8));
      b.last = b.first + static_cast<std::uint32_t>(below(random, 5));
    }
    EXPECT_EQ(ratio(blocks), 1) << "set " << k;
  }
}

TEST(PlaceBlocks, SmallCases) {
  EXPECT_EQ(place_blocks({}).bytes, 0);
  EXPECT_EQ(live_bound(std::vector<Block>{}), 0);
  std::vector<Block> blocks = {{0, 0, 9}, {1, 3, 3}, {64, 3, 3}, {65, 4, 9}, {0, 3, 4}};
  Placement placed = place_blocks(blocks);
  expect_valid(blocks, placed);
  EXPECT_EQ(placed.bytes, 128);
  EXPECT_EQ(live_bound(blocks), 128);
  EXPECT_EQ(place_blocks(std::vector<Block>{{0, 0, 0}}).offsets, std::vector<std::int64_t>{0});
  constexpr std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(ratio({{100, 0, end}, {100, end, end}, {200, 0, 0}, {300, 1, end - 1}}), 1);
}

TEST(PlaceBlocks, SizesThatAddUpToTooMuch) {
  constexpr std::int64_t half = std::int64_t{1} << 61;
  EXPECT_EQ(place_blocks(std::vector<Block>{{half, 0, 0}, {half - 64, 1, 1}}).bytes, half);
  EXPECT_THROW(place_blocks(std::vector<Block>{{half, 0, 0}, {half, 1, 1}}), Error);
  EXPECT_THROW(live_bound(std::vector<Block>{{std::numeric_limits<std::int64_t>::max(), 0, 0}}),
               Error);
  EXPECT_THROW(place_blocks(std::vector<Block>{{-1, 0, 0}}), InternalError);
  EXPECT_THROW(place_blocks(std::vector<Block>{{1, 1, 0}}), InternalError);
}

// ---- sets without waste

std::vector<Block> made(std::string_view family, std::uint64_t seed, std::size_t n) {
  for (const testing::BlockFamily& f : testing::block_families())
    if (f.name == family) {
      Random random(seed);
      return f.make(random, n);
    }
  ADD_FAILURE() << family;
  return {};
}

TEST(PlaceBlocks, NestedLivesWasteNothing) {
  for (std::size_t n : {10, 1000, 50000}) {
    EXPECT_EQ(ratio(made("nested lives, uniform sizes", n, n)), 1);
    EXPECT_EQ(ratio(made("nested lives, any magnitude", n, n)), 1);
  }
}

TEST(PlaceBlocks, EqualSizesWasteNothing) {
  for (const testing::BlockFamily& family : testing::block_families()) {
    Random random(3);
    std::vector<Block> blocks = family.make(random, 2000);
    for (Block& b : blocks) b.bytes = 1000;
    EXPECT_EQ(ratio(blocks), 1) << family.name;
  }
}

TEST(PlaceBlocks, BlocksOneAfterAnotherTakeOnlyTheLargest) {
  Random random(4);
  std::vector<Block> blocks;
  for (std::uint32_t t = 0; t < 3000; ++t)
    blocks.push_back({static_cast<std::int64_t>(below(random, 100000)), 2 * t, 2 * t + 1});
  EXPECT_EQ(ratio(blocks), 1);
}

// ---- ratios

struct Ratios {
  std::vector<double> all;
  double worst() const { return all.empty() ? 1 : *std::ranges::max_element(all); }
  /// 99 of 100 are at most this.
  double most() const {
    std::vector<double> sorted = all;
    std::ranges::sort(sorted);
    return sorted.empty() ? 1 : sorted[(sorted.size() - 1) * 99 / 100];
  }
};

TEST(PlaceBlocks, RandomSetsComeNearTheBound) {
  Ratios ratios;
  for (const testing::BlockFamily& family : testing::block_families()) {
    Ratios one;
    for (std::size_t n : {10, 20, 30, 100, 200, 300, 1000, 3000}) {
      Random random(n);
      for (int k = 0; k < (n < 1000 ? 4 : 1); ++k) one.all.push_back(ratio(family.make(random, n)));
    }
    EXPECT_LE(one.worst(), 1.08) << family.name;
    ratios.all.insert(ratios.all.end(), one.all.begin(), one.all.end());
  }
  EXPECT_LE(ratios.most(), 1.05);
}

TEST(PlaceBlocks, LargeSetsComeNearTheBound) {
  for (const testing::BlockFamily& family : testing::block_families())
    EXPECT_LE(ratio(made(family.name, 5, 20000)), 1.12) << family.name;
  for (std::string_view sizes : {"uniform sizes", "any magnitude", "powers of two", "two sizes"})
    EXPECT_LE(ratio(made("step, " + std::string(sizes), 6, 20000)), 1.01) << sizes;
}

TEST(PlaceBlocks, RandomProgramsComeNearTheBound) {
  Ratios as_they_are, with_other_sizes;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Random random = testing::random_at(1, i);
    testing::RandomCase drawn = testing::random_case(random, i);
    for (const Graph& g : drawn.program.graphs) {
      std::vector<Block> blocks = testing::blocks_of(g);
      as_they_are.all.push_back(ratio(blocks));
      testing::draw_sizes(random, blocks);
      with_other_sizes.all.push_back(ratio(blocks));
    }
  }
  EXPECT_LE(as_they_are.most(), 1.01);
  EXPECT_LE(with_other_sizes.most(), 1.02);
}

TEST(PlaceBlocks, StepsComeNearTheBound) {
  for (const std::string& source : testing::sources()) {
    Program program = load(source);
    for (std::string_view passes : {"none", "default"}) {
      Program compiled = program;
      compile(compiled, {.passes = std::string(passes)});
      for (const Graph& g : compiled.graphs)
        EXPECT_LE(ratio(testing::blocks_of(g)), 1.03) << source << ", passes " << passes;
    }
  }
}

TEST(PlaceBlocks, NeverWorseThanBestFit) {
  for (const testing::BlockFamily& family : testing::block_families())
    for (std::size_t n : {20, 200, 2000}) {
      std::vector<Block> blocks = made(family.name, n, n);
      std::int64_t bytes = place_blocks(blocks).bytes;
      Lifetimes forwards = lifetimes(blocks);
      for (const Lifetimes& lives : {forwards, mirrored(forwards)}) {
        Placement simple = best_fit(lives, n);
        expect_valid(blocks, simple);
        EXPECT_LE(bytes, simple.bytes) << family.name;
      }
    }
}

// ---- parts

/// The end of a block, or 0, is the lowest offset with room for another one.
std::int64_t lowest_room(const std::vector<std::pair<Lifetime, std::int64_t>>& placed,
                         const Lifetime& b) {
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // while b is in use
  for (const auto& [other, offset] : placed)
    if (other.first <= b.last && b.first <= other.last)
      taken.emplace_back(offset, offset + other.bytes);
  auto has_room = [&](std::int64_t offset) {
    return std::ranges::none_of(
        taken, [&](auto bytes) { return offset < bytes.second && bytes.first < offset + b.bytes; });
  };
  std::int64_t lowest = has_room(0) ? 0 : std::numeric_limits<std::int64_t>::max();
  for (auto bytes : taken)
    if (bytes.second < lowest && has_room(bytes.second)) lowest = bytes.second;
  return lowest;
}

TEST(LowestFit, PlacesABlockAsLowAsItFits) {
  for (const testing::BlockFamily& family : testing::block_families()) {
    Lifetimes lives = lifetimes(made(family.name, 7, 300));
    LowestFit fit(lives);
    for (int round = 0; round < 2; ++round) {
      fit.clear();
      std::vector<std::pair<Lifetime, std::int64_t>> placed;
      for (const Lifetime& b : lives.by_first) {
        std::int64_t offset = fit.place(b);
        ASSERT_EQ(offset, lowest_room(placed, b)) << family.name;
        placed.emplace_back(b, offset);
      }
      Random random(8);
      std::ranges::shuffle(lives.by_first, random);
    }
  }
}

TEST(Lifetimes, AreSortedByStartAndByEnd) {
  std::vector<Block> blocks = {{64, 5, 9}, {1, 2, 3}, {0, 0, 0}, {128, 5, 6}, {128, 5, 7}};
  Lifetimes lives = lifetimes(blocks);
  std::vector<std::uint32_t> starts, ends, mirrored_starts;
  for (const Lifetime& b : lives.by_first) starts.push_back(b.block);
  for (std::uint32_t i : lives.by_last) ends.push_back(lives.by_first[i].block);
  for (const Lifetime& b : mirrored(lives).by_first) mirrored_starts.push_back(b.block);
  EXPECT_EQ(starts, (std::vector<std::uint32_t>{1, 4, 3, 0}));
  EXPECT_EQ(ends, (std::vector<std::uint32_t>{1, 3, 4, 0}));
  EXPECT_EQ(mirrored_starts, (std::vector<std::uint32_t>{0, 4, 3, 1}));
  EXPECT_EQ(live_bound(mirrored(lives)), live_bound(lives));
}

}  // namespace
}  // namespace hocket

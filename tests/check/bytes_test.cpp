// Bytes and functions of ranks, against arrays with an entry for each byte and rank.

#include "hocket/check/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "hocket/check/rank_functions.h"
#include "support/random.h"

namespace hocket::check {
namespace {

using hocket::testing::below;
using hocket::testing::chance;
using hocket::testing::Random;

constexpr std::int64_t size = 24;

Range random_range(Random& random) {
  auto begin = static_cast<std::int64_t>(below(random, size));
  return {begin, begin + static_cast<std::int64_t>(
                             below(random, static_cast<std::size_t>(size - begin) + 1))};
}

/// By which write each byte was written.
struct EachByte {
  std::array<Range, size> written{};  // empty: not at all

  void set(Range r, Range by) {
    for (std::int64_t b = r.begin; b < r.end; ++b) written[static_cast<std::size_t>(b)] = by;
  }
  WrittenBytes::Finding read(Range r) const {
    using Finding = WrittenBytes::Finding;
    auto at = [&](std::int64_t b) { return written[static_cast<std::size_t>(b)]; };
    for (std::int64_t b = r.begin; b < r.end; ++b)
      if (at(b).empty()) return Finding::undefined;
    for (std::int64_t b = r.begin; b < r.end; ++b) {
      Range w = at(b);
      for (std::int64_t o = std::max(w.begin, r.begin); o < std::min(w.end, r.end); ++o)
        if (!(at(o) == w)) return Finding::torn;
    }
    return Finding::whole;
  }
};

TEST(Check, WrittenBytes) {
  Random random(1);
  std::array<int, 3> findings{};
  for (int i = 0; i < 3000; ++i) {
    WrittenBytes bytes, other;
    EachByte each, other_each;
    for (int k = 0; k < 12; ++k) {
      Range r = random_range(random);
      switch (below(random, 8)) {
        case 0:
          bytes.forget(r);
          each.set(r, {});
          break;
        case 1: {
          Range s = random_range(random);
          if (r.end > s.begin || r.empty() || s.empty()) break;
          std::array kept{r, s};
          bytes.keep_only(kept);
          each.set({0, r.begin}, {});
          each.set({r.end, s.begin}, {});
          each.set({s.end, size}, {});
          break;
        }
        default:
          bytes.write(r);
          each.set(r, r);
      }
      if (k == 6) other = bytes, other_each = each;
      Range asked = random_range(random);
      WrittenBytes::Finding found = bytes.read(asked);
      ASSERT_EQ(found, each.read(asked)) << asked.begin << " " << asked.end;
      ++findings[static_cast<std::size_t>(found)];
    }
    EXPECT_EQ(bytes == other, each.written == other_each.written);
  }
  for (int n : findings) EXPECT_GT(n, 1000);
}

TEST(Check, CountedRanges) {
  Random random(2);
  int met = 0;
  for (int i = 0; i < 2000; ++i) {
    CountedRanges ranges;
    std::vector<Range> added;
    for (int k = 0; k < 16; ++k) {
      if (!added.empty() && chance(random, 45)) {
        std::size_t n = below(random, added.size());
        ranges.remove(added[n]);
        added.erase(added.begin() + static_cast<std::ptrdiff_t>(n));
      } else {
        added.push_back(random_range(random));
        ranges.add(added.back());
      }
      Range asked = random_range(random);
      bool wanted = !asked.empty() && std::ranges::any_of(added, [&](Range r) {
        return !r.empty() && r.overlaps(asked);
      });
      ASSERT_EQ(ranges.meet(asked), wanted);
      met += wanted ? 1 : 0;
    }
  }
  EXPECT_GT(met, 5000);
}

TEST(Check, FunctionsOfRanks) {
  constexpr std::size_t ranks = 4;
  Random random(3);
  RankFunctions f;
  std::vector<std::pair<Offset, std::vector<std::int64_t>>> offsets{{0, {0, 0, 0, 0}}};
  for (int i = 0; i < 300; ++i) {
    std::vector<std::int64_t> values(ranks);
    for (std::int64_t& v : values) v = static_cast<std::int64_t>(below(random, 3));
    auto [first, rest] = f.offset(values);
    EXPECT_EQ(first, values[0]);
    for (std::size_t r = 0; r < ranks; ++r) EXPECT_EQ(first + f.at(rest, r), values[r]);
    for (std::int64_t& v : values) v -= first;
    offsets.emplace_back(rest, values);
    const auto& [other, others] = offsets[below(random, offsets.size())];
    Offset sum = f.sum(rest, other), difference = f.difference(rest, other);
    for (std::size_t r = 0; r < ranks; ++r) {
      EXPECT_EQ(f.at(sum, r), values[r] + others[r]);
      EXPECT_EQ(f.at(difference, r), values[r] - others[r]);
    }
    EXPECT_EQ(f.sum(difference, other), rest);
    EXPECT_EQ(rest == other, values == others);  // each is kept once
  }
}

TEST(Check, PartitionsOfRanks) {
  constexpr std::size_t ranks = 4;
  Random random(4);
  RankFunctions f;
  auto labels = [&] {
    std::vector<std::uint32_t> all(ranks);
    for (std::uint32_t& l : all) l = static_cast<std::uint32_t>(below(random, 3) + 5);
    return all;
  };
  auto equal = [&](Partition p, std::size_t a, std::size_t b) {
    return f.label(p, a) == f.label(p, b);
  };
  for (int i = 0; i < 500; ++i) {
    std::vector<std::uint32_t> x = labels(), y = labels();
    Partition p = f.partition(x), q = f.partition(y), both = f.meet(p, q);
    std::vector<std::int64_t> values(x.begin(), x.end());
    EXPECT_EQ(f.of(f.offset(values).second), p);
    EXPECT_EQ(both, f.meet(q, p));
    bool all = true;
    for (std::size_t a = 0; a < ranks; ++a)
      for (std::size_t b = 0; b < ranks; ++b) {
        EXPECT_EQ(equal(p, a, b), x[a] == x[b]);
        EXPECT_EQ(equal(both, a, b), x[a] == x[b] && y[a] == y[b]);
        EXPECT_EQ(equal(f.each(ranks), a, b), a == b);
        all &= x[a] == x[b];
      }
    EXPECT_EQ(p == 0, all);
  }
}

}  // namespace
}  // namespace hocket::check

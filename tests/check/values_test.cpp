// The algebra of values, element by element.

#include "hocket/check/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "hocket/ops/ops.h"
#include "support/any_layout.h"

namespace hocket::check {
namespace {

using hocket::testing::below;
using hocket::testing::chance;
using hocket::testing::places_of;
using hocket::testing::Random;
using hocket::testing::random_layout;

using Element = std::pair<TermId, std::int64_t>;

/// What every element is, without views and packs. Knows the words of these two kinds.
std::vector<Element> expand(const Values& v, const Elements& x);

Element element_of(const Values& v, TermId term, std::int64_t index) {
  auto words = v.terms.words(term);
  if (v.terms.kind(term) == TermKind::pack) {
    Elements all;
    for (const Piece& p : v.operands_of(term)) all.push_back(p);
    return expand(v, all)[static_cast<std::size_t>(index)];
  }
  if (v.terms.kind(term) != TermKind::view) return {term, v.terms.facts(term).single ? 0 : index};
  Piece base = v.operands_of(term)[0];
  std::int64_t place = base.first;
  for (std::size_t at = words.size() - 2; at > 4; at -= 2) {  // digits, the last one first
    auto radix = static_cast<std::int64_t>(words[at]);
    std::int64_t digit = (index % radix + radix) % radix;  // a view may begin before its base
    place += digit * static_cast<std::int64_t>(words[at + 1]);
    index = (index - digit) / radix;
  }
  place += index * static_cast<std::int64_t>(words[5]);  // the outermost digit has no bound
  return element_of(v, base.term, place);
}

std::vector<Element> expand(const Values& v, const Elements& x) {
  std::vector<Element> all;
  for (const Piece& p : x)
    for (std::int64_t i = 0; i < p.count; ++i)
      all.push_back(element_of(v, p.term, p.first + (p.repeated ? 0 : i)));
  return all;
}

/// A value of its own.
Elements fresh(Values& v, std::uint64_t name, std::int64_t count) {
  std::uint64_t words[] = {0, 0, name, 0};
  return v.whole(v.terms.intern(TermKind::source, words, {.single = count == 1}), count);
}

/// All elements of `x` in some order, with repetitions, or some of them.
struct Shown {
  std::int64_t first = 0;
  Layout layout;
};

Shown random_view(Random& random, std::int64_t count) {
  static const std::vector<Shape> shapes = {{2, 3}, {4}, {2, 2, 2}, {3, 2}, {6, 2}, {3}, {2, 4}};
  for (;;) {
    const Shape& shape = shapes[below(random, shapes.size())];
    Shown view{0, random_layout(random, shape, false)};
    auto [low, high] = view.layout.bounds();
    if (high - low >= count) continue;
    view.first = -low + static_cast<std::int64_t>(
                            below(random, static_cast<std::size_t>(count - (high - low))));
    return view;
  }
}

std::vector<Element> viewed(const std::vector<Element>& all, const Shown& view) {
  std::vector<Element> some;
  for (std::int64_t place : places_of(view.layout))
    some.push_back(all[static_cast<std::size_t>(view.first + place)]);
  return some;
}

TEST(Check, AViewShowsTheElementsOfItsLayout) {
  Random random(1);
  int deep = 0;
  for (int i = 0; i < 4000; ++i) {
    Values v;
    Elements x = fresh(v, 0, 24);
    std::vector<Element> wanted = expand(v, x);
    for (int k = 0; k < 4; ++k) {
      auto count = static_cast<std::int64_t>(wanted.size());
      Shown view = random_view(random, count);
      x = v.view(x, view.first, view.layout);
      wanted = viewed(wanted, view);
      ASSERT_EQ(expand(v, x), wanted) << i << " " << to_text(view.layout);
      ASSERT_EQ(expand(v, v.direct(x)), wanted) << i << " " << to_text(view.layout);
      ASSERT_EQ(elements_in(x), view.layout.elements());
      deep = std::max(deep, k);
      if (wanted.size() < 12) break;
    }
  }
  EXPECT_GE(deep, 1);
}

/// Several values one behind the other, ranges of them, and repetitions.
TEST(Check, PiecesKeepTheirElements) {
  Random random(2);
  for (int i = 0; i < 3000; ++i) {
    Values v;
    Elements x;
    std::vector<Element> wanted;
    for (std::uint64_t k = 0; wanted.size() < 24; ++k) {
      Elements part = fresh(v, k % 3, 8);
      Shown view = random_view(random, 8);
      if (chance(random, 60)) part = v.view(part, view.first, view.layout);
      if (chance(random, 20)) part = v.repeated(part, 4);
      v.append(x, part);
      for (const Element& e : expand(v, part)) wanted.push_back(e);
    }
    ASSERT_EQ(expand(v, x), wanted);
    auto count = static_cast<std::int64_t>(below(random, 12)),
         first = static_cast<std::int64_t>(below(random, 12));
    Elements some = v.range(x, first, count);
    ASSERT_EQ(expand(v, some), std::vector(wanted.begin() + first, wanted.begin() + first + count));
    Shown view = random_view(random, static_cast<std::int64_t>(wanted.size()));
    Elements shown = v.view(x, view.first, view.layout);
    ASSERT_EQ(expand(v, shown), viewed(wanted, view)) << i << " " << to_text(view.layout);
  }
}

/// A view of many rows on several pieces is a view of a pack.
TEST(Check, PacksKeepTheirElements) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    Values v;
    Elements x = fresh(v, 0, 90);
    v.append(x, fresh(v, 1, 110));
    Layout layout = chance(random, 50) ? Layout{{100, 1}, {2, 100}} : Layout{{100, -1}, {2, 100}};
    Elements shown = v.view(x, layout.bounds().first < 0 ? 99 : 0, layout);
    std::vector<Element> wanted = expand(v, shown);
    for (std::int64_t k = 0; k < 200; ++k) {
      std::int64_t row = k / 2, at = (layout.bounds().first < 0 ? 99 - row : row) + k % 2 * 100;
      Element element = at < 90 ? Element{x[0].term, at} : Element{x[1].term, at - 90};
      ASSERT_EQ(wanted[static_cast<std::size_t>(k)], element);
    }
    EXPECT_EQ(v.terms.kind(v.operands_of(shown[0].term)[0].term), TermKind::pack);
    Elements back = v.view(shown, 0, Layout{{2, 1}, {100, 2}});
    EXPECT_EQ(
        expand(v, back),
        expand(v, layout.bounds().first < 0 ? v.view(x, 99, Layout{{2, 100}, {100, -1}}) : x));
  }
}

/// The same elements in another way are the same pieces, or it is known that they may not be.
TEST(Check, TwoWaysToTheSameElements) {
  Random random(3);
  int same = 0, doubtful = 0;
  for (int i = 0; i < 20000; ++i) {
    Values v;
    Elements x = fresh(v, 0, 12);
    Shown first = random_view(random, 12);
    Elements a = v.view(x, first.first, first.layout);
    if (elements_in(a) < 4) continue;
    Shown second = random_view(random, elements_in(a));
    a = v.view(a, second.first, second.layout);
    std::vector<Element> elements = expand(v, a);
    // The second way: one view, where one leads there.
    for (int k = 0; k < 40; ++k) {
      Shown other = random_view(random, 12);
      Elements b = v.view(x, other.first, other.layout);
      if (expand(v, b) != elements) continue;
      bool known = v.direct(a) == v.direct(b);
      if (!known) {
        auto odd = [&](const Elements& e) {
          return std::ranges::any_of(e, [&](const Piece& p) { return v.is_odd_part(p); });
        };
        EXPECT_TRUE(v.facts_of(a).doubtful || v.facts_of(b).doubtful || odd(a) || odd(b))
            << to_text(first.layout) << " then " << to_text(second.layout) << " is "
            << to_text(other.layout);
        ++doubtful;
      }
      same += known ? 1 : 0;
    }
  }
  EXPECT_GT(same, 1000);
  EXPECT_LT(doubtful * 10, same);
}

TEST(Check, ASliceOfAnElementwiseResultIsTheResultOnSlices) {
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    Values v;
    Elements x = fresh(v, 0, 12), y;
    v.append(y, v.range(fresh(v, 1, 8), 2, 5));
    v.append(y, v.range(fresh(v, 2, 8), 1, 7));
    auto add = [&](const Elements& a, const Elements& b) {
      const Elements* operands[] = {&a, &b};
      return v.elementwise(ops::add, 0, DType::f32, operands, elements_in(a));
    };
    auto first = static_cast<std::int64_t>(below(random, 8)),
         count = static_cast<std::int64_t>(below(random, 5));
    EXPECT_EQ(v.range(add(x, y), first, count),
              add(v.range(x, first, count), v.range(y, first, count)));
    Elements joined = v.range(add(x, y), 0, first);
    v.append(joined, v.range(add(x, y), first, 12 - first));
    EXPECT_EQ(joined, add(x, y));
    EXPECT_NE(add(x, y), add(y, x));
    if (first > 0 && count > 0) {
      EXPECT_NE(v.range(add(x, y), first, count),
                add(v.range(x, 0, count), v.range(y, first, count)));
    }
  }
}

}  // namespace
}  // namespace hocket::check

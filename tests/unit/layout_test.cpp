#include "hocket/ops/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "hocket/base/error.h"
#include "hocket/ops/copy.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "support/any_layout.h"

namespace hocket {
namespace {

using testing::below;
using testing::chance;
using testing::places_of;
using testing::Random;
using testing::random_layout;

TEST(Layout, IsCanonical) {
  EXPECT_EQ((Layout{{2, 12}, {3, 4}, {4, 1}}), Layout::row_major(24));
  EXPECT_EQ((Layout{{1, 7}, {5, 0}, {1, 9}, {4, 0}}), (Layout{{20, 0}}));
  EXPECT_EQ((Layout{{3, -4}, {4, -1}}), (Layout{{12, -1}}));
  EXPECT_EQ((Layout{{1, 5}}), Layout());
  EXPECT_EQ(Layout::row_major(1), Layout());
  EXPECT_EQ((Layout{{3, 5}, {0, 9}}), Layout::row_major(0));
  EXPECT_NE((Layout{{3, 4}, {4, 2}}), (Layout{{12, 2}}));
  EXPECT_EQ(to_text(Layout{{8, 12544}, {4, 3136}, {16, 1}, {196, 16}}), "[32:3136, 16:1, 196:16]");
  EXPECT_EQ(to_text(Layout()), "[]");
}

TEST(Layout, KnowsItsPlaces) {
  EXPECT_TRUE(Layout::row_major(24).is_row_major());
  EXPECT_TRUE(Layout::row_major(0).is_row_major());
  EXPECT_TRUE(Layout().is_row_major());
  EXPECT_FALSE((Layout{{24, 2}}).is_row_major());
  EXPECT_TRUE((Layout{{8, 12544}, {4, 3136}, {16, 1}, {196, 16}}).is_dense());
  EXPECT_TRUE(Layout::row_major(0).is_dense());
  EXPECT_FALSE((Layout{{4, 6}, {5, 1}}).is_dense());
  EXPECT_FALSE((Layout{{4, 0}, {5, 1}}).is_dense());
  EXPECT_FALSE((Layout{{4, -1}}).is_dense());
  EXPECT_EQ((Layout{{4, -3}, {5, 20}}).bounds(), std::pair(std::int64_t{-9}, std::int64_t{80}));
  EXPECT_EQ(Layout::row_major(0).bounds(), std::pair(std::int64_t{0}, std::int64_t{-1}));
}

TEST(Layout, EqualMapsAreEqualLayouts) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    Layout a = random_layout(random, {4, 6}, false), b = random_layout(random, {2, 2, 6}, false);
    EXPECT_EQ(a == b, places_of(a) == places_of(b)) << to_text(a) << " " << to_text(b);
    auto places = places_of(a);
    auto [low, high] = std::ranges::minmax(places);
    EXPECT_EQ(a.bounds(), std::pair(low, high));
    std::ranges::sort(places);
    std::vector<std::int64_t> all(places.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(a.is_dense(), places == all) << to_text(a);
  }
}

TEST(Layout, IsSeenInTheOrderOfAnother) {
  Random random(2);
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    Layout x = random_layout(random, {4, 6, 5}, false), y = random_layout(random, {8, 15}, true);
    auto seen = in_memory_order(x, y);
    if (!seen) {
      EXPECT_FALSE(x.is_row_major() || y.is_row_major());
      continue;
    }
    ++found;
    auto from = places_of(x), to = places_of(y), got = places_of(*seen);
    for (std::size_t k = 0; k < to.size(); ++k)
      ASSERT_EQ(got[static_cast<std::size_t>(to[k])], from[k]) << to_text(x) << " " << to_text(y);
  }
  EXPECT_GT(found, 1500);
  EXPECT_EQ(in_memory_order({{20, 1}, {3, 20}}, {{30, 1}, {2, 30}}), std::nullopt);
}

/// A view as an op, and as the index in its operand of each of its elements.
struct ViewCase {
  const Op* op;
  Attributes attributes;
  Type operand, result;
  std::vector<std::int64_t> index;

  std::optional<ViewOf> of(const Layout& layout) const {
    const Type* operands[] = {&operand};
    World world;
    return op->view({*op, operands, attributes, world, {&result, 1}, nullptr}, layout);
  }
};

/// All indices of a shape, in row-major order.
std::vector<Ints> indices_of(const Shape& shape) {
  std::vector<Ints> all{{}};
  for (std::int64_t size : shape) {
    std::vector<Ints> next;
    for (const Ints& head : all)
      for (std::int64_t i = 0; i < size; ++i) {
        next.push_back(head);
        next.back().push_back(i);
      }
    all = std::move(next);
  }
  return all;
}

/// f(index in the result) gives the index in the operand.
template <class F>
ViewCase view_case(const Op& op, std::initializer_list<Named> attributes, const Shape& from,
                   const Shape& to, F f) {
  ViewCase c{
      &op, Attributes(op, attributes), {DType::f32, false, from}, {DType::f32, false, to}, {}};
  for (const Ints& index : indices_of(to)) {
    Ints source = f(index);
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < from.size(); ++d) flat = flat * from[d] + source[d];
    c.index.push_back(flat);
  }
  return c;
}

Ints to_ints(const Shape& shape) { return Ints(shape.begin(), shape.end()); }

ViewCase random_permute(Random& random, const Shape& shape) {
  Ints dims(shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  std::shuffle(dims.begin(), dims.end(), random);
  Shape to;
  for (std::int64_t d : dims) to.push_back(shape[static_cast<std::size_t>(d)]);
  return view_case(ops::permute, {{"dims", dims}}, shape, to, [&](const Ints& index) {
    Ints source(index.size());
    for (std::size_t i = 0; i < index.size(); ++i)
      source[static_cast<std::size_t>(dims[i])] = index[i];
    return source;
  });
}

ViewCase random_broadcast(Random& random, const Shape& shape) {
  Shape to;
  if (chance(random, 50)) to.push_back(static_cast<std::int64_t>(1 + below(random, 3)));
  std::size_t lead = to.size();
  for (std::int64_t d : shape)
    to.push_back(d == 1 ? static_cast<std::int64_t>(below(random, 4)) : d);
  return view_case(ops::broadcast, {{"shape", to_ints(to)}}, shape, to, [&](const Ints& index) {
    Ints source(index.begin() + static_cast<std::ptrdiff_t>(lead), index.end());
    for (std::size_t i = 0; i < source.size(); ++i)
      if (shape[i] == 1) source[i] = 0;
    return source;
  });
}

ViewCase random_slice(Random& random, const Shape& shape) {
  Ints starts, stops, steps;
  Shape to;
  for (std::int64_t d : shape) {
    auto n = static_cast<std::size_t>(d);
    std::int64_t start = static_cast<std::int64_t>(below(random, n + 1)),
                 step =
                     chance(random, 60) ? 1 : static_cast<std::int64_t>(1 + below(random, n + 2)),
                 stop = d;
    if (chance(random, 50)) start = 0;
    if (chance(random, 50))
      stop =
          start + static_cast<std::int64_t>(below(random, static_cast<std::size_t>(d - start) + 1));
    starts.push_back(start);
    stops.push_back(stop);
    steps.push_back(step);
    to.push_back((stop - start + step - 1) / step);
  }
  if (std::ranges::all_of(steps, [](std::int64_t s) { return s == 1; }) && chance(random, 50))
    steps.clear();
  return view_case(ops::slice, {{"starts", starts}, {"stops", stops}, {"steps", steps}}, shape, to,
                   [&](const Ints& index) {
                     Ints source(index.size());
                     for (std::size_t i = 0; i < index.size(); ++i)
                       source[i] = starts[i] + index[i] * (steps.empty() ? 1 : steps[i]);
                     return source;
                   });
}

ViewCase random_flip(Random& random, const Shape& shape) {
  Ints dims;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (chance(random, 50)) dims.push_back(static_cast<std::int64_t>(d));
  return view_case(ops::flip, {{"dims", dims}}, shape, shape, [&](const Ints& index) {
    Ints source = index;
    for (std::int64_t d : dims) {
      auto i = static_cast<std::size_t>(d);
      source[i] = shape[i] - 1 - index[i];
    }
    return source;
  });
}

ViewCase random_reshape(Random& random, const Shape& shape) {
  std::int64_t left = 1;
  for (std::int64_t d : shape) left *= d;
  Shape to;
  for (; left > 1; left /= to.back()) {
    std::int64_t size = static_cast<std::int64_t>(1 + below(random, 6));
    to.push_back(left % size == 0 ? size : left);
  }
  if (left == 0) to.push_back(0);
  ViewCase c{&ops::reshape,
             Attributes(ops::reshape, {{"shape", to_ints(to)}}),
             {DType::f32, false, shape},
             {DType::f32, false, to},
             {}};
  c.index.resize(static_cast<std::size_t>(c.result.elements()));
  std::iota(c.index.begin(), c.index.end(), 0);
  return c;
}

ViewCase random_view(Random& random, const Shape& shape) {
  switch (below(random, 5)) {
    case 0:
      return random_permute(random, shape);
    case 1:
      return random_broadcast(random, shape);
    case 2:
      return random_slice(random, shape);
    case 3:
      return random_flip(random, shape);
    default:
      return random_reshape(random, shape);
  }
}

Shape random_shape(Random& random) {
  constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12};
  Shape shape;
  for (std::size_t d = below(random, 4); d > 0; --d) shape.push_back(sizes[below(random, 7)]);
  return shape;
}

TEST(Views, ShowTheElementsThatTheirOpsName) {
  Random random(3);
  int views = 0, none = 0;
  for (int i = 0; i < 6000; ++i) {
    Shape shape = random_shape(random);
    Layout layout = random_layout(random, shape, false);
    auto expected = places_of(layout);  // of each element of the view, from the start of the bytes
    std::int64_t first = 0;
    for (int k = 0; k < 5; ++k) {
      ViewCase c = random_view(random, shape);
      SCOPED_TRACE(std::string(c.op->name) + " of " + to_text(c.operand) + " to " +
                   to_text(c.result) + ", " + to_text(layout));
      std::vector<std::int64_t> next;
      for (std::int64_t index : c.index) next.push_back(expected[static_cast<std::size_t>(index)]);
      auto view = c.of(layout);
      if (!view) {
        EXPECT_FALSE(layout.is_row_major());
        ++none;
        break;
      }
      ++views;
      first += view->first;
      layout = view->layout;
      shape = c.result.shape;
      expected = std::move(next);
      auto got = places_of(layout);
      ASSERT_EQ(layout.elements(), c.result.elements());
      for (std::int64_t& place : got) place += first;
      ASSERT_EQ(got, expected);
    }
  }
  EXPECT_GT(views, 15000);
  EXPECT_LT(none, 3000);
}

TEST(Views, CutAnAxisOnlyWhereItDivides) {
  Layout blocks{{4, 16 * 9}, {16, 1}, {9, 16}};  // of [64,9]
  std::int64_t shape[] = {64, 9}, half[] = {32, 9}, start[] = {16, 0}, odd[] = {8, 0};
  auto view = sliced(blocks, shape, start, {}, half);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->first, 16 * 9);
  EXPECT_EQ(view->layout, (Layout{{2, 16 * 9}, {16, 1}, {9, 16}}));
  EXPECT_FALSE(sliced(blocks, shape, odd, {}, half));
  std::int64_t turned[] = {1, 0}, wide[] = {24, 24};
  EXPECT_TRUE(permuted(blocks, shape, turned));
  EXPECT_FALSE(permuted(blocks, wide, turned));  // 24 is no multiple of 9
}

TEST(Copy, WritesTheElementsInTheirOrder) {
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    Shape shape = random_shape(random);
    for (std::int64_t& d : shape) d *= chance(random, 20) ? 5 : 1;
    Layout layout = random_layout(random, shape, false);
    if (chance(random, 30)) {  // some of it repeated
      std::vector<Layout::Axis> axes(layout.axes().begin(), layout.axes().end());
      if (!axes.empty()) axes[below(random, axes.size())].stride = 0;
      layout = Layout(axes);
    }
    for (DType dtype : {DType::u8, DType::bf16, DType::f32, DType::i64}) {
      std::int64_t width = bytes(dtype);
      auto [low, high] = layout.bounds();
      Tensor source(Type{DType::u8, false, {(high - low + 1) * width}}),
          target(Type{DType::u8, false, {layout.elements() * width}});
      for (std::byte& b : source.bytes()) b = static_cast<std::byte>(random());
      const std::byte* first = source.bytes().data() - low * width;
      auto places = places_of(layout);
      auto check = [&](std::int64_t begin, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k)
          ASSERT_TRUE(std::equal(target.bytes().data() + k * width,
                                 target.bytes().data() + (k + 1) * width,
                                 first + places[static_cast<std::size_t>(begin + k)] * width))
              << to_text(layout) << ", element " << begin + k;
      };
      copy_elements(target.bytes().data(), first, layout, width);
      check(0, layout.elements());
      if (layout.elements() == 0) continue;
      auto begin = static_cast<std::int64_t>(below(random, places.size())),
           count = static_cast<std::int64_t>(
               below(random, places.size() - static_cast<std::size_t>(begin) + 1));
      copy_elements(target.bytes().data(), first, layout, width, begin, count);
      check(begin, count);
    }
  }
}

}  // namespace
}  // namespace hocket

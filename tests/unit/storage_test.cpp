#include "hocket/frontend/storage.h"

#include <gtest/gtest.h>

#include "hocket/base/error.h"
#include "hocket/ops/ops.h"

namespace hocket::frontend {
namespace {

TEST(Storages, AViewSharesMemoryWhereTheLayoutAllows) {
  EXPECT_TRUE(can_view({2, 3, 4}, {12, 4, 1}, {6, 4}));
  EXPECT_TRUE(can_view({2, 3, 4}, {12, 4, 1}, {24}));
  EXPECT_FALSE(can_view({3, 2}, {1, 3}, {6})) << "a transposed matrix";
  EXPECT_TRUE(can_view({3, 2}, {1, 3}, {3, 1, 2}));
  EXPECT_TRUE(can_view({4, 1, 6}, {6, 99, 1}, {2, 2, 6})) << "the stride of one element is free";
  EXPECT_FALSE(can_view({2, 3}, {4, 1}, {6})) << "rows with a gap";
  EXPECT_TRUE(can_view({2, 0}, {1, 1}, {0, 5}));
}

class StoragesTest : public ::testing::Test {
 protected:
  Graph g_;
  Storages s_{g_};
  TensorId input(Shape shape) {
    return s_.fresh(g_.add_input({DType::f32, false, std::move(shape)}, "x"));
  }
  TensorId row(TensorId t, std::int64_t i) {
    return s_.view(g_, t,
                   {.op = &ops::slice,
                    .attributes = Attributes(ops::slice,
                                             {{"starts", Ints{i, 0}}, {"stops", Ints{i + 1, 3}}})});
  }
};

TEST_F(StoragesTest, AWriteIsSeenThroughEveryViewAndNoCopy) {
  TensorId x = input({2, 3});
  TensorId first = row(x, 0), second = row(x, 1);
  Value before = s_.read(g_, second), copy = s_.read(g_, x);
  Value written = ops::neg(g_, before);
  s_.write(g_, second, written);
  EXPECT_EQ(s_.read(g_, second), written);
  EXPECT_NE(s_.read(g_, x), copy) << "the whole has changed";
  EXPECT_EQ(g_.type(s_.read(g_, x)).shape, (Shape{2, 3}));
  EXPECT_NE(s_.read(g_, first), before);
  EXPECT_TRUE(s_.shares_storage(first, second));
}

TEST_F(StoragesTest, MemoryIsReadOnlyOnceAllOfItIsWritten) {
  TensorId x = s_.undefined({DType::f32, false, {2, 3}});
  EXPECT_THROW(s_.read(g_, x), Error);
  TensorId first = row(x, 0), second = row(x, 1);
  Value part = g_.add_input({DType::f32, false, {1, 3}}, "part");
  s_.write(g_, first, part);
  EXPECT_EQ(s_.read(g_, first), part);
  EXPECT_THROW(s_.read(g_, second), Error);
  EXPECT_THROW(s_.read(g_, x), Error);
  s_.write(g_, second, part);
  EXPECT_EQ(g_.type(s_.read(g_, x)).shape, (Shape{2, 3}));
}

TEST_F(StoragesTest, WhatIsInFlightIsOnlyWaitedFor) {
  TensorId x = input({2, 3});
  Value sent = ops::all_reduce(g_, {s_.read(g_, x)});
  s_.write(g_, x, sent);
  EXPECT_TRUE(s_.in_flight(x));
  EXPECT_THROW(s_.read(g_, x), Error);
  s_.wait(g_, x);
  EXPECT_FALSE(s_.in_flight(x));
  Value arrived = s_.read(g_, x);
  s_.wait(g_, x);
  EXPECT_EQ(s_.read(g_, x), arrived) << "a second wait changes nothing";
}

TEST_F(StoragesTest, ExpandedMemoryIsNotWritten) {
  TensorId x = input({1, 3});
  TensorId wide = s_.view(
      g_, x,
      {.op = &ops::broadcast, .attributes = Attributes(ops::broadcast, {{"shape", Ints{2, 3}}})});
  EXPECT_THROW(s_.write(g_, wide, s_.read(g_, wide)), Error);
}

}  // namespace
}  // namespace hocket::frontend

#include "hocket/passes/loop/cross_iteration.h"

#include <gtest/gtest.h>

#include <memory>

#include "hocket/iter/lags.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/loop/choose_delayed.h"

namespace hocket::testing {
namespace {

using Delays = std::vector<Delay>;
constexpr Delay none = Delay::none, wait = Delay::wait, start = Delay::start;

// Buckets start at 40, 60 and 80 of 100 nodes, and together they take as long as those.
TEST(ChooseDelayed, WaitsLaterForWhatArrivesBehindItsUpdate) {
  std::vector<BucketPlace> buckets = {{.start = 40, .update = 90, .needed = 30, .bytes = 8},
                                      {.start = 60, .update = 90, .needed = 20, .bytes = 8},
                                      {.start = 80, .update = 90, .needed = 10, .bytes = 8}};
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{none, wait, wait}));
  // A large one in front is late itself; the order in which they are given does not matter.
  buckets[0].bytes = 64;
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{wait, wait, wait}));
  buckets[0].bytes = 2;
  std::swap(buckets[0], buckets[2]);
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{wait, wait, none}));
}

TEST(ChooseDelayed, StartsLaterWhatIsNeededLast) {
  std::vector<BucketPlace> buckets = {
      {.start = 40, .update = 95, .needed = 50, .bytes = 50, .startable = true},
      {.start = 60, .update = 95, .needed = 20, .bytes = 30, .startable = true},
      {.start = 80, .update = 95, .needed = 5, .bytes = 20, .startable = true}};
  // As they are, the last one arrives at 140, 35 behind its reader. Without the first it arrives at
  // 110, and the first itself, at 160, is 5 late again; without the second, too, two are late.
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{start, none, wait}));
  // Where all fits behind the first start, nothing starts later.
  buckets[0].start = 0;
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{none, none, wait}));
}

TEST(ChooseDelayed, LeavesOtherCollectivesAloneButCountsTheirTime) {
  std::vector<BucketPlace> buckets = {
      {.start = 60, .update = 95, .needed = 50, .bytes = 30, .startable = true},
      {.start = 20, .update = 95, .needed = 20, .bytes = 70, .fixed = true}};
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{wait, none}));  // it starts at 90
  buckets[1].start = 0;                                           // at 70, and still too late
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{wait, none}));
  buckets[0].bytes = 10;  // then it starts at 87 and ends at 100
  buckets[0].update = 100;
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{none, none}));
}

// Shards are gathered behind all updates: all that is left to choose is their order.
TEST(ChooseDelayed, GathersFirstWhatIsNeededFirst) {
  std::vector<BucketPlace> buckets = {
      {.start = 91, .update = 96, .needed = 60, .bytes = 10, .startable = true},
      {.start = 92, .update = 97, .needed = 30, .bytes = 10, .startable = true},
      {.start = 93, .update = 98, .needed = 1, .bytes = 10, .startable = true},
      {.start = 50, .update = 90, .needed = 50, .bytes = 30, .fixed = true}};
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{start, start, none, none}));
}

TEST(ChooseDelayed, KeepsWhatIsNeededAtOnce) {
  std::vector<BucketPlace> buckets = {{.start = 80, .update = 90, .needed = 3, .bytes = 8},
                                      {.start = 85, .update = 90, .needed = 4, .bytes = 8}};
  EXPECT_EQ(choose_delayed(buckets, 100), (Delays{none, wait}));
}

TEST(ChooseDelayed, TakesNothingAndNoBytes) {
  EXPECT_TRUE(choose_delayed({}, 100).empty());
  std::vector<BucketPlace> buckets = {{.start = 80, .update = 90, .needed = 30, .bytes = 0}};
  EXPECT_EQ(choose_delayed(buckets, 100), Delays{none});
}

/// Every level reads the one before it twice: by a search that forgets where it has been this would
/// take 2^200 visits.
TEST(CrossIteration, TakesDiamondsOnce) {
  Graph g("step", std::make_shared<const World>(std::vector<Axis>{{"dp", 2}}));
  Type type{DType::f32, false, {2}};
  Value w = g.add_input(type, "w", {.names = {"w"}, .state = true, .kind = StateKind::parameter});
  Value x = g.add_input(type, "x", {.names = {"x"}});
  Value y = ops::mul(g, x, w);
  Value h = ops::all_reduce(g, {y}, {{"group", std::string("dp")}});
  Value s = ops::wait(g, h);
  for (int i = 0; i < 200; ++i) s = ops::add(g, s, s);
  g.set_next(w, ops::sub(g, w, s));
  g.add_output("y", y);
  for (const CrossIteration& options :
       {CrossIteration{.delay = "all"}, CrossIteration{.move = "%" + g.name(h)}}) {
    Program program(g);
    cross_iteration(program, options);
    const Graph& after = program.graphs[0];
    std::size_t delayed = 0;
    for (NodeId n : after.nodes()) delayed += after[n].delay == 1;
    EXPECT_EQ(delayed, options.move == "none" ? 202U : 203U);
  }
}

}  // namespace
}  // namespace hocket::testing

#include "hocket/driver/random_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

std::pair<float, float> range_of(const Tensor& t) {
  auto [low, high] = std::minmax_element(t.as<float>(), t.as<float>() + t.type().elements());
  return {*low, *high};
}

TEST(RandomInputs, LieInTheRangesThatAreDocumented) {
  Program p = parse(R"(mesh(dp=2)
graph step(%w: state f32[4096] "w" parameter, %m: state f32[4096] "m" optimizer,
           %x: f32[4096] "x", %i: i64[4096] "i") {
  return x=%x
})",
                    ops::all());
  RandomInputs random(p, 3, 2);
  auto [w_low, w_high] = range_of(random.state()[0][0]);
  EXPECT_TRUE(-0.1F <= w_low && w_low < -0.099F && 0.099F < w_high && w_high < 0.1F);
  auto [m_low, m_high] = range_of(random.state()[0][1]);
  EXPECT_TRUE(0.5F <= m_low && m_low < 0.501F && 0.999F < m_high && m_high < 1.0F);
  auto [x_low, x_high] = range_of(random.batch(0)[1][2]);
  EXPECT_TRUE(-0.1F <= x_low && x_low < -0.099F && 0.099F < x_high && x_high < 0.1F);
  const Tensor integers = random.batch(0)[0][3];
  const auto* i = integers.as<std::int64_t>();
  auto ones = std::count(i, i + 4096, 1);
  EXPECT_EQ(std::count(i, i + 4096, 0), 4096 - ones);
  EXPECT_TRUE(1900 < ones && ones < 2200) << ones;
}

TEST(RandomInputs, AreEqualStateAndOtherInputsForEachRankAndIteration) {
  Program p = parse(
      "mesh(dp=2)\ngraph step(%w: state f32[64] \"w\", %x: f32[64]) {\n  return %x\n}", ops::all());
  RandomInputs random(p, 1, 2), again(p, 1, 2), other(p, 2, 2);
  EXPECT_TRUE(same_bits(random.state()[0][0], random.state()[1][0]));
  EXPECT_FALSE(same_bits(random.state()[0][0], other.state()[0][0]));
  EXPECT_FALSE(same_bits(random.batch(0)[0][1], random.batch(0)[1][1]));
  EXPECT_FALSE(same_bits(random.batch(0)[0][1], random.batch(1)[0][1]));
  EXPECT_TRUE(same_bits(random.batch(5)[1][1], again.batch(5)[1][1]));
}

}  // namespace
}  // namespace hocket

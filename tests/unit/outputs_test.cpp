#include "hocket/driver/outputs.h"

#include <gtest/gtest.h>

#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

Tensor filled(std::int64_t elements, float value) {
  Tensor t({DType::f32, false, {elements}});
  std::fill_n(t.as<float>(), elements, value);
  return t;
}

TEST(Outputs, LargeOnesAreLetGoAndLateOnesCountInTheirPlace) {
  Program program =
      parse("graph g(%x: f32[2], %n: f32[1]) {\n  return a=%x, b=%n\n}\n", ops::all());
  Digest wanted;
  OutputLog log(program, 1, 1);
  for (int k = 0; k < 3; ++k) {
    auto value = static_cast<float>(k);
    wanted.add(filled(2, value)).add(filled(1, value));
    log.begin();
    std::vector<Produced> produced;
    produced.reserve(2);
    produced.push_back({k, 0, 1, filled(1, value)});
    if (k > 0) produced.push_back({k - 1, 0, 0, filled(2, value - 1)});  // one iteration later
    log.add(produced);
  }
  EXPECT_NE(log.digest().text(), wanted.text());  // the last is not whole
  log.add(std::vector<Produced>{{2, 0, 0, filled(2, 2)}});
  EXPECT_EQ(log.digest().text(), wanted.text());

  OutputReports reports = log.take();
  ASSERT_EQ(reports.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    auto value = static_cast<float>(k);
    const OutputReport &large = reports[k][0][0], &number = reports[k][0][1];
    EXPECT_EQ(large.type, program.graphs[0].type(program.graphs[0].inputs()[0].value));
    EXPECT_EQ(large.digest, Digest().add(filled(2, value)).text());
    EXPECT_EQ(static_cast<bool>(large.value), k < 1);
    EXPECT_EQ(number.value.as<float>()[0], value);
  }
}

}  // namespace
}  // namespace hocket

// Kernels that take any layout give the bits that they give for row-major values.

#include "support/any_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hocket/base/element.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/evaluate.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

using testing::below;
using testing::chance;
using testing::PlacedValue;
using testing::Random;
using testing::random_layout;

/// Mostly numbers in [-2, 2); infinities, NaNs of both signs, zeros of both signs and equal ones.
Tensor random_values(Random& random, const Type& type) {
  Tensor t(type);
  bool special = chance(random, 30);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < type.elements(); ++i) {
      double value = static_cast<double>(random() >> 11) / 0x1p51 - 2;
      if (special && chance(random, 10)) {
        constexpr double inf = std::numeric_limits<double>::infinity(),
                         nan = std::numeric_limits<double>::quiet_NaN();
        constexpr double list[] = {inf, -inf, nan, -nan, 0.0, -0.0, 1};
        value = list[below(random, 7)];
      }
      if constexpr (std::is_floating_point_v<Compute<T>>)
        t.as<T>()[i] = store<T>(value);
      else
        t.as<T>()[i] = store<T>(static_cast<std::int64_t>(random() % 5) - 2);
    }
  });
  return t;
}

/// One node with its operands as inputs of the graph.
struct Call {
  Program program;
  NodeId node;

  explicit Call(const std::string& text)
      : program(parse(text, ops::all())), node(graph().node(graph().outputs()[0].value)) {}
  const Graph& graph() const { return program.graphs[0]; }
  std::vector<Type> operands() const {
    std::vector<Type> types;
    for (Value v : graph()[node].inputs) types.push_back(graph().type(v));
    return types;
  }
  std::vector<Type> results() const {
    std::vector<Type> types;
    for (Value v : graph().results(node)) types.push_back(graph().type(v));
    return types;
  }
};

/// A layout like that of a convolution: the second of at least three dimensions in blocks.
Layout blocked(const Shape& shape, std::int64_t block) {
  std::int64_t inner = 1;
  for (std::size_t d = 2; d < shape.size(); ++d) inner *= shape[d];
  return {
      {shape[0], shape[1] * inner}, {shape[1] / block, block * inner}, {block, 1}, {inner, block}};
}

Layout chosen(Random& random, const Type& type, bool any, bool dense) {
  const Shape& s = type.shape;
  if (!any) return Layout::row_major(type.elements());
  for (std::int64_t block : {16, 8})
    if (s.size() > 2 && s[1] % block == 0 && chance(random, 50)) return blocked(s, block);
  return random_layout(random, s, dense);
}

void expect_same_bits(const Call& call, Random& random) {
  SCOPED_TRACE(call.graph().describe(call.node));
  const Node& node = call.graph()[call.node];
  std::vector<Type> operands = call.operands(), results = call.results();
  auto kernel =
      prepare_reference({*node.op, node.attributes, operands, results, call.graph().world()});
  std::vector<Tensor> values;
  std::vector<PlacedValue> from, to;
  std::vector<ConstView> read;
  std::vector<View> written;
  std::string layouts;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values.push_back(random_values(random, operands[i]));
    if (operands[i].dtype == DType::i64 && &*node.op == &ops::max_pool_grad)
      for (std::int64_t k = 0; k < operands[i].elements(); ++k)
        values[i].as<std::int64_t>()[k] = static_cast<std::int64_t>(below(random, 20));
    from.emplace_back(values[i], chosen(random, operands[i], kernel->operands[i].any, false));
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    to.emplace_back(results[i], chosen(random, results[i], kernel->results[i].any, true));
  for (PlacedValue& v : from) {
    read.push_back(v.read());
    layouts += to_text(read.back().layout) + " ";
  }
  for (PlacedValue& v : to) {
    written.push_back(v.view());
    layouts += "-> " + to_text(written.back().layout);
  }
  SCOPED_TRACE(layouts);
  std::vector<Tensor> copies = values, expected = evaluate(call.graph(), call.node, copies);
  Tensor workspace(Type{DType::u8, false, {kernel->workspace_bytes}});
  kernel->bind(read, written, workspace.bytes())->run();
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(same_bits(to[i].row_major(), expected[i])) << "result " << i;
    EXPECT_TRUE(to[i].intact());
  }
  for (std::size_t i = 0; i < operands.size(); ++i)
    EXPECT_TRUE(same_bits(from[i].row_major(), values[i]));
}

void expect_same_bits(const std::string& text, std::uint64_t seed, int times) {
  Call call(text);
  Random random(seed);
  for (int i = 0; i < times; ++i) expect_same_bits(call, random);
}

std::string program(const std::string& inputs, const std::string& node) {
  std::string names = node.substr(0, node.find(':'));
  return "graph step(" + inputs + ") {\n  " + node + "\n  return " + names + "\n}\n";
}

TEST(AnyLayout, Elementwise) {
  for (const std::string type : {"f32[3,32,5,4]", "bf16[2,16,3,7]", "i32[40,31]", "f64[6,500]"}) {
    expect_same_bits(program("%a: " + type + ", %b: " + type, "%y: " + type + " = add(%a, %b)"), 1,
                     40);
    std::string scalar = type.substr(0, type.find('[')) + "[]";
    expect_same_bits(program("%a: " + type + ", %b: " + scalar, "%y: " + type + " = mul(%a, %b)"),
                     2, 20);
    std::string flag = "bool" + type.substr(type.find('['));
    expect_same_bits(program("%c: " + flag + ", %a: " + type + ", %b: " + type,
                             "%y: " + type + " = select(%c, %a, %b)"),
                     3, 20);
  }
}

TEST(AnyLayout, ElementwiseWithRepeatedOperands) {
  Call call(program("%a: f32[8,32,7,5], %b: f32[8,32,7,5]", "%y: f32[8,32,7,5] = add(%a, %b)"));
  std::vector<Type> types = call.operands(), results = call.results();
  const Node& node = call.graph()[call.node];
  auto kernel =
      prepare_reference({*node.op, node.attributes, types, results, call.graph().world()});
  Random random(5);
  for (Layout small : {Layout{{8, 0}, {32, 1}, {35, 0}}, Layout{{256, 0}, {35, 1}},
                       Layout{{8, 1}, {1120, 0}}, Layout{{8960, 0}}}) {
    Tensor a = random_values(random, types[0]), b(types[1]);
    auto places = testing::places_of(small);
    Tensor few = random_values(random, {DType::f32, false, {small.bounds().second + 1}});
    for (std::size_t i = 0; i < places.size(); ++i) b.as<float>()[i] = few.as<float>()[places[i]];
    std::vector<Tensor> inputs{a, b};
    Tensor expected = evaluate(call.graph(), call.node, inputs)[0];
    for (Layout out : {Layout::row_major(8960), blocked(types[0].shape, 16)}) {
      PlacedValue x(a, out), y(types[0], out);
      std::vector<ConstView> from{x.read(), {types[1], small, few.bytes().data()}};
      View to = y.view();
      Tensor workspace(Type{DType::u8, false, {kernel->workspace_bytes}});
      kernel->bind(from, {&to, 1}, workspace.bytes())->run();
      EXPECT_TRUE(same_bits(y.row_major(), expected)) << to_text(small) << " " << to_text(out);
    }
  }
}

TEST(AnyLayout, AResultMayLieOnAnOperand) {
  Random random(6);
  for (const std::string& text :
       {program("%a: f32[4,16,9], %b: f32[4,16,9]", "%y: f32[4,16,9] = sub(%a, %b)"),
        program("%a: bf16[700], %b: bf16[700]", "%y: bf16[700] = sub(%a, %b)")}) {
    Call call(text);
    std::vector<Type> types = call.operands(), results = call.results();
    const Node& node = call.graph()[call.node];
    auto kernel =
        prepare_reference({*node.op, node.attributes, types, results, call.graph().world()});
    EXPECT_EQ(kernel->may_overwrite[0], (std::vector<std::uint32_t>{0, 1}));
    for (int i = 0; i < 20; ++i) {
      std::vector<Tensor> values{random_values(random, types[0]), random_values(random, types[1])};
      std::vector<Tensor> copies = values;
      Tensor expected = evaluate(call.graph(), call.node, copies)[0];
      std::size_t over = below(random, 2);
      Layout layout = random_layout(random, types[0].shape, true);
      PlacedValue x(values[over], layout),
          other(values[1 - over], random_layout(random, types[0].shape, false));
      std::vector<ConstView> from{x.read(), other.read()};
      if (over == 1) std::swap(from[0], from[1]);
      View to = x.view();
      Tensor workspace(Type{DType::u8, false, {kernel->workspace_bytes}});
      kernel->bind(from, {&to, 1}, workspace.bytes())->run();
      EXPECT_TRUE(same_bits(x.row_major(), expected)) << to_text(layout);
    }
  }
}

TEST(AnyLayout, Reductions) {
  for (const std::string op : {"sum", "mean", "product", "max", "min"})
    for (const std::string dims : {"[0,2,3]", "[0]", "[3]", "[1]", "[2,3]", "[0,1,2,3]", "[]"}) {
      bool all = dims == "[0,1,2,3]", none = dims == "[]";
      std::string kept = all               ? "[]"
                         : none            ? "[3,32,9,5]"
                         : dims == "[0]"   ? "[32,9,5]"
                         : dims == "[1]"   ? "[3,9,5]"
                         : dims == "[3]"   ? "[3,32,9]"
                         : dims == "[2,3]" ? "[3,32]"
                                           : "[32]";
      for (const std::string dtype : {"f32", "bf16"})
        expect_same_bits(program("%x: " + dtype + "[3,32,9,5]",
                                 "%y: " + dtype + kept + " = " + op + "(%x) {dims=" + dims + "}"),
                         7, 12);
    }
  expect_same_bits(program("%x: i8[40,150]", "%y: i8[150] = sum(%x) {dims=[0]}"), 8, 10);
  expect_same_bits(program("%x: f32[1000,7]", "%y: f32[7] = sum(%x) {dims=[0]}"), 8, 10);
  expect_same_bits(program("%x: f32[3,300]", "%y: f32[3] = sum(%x) {dims=[1]}"), 8, 10);
  expect_same_bits(program("%x: bool[6,35]", "%y: bool[6] = any(%x) {dims=[1]}"), 8, 10);
  expect_same_bits(program("%x: bool[6,35]", "%y: bool[35] = all(%x) {dims=[0]}"), 8, 10);
  for (const std::string dim : {"0", "1"}) {
    std::string kept = dim == "0" ? "[35]" : "[6]";
    for (const std::string op : {"argmax", "argmin"})
      expect_same_bits(
          program("%x: f32[6,35]", "%y: i64" + kept + " = " + op + "(%x) {dim=" + dim + "}"), 9,
          10);
    for (const std::string op : {"cumsum", "cumprod"})
      expect_same_bits(program("%x: f32[6,35]", "%y: f32[6,35] = " + op + "(%x) {dim=" + dim + "}"),
                       9, 10);
  }
}

TEST(AnyLayout, Pooling) {
  for (const std::string dtype : {"f32", "bf16", "f64"}) {
    auto x = dtype + "[2,32,9,8]", y = dtype + "[2,32,5,4]";
    std::string window = "{kernel=[3,2], stride=[2,2], padding=[1,0]}";
    expect_same_bits(
        program("%x: " + x, "%y: " + y + ", %i: i64[2,32,5,4] = max_pool(%x) " + window), 10, 25);
    expect_same_bits(program("%x: " + x, "%y: " + y + " = avg_pool(%x) " + window), 11, 25);
    expect_same_bits(program("%d: " + y + ", %i: i64[2,32,5,4]",
                             "%x: " + x + " = max_pool_grad(%d, %i) {spatial=2, shape=[2,32,9,8]}"),
                     12, 25);
    expect_same_bits(program("%d: " + y, "%x: " + x +
                                             " = avg_pool_grad(%d) {kernel=[3,2], stride=[2,2], "
                                             "padding=[1,0], shape=[2,32,9,8]}"),
                     13, 25);
  }
}

TEST(AnyLayout, Views) {
  expect_same_bits(program("%x: f32[6,32,7]", "%y: f32[7,6,32] = permute(%x) {dims=[2,0,1]}"), 14,
                   40);
  expect_same_bits(program("%x: bf16[6,32,7]", "%y: bf16[42,32] = reshape(%x) {shape=[42,32]}"), 15,
                   40);
  expect_same_bits(program("%x: i64[6,1,7]", "%y: i64[2,6,5,7] = broadcast(%x) {shape=[2,6,5,7]}"),
                   16, 40);
  expect_same_bits(
      program("%x: u8[6,32,7]",
              "%y: u8[3,8,7] = slice(%x) {starts=[1,2,0], stops=[6,31,7], steps=[2,4,1]}"),
      17, 40);
  expect_same_bits(program("%x: f64[6,32,7]", "%y: f64[6,32,7] = flip(%x) {dims=[0,2]}"), 18, 40);
}

}  // namespace
}  // namespace hocket

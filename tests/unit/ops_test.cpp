#include "hocket/ops/ops.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/scalar.h"
#include "hocket/ops/work.h"

namespace hocket {
namespace {

/// The elements, as doubles, of the value that one line of text computes.
std::vector<double> run(const std::string& lines) {
  Program p = parse("graph step() {\n" + lines + "\n  return %y\n}\n", ops::all());
  Tensor t = interpret(p, std::vector<std::vector<Tensor>>{{}})[0].outputs[0];
  std::vector<double> out;
  visit(t.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < t.type().elements(); ++i)
      out.push_back(static_cast<double>(load(t.as<T>()[i])));
  });
  return out;
}

using D = std::vector<double>;
constexpr double inf = std::numeric_limits<double>::infinity();

std::string with(const std::string& type, const std::string& values, const std::string& node) {
  return "  %x: " + type + " = constant {value=[" + values + "]}\n  %y: " + node;
}

TEST(Ops, Elementwise) {
  EXPECT_EQ(run(with("f32[3]", "1.0,-2.0,0.0", "f32[3] = relu(%x)")), (D{1, 0, 0}));
  EXPECT_EQ(run(with("f32[3]", "1.0,-2.0,0.0", "f32[3] = mul(%x, %x)")), (D{1, 4, 0}));
  EXPECT_EQ(run(with("i8[2]", "127,-128", "i8[2] = add(%x, %x)")), (D{-2, 0}));
  EXPECT_EQ(run(with("i64[2]", "9223372036854775807,-9223372036854775808", "i64[2] = neg(%x)")),
            (D{-9223372036854775807.0, -9223372036854775808.0}));
  EXPECT_EQ(run(with("u8[2]", "3,250", "u8[2] = sub(%x, %x)")), (D{0, 0}));
  EXPECT_EQ(run(with("f64[2]", "2.25,inf", "f64[2] = sqrt(%x)")), (D{1.5, inf}));
  EXPECT_EQ(run(with("f64[1]", "-inf", "f64[1] = exp(%x)")), (D{0}));
  EXPECT_EQ(run(with("f64[2]", "inf,-inf", "f64[2] = tanh(%x)")), (D{1, -1}));
  EXPECT_EQ(run(with("f32[0]", "", "f32[0] = neg(%x)")), D{});
  EXPECT_TRUE(std::signbit(run(with("f32[1]", "0.0", "f32[1] = neg(%x)"))[0]));
}

TEST(Ops, NanWinsInMaximumAndMinimum) {
  std::string two = "  %n: f32[] = constant {value=[nan]}\n";
  for (const char* op : {"maximum", "minimum"}) {
    EXPECT_TRUE(std::isnan(
        run(two + with("f32[1]", "1.0", std::string("f32[1] = ") + op + "(%x, %n)"))[0]));
    EXPECT_TRUE(std::isnan(
        run(two + with("f32[1]", "1.0", std::string("f32[1] = ") + op + "(%n, %x)"))[0]));
  }
  EXPECT_TRUE(std::isnan(run(with("f32[1]", "nan", "f32[1] = relu(%x)"))[0]));
}

TEST(Ops, HalfPrecisionRoundsOnce) {
  // 256 + 1 is not a bf16; the sum is computed in f32 and rounded to even.
  EXPECT_EQ(run(with("bf16[2]", "256.0,1.0", "bf16[2] = add(%x, %o)")
                    .insert(0, "  %o: bf16[] = constant {value=[1.0]}\n")),
            (D{256, 2}));
  EXPECT_EQ(run(with("f16[1]", "2048.0", "f16[1] = add(%x, %o)")
                    .insert(0, "  %o: f16[] = constant {value=[1.0]}\n")),
            (D{2048}));
}

TEST(Ops, ComparisonsSelectAndCast) {
  std::string nan = "  %n: f32[3] = constant {value=[1.0,nan,3.0]}\n";
  EXPECT_EQ(run(nan + "  %y: bool[3] = eq(%n, %n)"), (D{1, 0, 1}));
  EXPECT_EQ(run(nan + "  %y: bool[3] = ne(%n, %n)"), (D{0, 1, 0}));
  EXPECT_EQ(run(nan + "  %y: bool[3] = le(%n, %n)"), (D{1, 0, 1}));
  EXPECT_EQ(run(nan + "  %t: f32[] = constant {value=[2.0]}\n  %y: bool[3] = lt(%n, %t)"),
            (D{1, 0, 0}));
  EXPECT_EQ(run(nan + "  %e: bool[3] = eq(%n, %n)\n  %z: f32[] = constant {value=[0.5]}\n  %y: "
                      "f32[3] = select(%e, %n, %z)"),
            (D{1, 0.5, 3}));
  EXPECT_EQ(run(with("f32[4]", "1.9,-1.9,300.0,0.0", "i32[4] = cast(%x) {dtype=i32}")),
            (D{1, -1, 300, 0}));
  EXPECT_EQ(run(with("f32[3]", "0.0,-0.0,0.5", "bool[3] = cast(%x) {dtype=bool}")), (D{0, 0, 1}));
  EXPECT_EQ(run(with("i32[2]", "257,-1", "u8[2] = cast(%x) {dtype=u8}")), (D{1, 255}));
  EXPECT_EQ(run(with("bool[2]", "true,false", "f16[2] = cast(%x) {dtype=f16}")), (D{1, 0}));
  EXPECT_EQ(run(with("f64[1]", "0.1", "f32[1] = cast(%x) {dtype=f32}")), (D{0.1f}));
}

TEST(Ops, ShapesSumsAndProducts) {
  std::string x = "  %x: f32[2,3] = constant {value=[1.0,2.0,3.0,4.0,5.0,6.0]}\n";
  EXPECT_EQ(run(x + "  %y: f32[3,2] = permute(%x) {dims=[1,0]}"), (D{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run(x + "  %y: f32[3,2] = reshape(%x) {shape=[3,2]}"), (D{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run(x + "  %y: f32[3] = sum(%x) {dims=[0]}"), (D{5, 7, 9}));
  EXPECT_EQ(run(x + "  %y: f32[2,1] = sum(%x) {dims=[1], keep=true}"), (D{6, 15}));
  EXPECT_EQ(run(x + "  %y: f32[] = sum(%x) {dims=[0,1]}"), (D{21}));
  EXPECT_EQ(run(x + "  %y: f32[2,3] = sum(%x)"), (D{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run("  %e: f32[0,3] = constant\n  %y: f32[3] = sum(%e) {dims=[0]}"), (D{0, 0, 0}));
  EXPECT_EQ(run(x + "  %y: f32[2,2] = matmul(%x, %x) {transpose_b=true}"), (D{14, 32, 32, 77}));
  EXPECT_EQ(run(x + "  %y: f32[3,3] = matmul(%x, %x) {transpose_a=true}"),
            (D{17, 22, 27, 22, 29, 36, 27, 36, 45}));
  EXPECT_EQ(run(x + "  %t: f32[3,2] = permute(%x) {dims=[1,0]}\n  %y: f32[2,2] = matmul(%x, %t)"),
            (D{14, 32, 32, 77}));
  EXPECT_EQ(run(x + "  %t: f32[3,2] = permute(%x) {dims=[1,0]}\n  %y: f32[3,3] = matmul(%x, %t) "
                    "{transpose_a=true, transpose_b=true}"),
            (D{17, 22, 27, 22, 29, 36, 27, 36, 45}));
  EXPECT_EQ(
      run("  %a: f32[2,0] = constant\n  %b: f32[0,2] = constant\n  %y: f32[2,2] = matmul(%a, %b)"),
      (D{0, 0, 0, 0}));
  EXPECT_EQ(run("  %a: i32[2,1,2] = constant {value=[1,2,3,4]}\n  %y: i32[2,1,1] = matmul(%a, %a) "
                "{transpose_b=true}"),
            (D{5, 25}));
  EXPECT_EQ(run("  %a: f32[2,1] = constant {value=[1.0,2.0]}\n  %y: f32[2,2,3] = broadcast(%a) "
                "{shape=[2,2,3]}"),
            (D{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

TEST(Ops, ContractionIsOff) {
  // (1 + 2^-27)^2 - (1 + 2^-26): a fused multiply-add would keep 2^-54. The loop body is what a
  // compiler likes to fuse.
  volatile double a = 1 + 0x1p-27, c = -(1 + 0x1p-26);
  EXPECT_EQ(a * a + c, 0.0);
  EXPECT_EQ(std::fma(a, a, c), 0x1p-54);
  std::string x =
      "  %x: f64[1,2] = constant {value=["
      "1.0000000074505806,1.0]}\n  %w: f64[2,1] = constant "
      "{value=[1.0000000074505806,-1.0000000149011612]}\n";
  EXPECT_EQ(run(x + "  %y: f64[1,1] = matmul(%x, %w)"), (D{0}));
}

TEST(Ops, TreeSumsAreAccurate) {
  // A million times 0.1 in f32: a running sum is off by a percent, the tree by a rounding.
  Program p = parse(
      "graph step() {\n  %x: f32[1000000] = full {value=0.1}\n  %y: f32[] = sum(%x) {dims=[0]}\n  "
      "return %y\n}\n",
      ops::all());
  Tensor t = interpret(p, std::vector<std::vector<Tensor>>{{}})[0].outputs[0];
  EXPECT_NEAR(t.as<float>()[0], 100000.0f, 0.05f);
}

TEST(Ops, BodiesAreTracedToPrograms) {
  DType bf16[] = {DType::bf16};
  ScalarProgram relu = trace(ops::relu, bf16, DType::bf16);
  ASSERT_EQ(relu.steps.size(), 3u);
  EXPECT_EQ(relu.steps[0].dtype, DType::f32);  // computed in the compute dtype
  EXPECT_EQ(relu.steps[2].code, ScalarCode::max);
  DType f32[] = {DType::f32};
  ScalarProgram cast = trace(ops::cast, f32, DType::i64);
  EXPECT_EQ(cast.steps.back().code, ScalarCode::convert);
  EXPECT_EQ(cast.steps.back().dtype, DType::i64);
}

TEST(Ops, ConstantsKeepEveryBit) {
  auto round_trip = [](Tensor t) {
    Graph g;
    auto v = ops::add_constant(g, t);
    return v && same_bits(*ops::constant_value(g, *v), t);
  };
  for (std::uint32_t bits : {0u, 0x80000000u, 1u, 0x7f7fffffu, 0x7f800000u, 0xff800000u,
                             0x7fc00000u, 0xffc00000u, 0x3dcccccdu}) {
    Tensor t(Type{DType::f32, false, {}});
    t.as<std::uint32_t>()[0] = bits;
    EXPECT_TRUE(round_trip(t)) << bits;
  }
  Tensor payload(Type{DType::f32, false, {}});
  payload.as<std::uint32_t>()[0] = 0x7fc00001;
  Graph g;
  EXPECT_FALSE(ops::add_constant(g, payload));
  Tensor many(Type{DType::i64, false, {17}});
  for (int i = 0; i < 17; ++i) many.as<std::int64_t>()[i] = i;
  EXPECT_FALSE(ops::add_constant(g, many));
  std::fill_n(many.as<std::int64_t>(), 17, -1);
  ASSERT_TRUE(ops::add_constant(g, many));
}

TEST(Ops, ADrawDependsOnSeedOffsetAndIndexAlone) {
  auto draw = [](const char* op, const char* key, const char* type) {
    return run(std::string("  %k: i64[2] = constant {value=[") + key + "]}\n  %y: " + type + " = " +
               op + "(%k)");
  };
  for (const char* op : {"uniform", "normal"}) {
    D few = draw(op, "7,1", "f32[4]"), many = draw(op, "7,1", "f32[25,4]");
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
    EXPECT_NE(draw(op, "8,1", "f32[4]"), few);
    EXPECT_NE(draw(op, "7,2", "f32[4]"), few);
    double sum = 0;
    for (double v : many) sum += v;
    EXPECT_NEAR(sum / 100, op[0] == 'u' ? 0.5 : 0.0, 0.3);
  }
}

TEST(Ops, WorkOfANode) {
  Program p = parse(R"(graph step(%x: f32[4,8], %w: f32[8,2], %q: f32[1,2,3,4]) {
  %y: f32[4,2] = matmul(%x, %w)
  %g: f32[4,8] = silu(%x)
  %s: f32[8] = sum(%x) {dims=[0]}
  %v: f32[32] = reshape(%x) {shape=[32]}
  %p: f32[8,4] = permute(%x) {dims=[1,0]}
  %m: f32[4,8] = softmax(%x) {dim=1}
  return %y, %g, %s, %v, %p, %m
})",
                    ops::all());
  const Graph& g = p.graphs[0];
  auto node = [&](const char* name) { return g.node(g.find(name)); };
  EXPECT_EQ(flops(g, node("y")), 2 * 4 * 8 * 2);
  EXPECT_EQ(flops(g, node("g")), 4 * 32);  // negate, exp, add, divide
  EXPECT_EQ(flops(g, node("s")), 32);
  EXPECT_EQ(flops(g, node("p")), 0);
  EXPECT_EQ(flops(g, node("m")), 5 * 32);  // max, subtract, exp, sum, divide
  EXPECT_EQ(bytes_moved(g, node("v")), 0);
  EXPECT_EQ(bytes_moved(g, node("p")), 2 * 128);
}

/// One step of an optimizer on one number each; `dtypes` are those of the parameter, its gradient
/// and its state, then of lr, scale and skip.
std::string optimizer_step(const std::string& op, std::span<const std::string> dtypes) {
  std::string text, state, results;
  std::size_t states = dtypes.size() - 5;
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    text += fmt::format("  %o{}: {}[] = full {{value=1.0}}\n", i, dtypes[i]);
  for (std::size_t i = 0; i < states; ++i) {
    state += fmt::format(", [%o{}]", i + 2);
    results += fmt::format(", %r{}: {}[]", i + 1, dtypes[i + 2]);
  }
  std::size_t lr = dtypes.size() - 3;
  std::string steps = op == "sgd" ? "" : fmt::format(", [%o{}]", lr);
  return text + fmt::format("  %y: {}[]{} = {}([%o0], [%o1]{}{}, %o{}, [%o{}], [%o{}]){}\n",
                            dtypes[0], results, op, state, steps, lr, lr + 1, lr + 2,
                            op == "sgd" ? " {momentum=0.9}" : "");
}

TEST(Ops, OptimizersRunInEveryDtypeThatTheyAccept) {
  const std::vector<std::string> floats{"f64", "f32", "bf16", "f16"};
  auto is_wide = [](const std::string& dtype) { return dtype == "f64"; };
  for (const auto& [op, states] : {std::pair{"sgd", 1}, {"adam", 3}, {"adamw", 3}}) {
    int accepted = 0, all = 1;
    for (int i = 0; i < 2 + states; ++i) all *= 4;
    for (int code = 0; code < all; ++code) {
      std::vector<std::string> dtypes;
      for (int rest = code, i = 0; i < 2 + states; ++i, rest /= 4)
        dtypes.push_back(floats[static_cast<std::size_t>(rest % 4)]);
      bool fits = std::ranges::all_of(std::span(dtypes).subspan(2), [&](const std::string& dtype) {
        return is_wide(dtype) == is_wide(dtypes[0]);
      });
      for (std::size_t i = 0; i < 3; ++i)
        dtypes.push_back(floats[(static_cast<std::size_t>(code) + i) % 4]);
      std::string step = optimizer_step(op, dtypes);
      if (fits)
        EXPECT_EQ(run(step).size(), 1U) << step;
      else
        EXPECT_THROW(run(step), Error) << step;
      accepted += fits;
    }
    EXPECT_EQ(accepted, states == 1 ? 40 : 4 * (27 * 3 + 1)) << op;
  }
}

TEST(Ops, AllAreListedOnceWithADocAndATypeRule) {
  std::set<std::string_view> names;
  for (const Op* op : ops::all()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_NE(op->infer, nullptr) << op->name;
    int meanings = (op->body != nullptr) + (op->view != nullptr) + (op->kernel != nullptr) +
                   (op->expand != nullptr) + (op->exchange != nullptr);
    bool structural = op->is_wait || op->has_region || op == &ops::barrier;
    EXPECT_EQ(meanings, structural ? 0 : 1) << op->name;
    EXPECT_EQ(ops::find(op->name), op);
  }
  EXPECT_EQ(ops::find("nothing"), nullptr);
}

}  // namespace
}  // namespace hocket

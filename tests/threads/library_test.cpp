#include "hocket/codegen/library/library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// Numbers in [-1, 1) without a pattern.
Tensor numbers(const Type& type, std::uint32_t seed) {
  Tensor t(type);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < type.elements(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      t.as<T>()[i] = store<T>(static_cast<double>(seed >> 8) / 0x1p23 - 1);
    }
  });
  return t;
}

/// One node and values for its operands.
struct Case {
  Program program;
  NodeId node;
  std::vector<Tensor> inputs;

  Case(const std::string& a, const std::string& b, const std::string& type, const std::string& call)
      : program(parse("graph step(%a: " + a + ", %b: " + b + ") {\n  %y: " + type + " = " + call +
                          "\n  return %y\n}\n",
                      ops::all())) {
    const Graph& g = program.graphs[0];
    node = g.node(g.outputs()[0].value);
    for (const Input& in : g.inputs())
      inputs.push_back(numbers(g.type(in.value), static_cast<std::uint32_t>(inputs.size() + 1)));
  }

  Tensor plain() const { return evaluate(program.graphs[0], node, inputs)[0]; }
  /// By the backend; empty where it leaves the call alone.
  Tensor by(Backend& backend) const {
    bool ran = false;
    auto results = evaluate(program.graphs[0], node, inputs, 0,
                            [&](KernelCall& c) { return ran = backend.run(c); });
    return ran ? results[0] : Tensor{};
  }
};

void expect_close(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_EQ(got.type(), expected.type());
  visit(got.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < got.type().elements(); ++i) {
      auto a = static_cast<double>(load(got.as<T>()[i])),
           b = static_cast<double>(load(expected.as<T>()[i]));
      ASSERT_NEAR(a, b, tolerance * std::max(1.0, std::abs(b))) << "element " << i;
    }
  });
}

std::vector<Case> matmuls(const std::string& dtype) {
  std::vector<Case> cases;
  struct Sizes {
    std::string lead;
    int m, n, k;
  };
  for (const Sizes& s : {Sizes{"", 7, 5, 3},
                         {"", 64, 48, 80},
                         {"", 1, 33, 17},
                         {"", 19, 1, 40},
                         {"", 1, 1, 1},
                         {"", 3, 130, 1},
                         {"5,", 9, 11, 13},
                         {"2,3,", 16, 8, 31},
                         {"1,", 4, 6, 2},
                         {"2,1,2,", 1, 5, 9}})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        auto type = [&](int rows, int columns, bool swapped) {
          return fmt::format("{}[{}{},{}]", dtype, s.lead, swapped ? columns : rows,
                             swapped ? rows : columns);
        };
        std::string flags;
        if (ta) flags += "transpose_a=true";
        if (tb) flags += ta ? ", transpose_b=true" : "transpose_b=true";
        cases.emplace_back(type(s.m, s.k, ta), type(s.k, s.n, tb), type(s.m, s.n, false),
                           "matmul(%a, %b)" + (flags.empty() ? "" : " {" + flags + "}"));
      }
  return cases;
}

/// A convolution by its window; sizes of the other tensors follow.
struct ConvWindow {
  std::int64_t batch, groups, in, out;  // channels in all
  Ints size, kernel, stride = {}, padding = {}, dilation = {}, output_padding = {};
  bool transposed = false;
};

std::vector<ConvWindow> windows() {
  std::vector<ConvWindow> list{
      {2, 1, 4, 6, {11}, {3}},
      {2, 1, 17, 33, {9, 12}, {3, 3}, {}, {1, 1}},
      {2, 1, 16, 32, {14, 14}, {3, 3}, {2, 2}},
      {2, 1, 3, 16, {15, 16}, {7, 7}, {2, 2}, {3, 3}},
      {2, 1, 1, 8, {10, 10}, {3, 3}, {}, {1, 1}},
      {2, 1, 24, 8, {6, 7}, {1, 1}},
      {2, 1, 8, 16, {9, 9}, {1, 1}, {2, 3}},
      {2, 1, 8, 8, {12, 13}, {3, 2}, {}, {2, 1}, {2, 3}},
      {1, 1, 5, 7, {12, 11}, {2, 4}, {3, 1}, {0, 2}},
      {2, 1, 4, 4, {4, 4}, {3, 3}, {}, {5, 5}},
      {2, 4, 8, 12, {8, 9}, {3, 3}, {}, {1, 1}},
      {2, 2, 32, 32, {8, 8}, {3, 3}, {2, 1}},
      {2, 8, 16, 16, {20}, {5}, {2}, {2}},
      {2, 32, 32, 32, {9, 10}, {3, 3}, {}, {1, 1}},
      {2, 13, 13, 13, {9, 9}, {3, 3}, {2, 2}, {1, 1}},
      {2, 6, 6, 12, {7, 7}, {3, 3}, {}, {}, {2, 2}},
      {2, 1, 5, 4, {5, 6, 7}, {3, 2, 3}, {}, {1, 0, 1}},
      {2, 2, 4, 6, {6, 5, 7}, {2, 3, 2}, {2, 1, 3}, {1, 1, 0}, {1, 2, 1}},
  };
  std::size_t plain = list.size();
  for (std::size_t i = 0; i < plain; ++i) {
    list.push_back(list[i]);
    list.back().transposed = true;
  }
  list.push_back({2, 1, 6, 4, {5, 6}, {3, 3}, {2, 3}, {1, 0}, {}, {1, 2}, true});
  return list;
}

std::string text(const ConvWindow& w, bool gradient) {
  std::string out;
  auto add = [&](const std::string& item) { out += (out.empty() ? "" : ", ") + item; };
  if (!w.stride.empty()) add("stride=" + dims_text(w.stride));
  if (!w.padding.empty()) add("padding=" + dims_text(w.padding));
  if (!w.dilation.empty()) add("dilation=" + dims_text(w.dilation));
  if (w.groups != 1) add(fmt::format("groups={}", w.groups));
  if (w.transposed && !gradient) add("transposed=true");
  if (!w.output_padding.empty()) add("output_padding=" + dims_text(w.output_padding));
  return out;
}

/// The convolution itself and, where it is not transposed, both gradients.
std::vector<Case> convolutions(const std::string& dtype) {
  std::vector<Case> cases;
  for (const ConvWindow& w : windows()) {
    auto of = [](const Ints& list, std::size_t i, std::int64_t missing) {
      return list.empty() ? missing : list[i];
    };
    Ints x{w.batch, w.in}, y{w.batch, w.out}, weight{w.out, w.in / w.groups};
    if (w.transposed) weight = {w.in, w.out / w.groups};
    bool fits = true;
    for (std::size_t i = 0; i < w.size.size(); ++i) {
      std::int64_t s = of(w.stride, i, 1), p = of(w.padding, i, 0), d = of(w.dilation, i, 1);
      std::int64_t reach = d * (w.kernel[i] - 1) + 1;
      x.push_back(w.size[i]);
      weight.push_back(w.kernel[i]);
      y.push_back(w.transposed ? (w.size[i] - 1) * s - 2 * p + reach + of(w.output_padding, i, 0)
                               : (w.size[i] + 2 * p - reach) / s + 1);
      fits = fits && y.back() > 0;
    }
    if (!fits) continue;
    std::string tx = dtype + dims_text(x), ty = dtype + dims_text(y),
                tw = dtype + dims_text(weight);
    auto braces = [](const std::string& s) { return s.empty() ? "" : " {" + s + "}"; };
    cases.emplace_back(tx, tw, ty, "conv(%a, %b)" + braces(text(w, false)));
    if (w.transposed) continue;
    auto shaped = [&](const Ints& shape) {
      std::string rest = text(w, true);
      return braces(rest + (rest.empty() ? "" : ", ") + "shape=" + dims_text(shape));
    };
    cases.emplace_back(ty, tw, tx, "conv_grad_input(%a, %b)" + shaped(x));
    cases.emplace_back(ty, tx, tw, "conv_grad_weight(%a, %b)" + shaped(weight));
  }
  return cases;
}

std::string title(const Case& c) {
  const Graph& g = c.program.graphs[0];
  std::string out(g[c.node].op->name);
  for (const Tensor& t : c.inputs) out += " " + to_text(t.type());
  return out + " -> " + to_text(g.type(g.result(c.node)));
}

/// `all`: the library is to leave none of them alone.
void expect_like_plain(const std::vector<Case>& cases, double tolerance, bool all) {
  Library library;
  for (const Case& c : cases) {
    SCOPED_TRACE(title(c));
    Tensor got = c.by(library);
    EXPECT_TRUE(got || !all);
    if (got) expect_close(got, c.plain(), tolerance);
  }
}

TEST(Library, MatmulIsLikeThePlainKernel) { expect_like_plain(matmuls("f32"), 1e-5, true); }

TEST(Library, ConvolutionIsLikeThePlainKernel) {
  expect_like_plain(convolutions("f32"), 1e-5, true);
}

TEST(Library, Bf16IsLikeThePlainKernelWhereTheProcessorHasIt) {
  bool has = Library().numerics().find("avx512_core") != std::string::npos;
  expect_like_plain(matmuls("bf16"), 0x1p-7, has);
  expect_like_plain(convolutions("bf16"), 0x1p-7, false);
}

TEST(Library, LeavesTheRestAlone) {
  Library library;
  EXPECT_FALSE(Case("f64[2,3]", "f64[3,4]", "f64[2,4]", "matmul(%a, %b)").by(library));
  EXPECT_FALSE(Case("f16[2,3]", "f16[3,4]", "f16[2,4]", "matmul(%a, %b)").by(library));
  EXPECT_FALSE(Case("i32[2,3]", "i32[3,4]", "i32[2,4]", "matmul(%a, %b)").by(library));
  EXPECT_FALSE(Case("f32[2,0]", "f32[0,4]", "f32[2,4]", "matmul(%a, %b)").by(library));
  EXPECT_FALSE(Case("f32[0,3]", "f32[3,4]", "f32[0,4]", "matmul(%a, %b)").by(library));
  EXPECT_FALSE(Case("f32[0,2,5]", "f32[3,2,3]", "f32[0,3,3]", "conv(%a, %b)").by(library));
  // Longer at its end than oneDNN can say.
  EXPECT_FALSE(Case("f32[2,6,7]", "f32[6,4,3]", "f32[2,4,15]",
                    "conv(%a, %b) {dilation=[3], transposed=true, output_padding=[2]}")
                   .by(library));
  EXPECT_FALSE(Case("f32[4]", "f32[4]", "f32[4]", "add(%a, %b)").by(library));
  EXPECT_THROW(Library(0), Error);
}

/// Every result of all cases, one after the other, by one object.
std::vector<Tensor> all_results(const std::vector<Case>& cases, int threads, bool backwards) {
  Library library(threads);
  std::vector<Tensor> results(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::size_t at = backwards ? cases.size() - 1 - i : i;
    results[at] = cases[at].by(library);
  }
  return results;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = matmuls("f32");
  for (Case& c : convolutions("f32")) cases.push_back(std::move(c));
  return cases;
}

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                 const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_TRUE(same_bits(a[i], b[i])) << title(cases[i]);
}

TEST(Library, BitsStayWhateverRanBefore) {
  std::vector<Case> cases = all_cases();
  auto first = all_results(cases, 1, false);
  for (int i = 0; i < 4; ++i) expect_same(all_results(cases, 1, i % 2 == 0), first, cases);
  Library one;  // a primitive used again
  Tensor again = cases[0].by(one);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(same_bits(cases[0].by(one), again));
}

TEST(Library, BitsStayWhenTwoRanksRunAtOnce) {
  std::vector<Case> cases = all_cases();
  auto alone = all_results(cases, 1, false);
  std::vector<Tensor> results[2];
  std::thread ranks[2];
  for (int r = 0; r < 2; ++r)
    ranks[r] = std::thread([&, r] { results[r] = all_results(cases, 1, r == 1); });
  for (std::thread& rank : ranks) rank.join();
  for (const auto& r : results) expect_same(r, alone, cases);
}

std::ptrdiff_t living_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// Before any test with more threads, because OpenMP keeps those.
TEST(Library, OneThreadMakesNoOther) {
  std::ptrdiff_t before = living_threads();
  Library library;
  Case("f32[256,256]", "f32[256,256]", "f32[256,256]", "matmul(%a, %b)").by(library);
  EXPECT_LE(living_threads(), before);  // a thread that was joined before may still be seen there
}

TEST(Library, BitsStayWithTwoThreads) {
  std::vector<Case> cases = all_cases();
  auto first = all_results(cases, 2, false);
  expect_same(all_results(cases, 2, true), first, cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(title(cases[i]));
    expect_close(first[i], cases[i].plain(), 1e-5);
  }
}

TEST(Library, SaysWhatDecidesTheBits) {
  EXPECT_TRUE(Library().numerics().starts_with("library: oneDNN 2."));
  EXPECT_TRUE(Library().numerics().ends_with(", 1 thread"));
  EXPECT_TRUE(Library(2).numerics().ends_with(", 2 threads"));
}

TEST(Library, MatmulsInsideACompositeAndARegionReachIt) {
  struct Counting final : Backend {
    std::string_view name() const override { return "counting"; }
    std::string numerics() const override { return "counting"; }
    bool run(KernelCall& call) override {
      matmuls += &call.op == &ops::matmul ? 1 : 0;
      attentions += &call.op == &ops::attention ? 1 : 0;
      return false;
    }
    int matmuls = 0, attentions = 0;
  } counting;
  Program p = parse(R"(graph step(%q: f32[1,2,3,4], %a: f32[2,2]) {
  %y: f32[1,2,3,4], %l: f32[1,2,3] = attention(%q, %q, %q, [])
  %z: f32[2,2] = call(%a) {backend="llvm"} region(%b: f32[2,2]) {
    %c: f32[2,2] = matmul(%b, %b)
    return %c
  }
  return %y, %z
})",
                    ops::all());
  const Graph& g = p.graphs[0];
  std::vector<std::vector<Tensor>> inputs{
      {numbers(g.type(g.inputs()[0].value), 1), numbers(g.type(g.inputs()[1].value), 2)}};
  auto plain = interpret(p, inputs), offered = interpret(p, inputs, {.backend = &counting});
  EXPECT_EQ(counting.attentions, 1);
  EXPECT_EQ(counting.matmuls, 3);
  for (std::size_t i : {0u, 1u}) EXPECT_TRUE(same_bits(plain[0].outputs[i], offered[0].outputs[i]));
}

}  // namespace
}  // namespace hocket

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
#include "tests/threads/library_cases.h"

namespace hocket {
namespace {

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

/// `all`: the library is to leave none of them alone.
void expect_like_plain(const std::vector<Case>& cases, double tolerance, bool all) {
  Library library;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.title());
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
    EXPECT_TRUE(same_bits(a[i], b[i])) << cases[i].title();
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
    SCOPED_TRACE(cases[i].title());
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
    std::shared_ptr<const Kernel> prepare(const KernelSpec& spec) override {
      matmuls += &spec.op == &ops::matmul ? 1 : 0;
      attentions += &spec.op == &ops::attention ? 1 : 0;
      return nullptr;
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
  Evaluator evaluator = make_evaluator(&counting);
  auto plain = interpret(p, inputs), offered = interpret(p, inputs, {.evaluator = &evaluator});
  EXPECT_EQ(counting.attentions, 1);
  EXPECT_EQ(counting.matmuls, 3);
  for (std::size_t i : {0u, 1u}) EXPECT_TRUE(same_bits(plain[0].outputs[i], offered[0].outputs[i]));
}

}  // namespace
}  // namespace hocket

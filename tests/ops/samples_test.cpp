// Runs the samples. Whoever adds an op adds samples of it, by hand or with make_samples.py.

#include "ops/samples.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/codegen/library/library.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/philox.h"
#include "support/any_layout.h"
#include "support/op_signatures.h"

namespace hocket {
namespace {

template <class T>
bool close(T got, T expected, double tolerance) {
  auto a = load(got), e = load(expected);
  if (a != a && e != e) return true;
  if (tolerance == 0) return std::memcmp(&got, &expected, sizeof(T)) == 0;
  if (a == e) return true;
  auto x = static_cast<double>(a), y = static_cast<double>(e);
  return std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y));
}

/// Says where the first difference is; nothing when there is none.
std::string difference(const Tensor& got, const Tensor& expected, double tolerance) {
  std::string text;
  visit(got.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < got.type().elements() && text.empty(); ++i)
      if (!close(got.as<T>()[i], expected.as<T>()[i], tolerance))
        text = fmt::format("element {} is {}, expected {}, tolerance {}", i, load(got.as<T>()[i]),
                           load(expected.as<T>()[i]), tolerance);
  });
  return text;
}

bool has_op(const Graph& g, std::string_view name) {
  for (NodeId n : g.nodes())
    if (g[n].op->name == name || (g[n].region && has_op(*g[n].region, name))) return true;
  return false;
}

/// Results against what is expected, each within its own tolerance or `at_least`.
void expect_values(const Sample& sample, const std::vector<RankResult>& results, double at_least) {
  std::size_t outputs = 0;
  for (const RankResult& r : results) outputs += r.outputs.size();
  EXPECT_EQ(outputs, sample.outputs.size()) << "an output without expected values";
  for (const Numbers& expected : sample.outputs) {
    const Tensor& got = results.at(expected.rank).outputs.at(expected.index);
    std::string found = difference(got, to_tensor(got.type(), expected.elements),
                                   std::max(expected.tolerance, at_least));
    EXPECT_EQ(found, "") << "rank " << expected.rank << ", output " << expected.index;
  }
}

TEST(Samples, AgreeWithValuesComputedElsewhere) {
  for (const Sample& sample : all_samples()) {
    SCOPED_TRACE(sample.title());
    try {
      Program program = parse(sample.program, ops::all());
      EXPECT_EQ(to_text(program), sample.program);
      bool shown = false;
      for (const Graph& g : program.graphs) shown |= has_op(g, sample.op);
      EXPECT_TRUE(shown) << "the program does not have the op";
      expect_values(sample, interpret(program, inputs_of(sample, program)), 0);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

/// The library, and whether it ran anything.
class Watched final : public Backend {
 public:
  std::string_view name() const override { return library_.name(); }
  std::string numerics() const override { return library_.numerics(); }
  std::shared_ptr<const Kernel> prepare(const KernelSpec& spec) override {
    auto kernel = library_.prepare(spec);
    ran_any |= kernel != nullptr;
    return kernel;
  }
  bool ran_any = false;

 private:
  Library library_;
};

TEST(Samples, AgreeThroughTheLibrary) {
  std::set<std::string> taken;
  Watched backend;
  for (const Sample& sample : all_samples()) {
    SCOPED_TRACE(sample.title());
    try {
      Program program = parse(sample.program, ops::all());
      backend.ran_any = false;
      Evaluator evaluator = make_evaluator(&backend);
      auto results = interpret(program, inputs_of(sample, program), {.evaluator = &evaluator});
      // Sums in another order; where bf16 is the result, one of its steps.
      bool half = sample.program.find("bf16") != std::string::npos;
      expect_values(sample, results, !backend.ran_any ? 0 : half ? 0x1p-7 : 1e-5);
      if (backend.ran_any) taken.insert(sample.op);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  for (const char* op :
       {"matmul", "conv", "conv_grad_input", "conv_grad_weight", "attention", "attention_grad"})
    EXPECT_TRUE(taken.contains(op)) << op;
}

/// By the interpreter alone, and by a backend that must give the same bits.
void expect_same_by(Backend& backend) {
  for (const Sample& sample : all_samples()) {
    SCOPED_TRACE(sample.title());
    try {
      Program program = parse(sample.program, ops::all());
      auto inputs = inputs_of(sample, program);
      Evaluator evaluator = make_evaluator(&backend);
      auto plain = interpret(program, inputs),
           got = interpret(program, inputs, {.evaluator = &evaluator});
      for (std::size_t r = 0; r < plain.size(); ++r)
        for (std::size_t i = 0; i < plain[r].outputs.size(); ++i)
          EXPECT_TRUE(same_bits(plain[r].outputs[i], got[r].outputs[i]))
              << "rank " << r << ", output " << i;
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

TEST(Samples, HaveTheSameBitsInAnyLayout) {
  testing::AnyLayout rows(0, true);
  expect_same_by(rows);
  int moved = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    testing::AnyLayout backend(seed);
    expect_same_by(backend);
    moved += backend.moved;
  }
  EXPECT_GT(moved, 1000);
}

/// Replaces every composite, and those that come out of them; returns their number.
int expand_all(Graph& g) {
  int count = 0;
  for (bool again = true; again;) {
    again = false;
    for (NodeId n : g.nodes()) {
      if (g[n].op->expand == nullptr) continue;
      std::vector<Value> results = g.results(n), values = expand(g, n, At(g, n));
      for (std::size_t i = 0; i < results.size(); ++i) g.replace_uses(results[i], values[i]);
      g.erase(n);
      again = true;
      ++count;
    }
  }
  return count;
}

TEST(Samples, CompositesAreTheirExpansions) {
  std::map<std::string_view, int> expanded;
  for (const Sample& sample : all_samples()) {
    SCOPED_TRACE(sample.title());
    try {
      Program program = parse(sample.program, ops::all()), plain = program;
      int count = 0;
      for (Graph& g : plain.graphs) count += expand_all(g);
      if (count == 0) continue;
      ++expanded[sample.op];
      verify(plain);
      auto inputs = inputs_of(sample, program);
      auto whole = interpret(program, inputs), parts = interpret(plain, inputs);
      for (std::size_t r = 0; r < whole.size(); ++r)
        for (std::size_t i = 0; i < whole[r].outputs.size(); ++i)
          EXPECT_TRUE(same_bits(whole[r].outputs[i], parts[r].outputs[i]))
              << "rank " << r << ", output " << i;
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  for (const Op* op : ops::all())
    EXPECT_TRUE(op->expand == nullptr || expanded[op->name] > 0) << op->name;
}

TEST(Samples, PhiloxHasThePublishedValues) {
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

/// What the samples of an op show beside ordinary numbers.
struct Shown {
  int samples = 0;
  bool nothing = false;  ///< an operand without elements
  bool nan = false, infinity = false;
  bool ties = false;   ///< two equal elements of one operand
  bool equal = false;  ///< equal elements at one place of two operands
};

bool has_ties(const Numbers& numbers) {
  return std::set(numbers.elements.begin(), numbers.elements.end()).size() <
         numbers.elements.size();
}

bool meet_equal(const Numbers& a, const Numbers& b) {
  if (a.elements.size() != b.elements.size()) return false;
  for (std::size_t i = 0; i < a.elements.size(); ++i)
    if (a.elements[i] == b.elements[i]) return true;
  return false;
}

std::map<std::string_view, Shown> shown_by_op() {
  std::map<std::string_view, Shown> shown;
  for (const Sample& sample : all_samples()) {
    Shown& s = shown[sample.op];
    ++s.samples;
    for (const Numbers& given : sample.inputs) {
      s.nothing |= given.elements.empty();
      for (const std::string& e : given.elements) {
        s.nan |= e == "nan";
        s.infinity |= e == "inf" || e == "-inf";
      }
      s.ties |= has_ties(given);
      for (const Numbers& other : sample.inputs)
        s.equal |= &other != &given && meet_equal(given, other);
    }
  }
  return shown;
}

/// Of floats alone, and with positions among its results: it compares elements with each other.
bool tells_positions(const Op& op) {
  for (const Sample& sample : all_samples()) {
    if (sample.op != op.name) continue;
    Program program = parse(sample.program, ops::all());
    for (const Graph& g : program.graphs)
      for (NodeId n : g.nodes()) {
        auto is_position = [&](Value v) { return g.type(v).dtype == DType::i64; };
        if (g[n].op == &op && !g[n].inputs.empty() &&
            std::ranges::none_of(g[n].inputs, is_position) &&
            std::ranges::any_of(g.results(n), is_position) &&
            std::ranges::all_of(g[n].inputs, [&](Value v) { return is_float(g.type(v).dtype); }))
          return op.body == nullptr;
      }
  }
  return false;
}

TEST(Samples, ShowWhereAnOpMayGoWrong) {
  auto shown = shown_by_op();
  for (const Op* op : ops::all()) {
    const Shown& s = shown[op->name];
    bool elementwise = op->body != nullptr;
    if (elementwise || (op->moves_data && !op->operands.empty() && !op->collective)) {
      EXPECT_TRUE(s.nothing) << op->name << ": no sample with a tensor without elements";
    }
    if (elementwise && testing::takes_floats(*op)) {
      EXPECT_TRUE(s.nan) << op->name << ": no sample with a NaN";
      EXPECT_TRUE(s.infinity) << op->name << ": no sample with an infinity";
    }
    if (elementwise && op->operands.size() > 1) {
      EXPECT_TRUE(s.equal) << op->name << ": no sample with equal elements at one place";
    }
    if (tells_positions(*op)) {
      EXPECT_TRUE(s.ties) << op->name << ": no sample with equal elements in one operand";
    }
  }
}

TEST(Samples, EveryOpHasThree) {
  std::map<std::string_view, int> counts;
  for (const Sample& sample : all_samples()) ++counts[sample.op];
  for (const Op* op : ops::all()) EXPECT_GE(counts[op->name], 3) << op->name;
  for (auto [name, count] : counts) EXPECT_NE(ops::find(name), nullptr) << name;
  fmt::print("{} samples of {} ops\n", all_samples().size(), counts.size());
}

}  // namespace
}  // namespace hocket

// Runs the samples beside this file: small programs whose results were computed elsewhere. Whoever
// adds an op adds samples of it, by hand or with make_samples.py.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/codegen/library/library.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/philox.h"
#include "support/op_signatures.h"

namespace hocket {
namespace {

/// A line `in RANK NAME [..]` or `out RANK INDEX TOLERANCE [..]`.
struct Numbers {
  std::size_t rank = 0;
  std::string name;
  std::size_t index = 0;
  double tolerance = 0;
  std::vector<std::string> elements;
};

struct Sample {
  std::string file;
  int line = 0;
  std::string op, what, program;
  std::vector<Numbers> inputs, outputs;

  std::string title() const { return fmt::format("{}: line {}: {}: {}", file, line, op, what); }
};

std::size_t to_size(std::string_view text) {
  return static_cast<std::size_t>(std::atoll(std::string(text).c_str()));
}

Numbers read_numbers(std::string_view line, bool output) {
  std::size_t open = line.find('['), close = line.rfind(']');
  if (open == line.npos || close == line.npos) fail("samples: no list in '{}'", line);
  auto words = split(trim(line.substr(0, open)), ' ');
  if (words.size() != (output ? 4u : 3u)) fail("samples: cannot read '{}'", line);
  Numbers n{.rank = to_size(words[1]), .name = std::string(words[2])};
  if (output) {
    n.index = to_size(words[2]);
    n.tolerance = std::strtod(std::string(words[3]).c_str(), nullptr);
  }
  std::string_view list = trim(line.substr(open + 1, close - open - 1));
  if (list.empty()) return n;
  for (std::string_view element : split(list, ',')) n.elements.emplace_back(trim(element));
  return n;
}

void read_samples(const std::filesystem::path& file, std::vector<Sample>& samples) {
  std::string text = read_file(file.string());
  std::size_t known = samples.size();
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.starts_with("== ")) {
      std::size_t colon = line.find(": ");
      if (colon == line.npos) fail("samples: cannot read '{}'", line);
      samples.push_back({.file = file.filename().string(),
                         .line = number,
                         .op = std::string(line.substr(3, colon - 3)),
                         .what = std::string(line.substr(colon + 2))});
    } else if (samples.size() == known) {
      continue;  // the head of the file
    } else if (line.starts_with("in ")) {
      samples.back().inputs.push_back(read_numbers(line, false));
    } else if (line.starts_with("out ")) {
      samples.back().outputs.push_back(read_numbers(line, true));
    } else if (samples.back().outputs.empty()) {
      samples.back().program += std::string(line) + "\n";
    }
  }
}

const std::vector<Sample>& all_samples() {
  static const std::vector<Sample> samples = [] {
    std::vector<Sample> all;
    for (const auto& entry : std::filesystem::directory_iterator(HOCKET_SAMPLES))
      if (entry.path().extension() == ".txt") read_samples(entry.path(), all);
    return all;
  }();
  return samples;
}

Tensor to_tensor(const Type& type, const std::vector<std::string>& elements) {
  if (static_cast<std::int64_t>(elements.size()) != type.elements())
    fail("samples: {} elements for {}", elements.size(), to_text(type));
  Tensor t(type);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::string& text = elements[i];
      if constexpr (std::is_same_v<T, Boolean>)
        t.as<T>()[i] = store<T>(text == "true");
      else if constexpr (std::is_integral_v<Compute<T>>)
        t.as<T>()[i] = store<T>(static_cast<std::int64_t>(std::strtoll(text.c_str(), nullptr, 10)));
      else
        t.as<T>()[i] = store<T>(std::strtod(text.c_str(), nullptr));
    }
  });
  return t;
}

std::vector<std::vector<Tensor>> inputs_of(const Sample& sample, const Program& program) {
  std::vector<std::vector<Tensor>> inputs;
  for (int rank = 0; rank < program.world->ranks(); ++rank) {
    const Graph& g = program.graph_of(rank);
    std::vector<Tensor>& mine = inputs.emplace_back(g.inputs().size());
    for (const Numbers& given : sample.inputs)
      for (std::size_t i = 0; i < mine.size(); ++i) {
        Value v = g.inputs()[i].value;
        if (given.rank == inputs.size() - 1 && given.name == g.name(v))
          mine[i] = to_tensor(g.type(v), given.elements);
      }
  }
  return inputs;
}

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
  bool run(KernelCall& call) override {
    bool ran = library_.run(call);
    ran_any |= ran;
    return ran;
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
      auto results = interpret(program, inputs_of(sample, program), {.backend = &backend});
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
    if (elementwise || (op->moves_data && !op->operands.empty() && !op->collective))
      EXPECT_TRUE(s.nothing) << op->name << ": no sample with a tensor without elements";
    if (elementwise && testing::takes_floats(*op)) {
      EXPECT_TRUE(s.nan) << op->name << ": no sample with a NaN";
      EXPECT_TRUE(s.infinity) << op->name << ": no sample with an infinity";
    }
    if (elementwise && op->operands.size() > 1)
      EXPECT_TRUE(s.equal) << op->name << ": no sample with equal elements at one place";
    if (tells_positions(*op))
      EXPECT_TRUE(s.ties) << op->name << ": no sample with equal elements in one operand";
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

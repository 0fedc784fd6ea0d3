// Fuzzes the text parser: it refuses with one line that names a place, or what it accepts prints,
// parses, verifies and compiles.

#include "hocket/ir/parse.h"

#include <fmt/core.h>

#include <algorithm>

#include "fuzz.h"
#include "hocket/base/error.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/seams.h"
#include "hocket/ops/ops.h"
#include "require.h"
#include "support/random_families.h"

namespace hocket::fuzz {
namespace {

void require_consistent(const Graph& g) {
  g.check_consistency();
  for (NodeId n : g.nodes())
    if (g[n].region) require_consistent(*g[n].region);
}

void require_round_trip(const Program& program, std::string_view text) {
  Program again = must("the printed text", [&] { return parse(text, ops::all()); });
  require(again == program, "the printed text is another program");
  require(to_text(again) == text, "the printed text prints differently");
}

/// What kinds of things a graph has: a line each, to tell inputs apart.
void append_features(std::string& out, const Graph& g, std::string_view where) {
  for (const Input& in : g.inputs())
    out += fmt::format("{} input {} {} {} {} {} {}\n", where, name(g.type(in.value).dtype),
                       g.type(in.value).pending ? "pending" : "", in.state ? name(in.kind) : "",
                       in.slots > 1 ? "slots" : "", in.shard ? "shard" : "",
                       in.equal.empty() ? "" : "equal");
  for (NodeId n : g.nodes()) {
    const Node& node = g[n];
    out += fmt::format("{} {} {} operands:{} results:{} {} {}\n", where, node.op->name,
                       node.result_count > 0 ? name(g.type(g.result(n)).dtype) : "",
                       std::string(std::min<std::size_t>(node.inputs.size(), 4), 'x'),
                       std::string(std::min<std::size_t>(node.result_count, 4), 'x'),
                       node.delay != 0 ? "delay" : "", g.used(n) ? "" : "dead");
    if (node.region) append_features(out, *node.region, fmt::format("{}>", where));
  }
}

/// The standard passes on a copy. What they changed, as a line.
std::string compile_copy(Program program) {
  static const CompileOptions options{.run = {.verify_all = true}};
  std::string changes = "passes";
  try {
    for (const PassReport& p : compile(program, options).passes)
      changes += p.changed ? " yes" : " no";
  } catch (const Error& e) {
    require_one_line(e.what(), "");
    return e.what();
  }
  must("after the passes", [&] {
    for (const Graph& g : program.graphs) require_consistent(g);
    require_round_trip(program, to_text(program));
  });
  return changes;
}

Outcome check(std::string_view text) {
  Program program;
  try {
    program = parse(text, ops::all(), find_loop_violation);
  } catch (const Error& e) {
    require_one_line(e.what(), "line ");
    return {false, e.what()};
  }
  must("what was parsed", [&] {
    verify(program);
    for (const Graph& g : program.graphs) require_consistent(g);
    require_round_trip(program, to_text(program));
  });
  std::string features = must("compile", [&] { return compile_copy(program); }) + "\n";
  for (const Graph& g : program.graphs) append_features(features, g, "graph");
  return {true, std::move(features)};
}

/// A golden file holds what goes in and what comes out, a corpus file any number of texts.
void add_texts(std::vector<std::string>& texts, std::string_view file) {
  constexpr std::string_view line = "\n===\n";
  for (;;) {
    std::size_t end = file.find(line);
    texts.emplace_back(file.substr(0, end));
    if (end == file.npos) return;
    file.remove_prefix(end + line.size());
  }
}

/// The samples of the ops hold a program each, from `graph` or `mesh` to a closing brace.
void add_samples(std::vector<std::string>& texts, const std::string& file) {
  for (std::size_t at = file.find("\n== "); at != file.npos;) {
    std::size_t next = file.find("\n== ", at + 1);
    std::string sample = file.substr(at, next == file.npos ? next : next - at);
    std::size_t start = sample.find('\n', 1), end = sample.rfind("\n}\n");
    if (start != sample.npos && end != sample.npos && start < end)
      texts.push_back(sample.substr(start + 1, end + 2 - start));
    at = next;
  }
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  const std::string source = HOCKET_SOURCE_DIR;
  for (const char* folder : {"/tests/golden", "/tests/fuzz/parse", "/examples"})
    for (const std::string& file : read_corpus(source + folder, ".hkt")) add_texts(texts, file);
  for (const std::string& file : read_corpus(source + "/tests/ops", ".txt"))
    add_samples(texts, file);
  for (std::uint64_t i = 0; i < 40; ++i) {
    testing::Random random = testing::random_at(1, i);
    texts.push_back(to_text(testing::random_case(random, i).program));
  }
  texts.emplace_back("");
  texts.emplace_back("graph g() {}");
  texts.emplace_back("# no line break\r\ngraph g(\r\n)\t{\r\n}\r\n");
  texts.emplace_back("graph g(%x: f32[] \"\xc3\xa4\xff\\x00\\xff\") {}");
  return texts;
}

std::vector<std::string> dictionary() {
  std::vector<std::string> words{"graph",
                                 "mesh(",
                                 "group",
                                 "on",
                                 "region",
                                 "region() {",
                                 "state",
                                 "pending",
                                 "parameter",
                                 "buffer",
                                 "rng",
                                 "next",
                                 "return",
                                 "delay=",
                                 "delay=1",
                                 "@\"a.b\"",
                                 "optimizer",
                                 "forwarded",
                                 "forwarded(2)",
                                 "shard(",
                                 "true",
                                 "false",
                                 "world",
                                 "\"world\"",
                                 "\"dp\"",
                                 "\"dp,tp\"",
                                 "\"\"",
                                 "\\x00",
                                 "\\n",
                                 "\\\"",
                                 "\\",
                                 "#",
                                 "%",
                                 "%x",
                                 "%x_1",
                                 "%x_999999999",
                                 "=",
                                 ": f32[] =",
                                 "[]",
                                 "{}",
                                 "()",
                                 "-",
                                 "e",
                                 ".",
                                 "@",
                                 " {value=[",
                                 "channel=0"};
  for (const Op* op : ops::all()) {
    words.emplace_back(op->name);
    for (const AttributeSpec& a : op->attributes) words.push_back(std::string(a.name) + "=");
  }
  for (const DTypeRow& row : dtype_rows()) {
    words.emplace_back(row.name);
    words.push_back(fmt::format("{}[4]", row.name));
  }
  return words;
}

}  // namespace
}  // namespace hocket::fuzz

int main(int argc, char** argv) {
  using namespace hocket::fuzz;
  return fuzz_main(argc, argv, {.corpus = corpus(), .dictionary = dictionary(), .target = check});
}

// Passes preserve the semantics of programs: random programs and those of golden files are
// interpreted before and after each pass, on one, two and four ranks, and every output and state
// must have equal bits. A pass that throws half-way must leave the program unchanged. `meaning
// --graphs N --seed S` runs more programs.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include "hocket/base/error.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/collectives/bucket_collectives.h"
#include "hocket/passes/collectives/sink_waits.h"
#include "hocket/passes/optimizer/shard_optimizer.h"
#include "support/difference.h"
#include "support/golden_files.h"
#include "support/pass_choices.h"
#include "support/random_classes.h"
#include "support/random_program.h"
#include "support/random_step.h"
#include "support/run_loop.h"

namespace hocket::testing {
namespace {

int failures = 0;
int rotations = 0;                   // number of programs that were rotated
std::map<std::string, int> changes;  // graphs that a pass has changed, by its name

/// `which` is the number of a random program or the file of a golden one.
void report(const std::string& which, std::string_view what, const std::string& detail,
            const std::string& text) {
  fmt::print("FAILED: graph {}: {}: {}\n{}\n", which, what, detail, text);
  ++failures;
}

/// print and parse are inverses.
void check_round_trip(const std::string& which, const Program& program) {
  std::string text = to_text(program);
  Program again = parse(text, ops::all());
  if (!(again == program) || to_text(again) != text) report(which, "round trip", "differs", text);
}

/// The number of effects of each kind in a program, which no pass may change.
std::map<std::string_view, int> effects(const Program& program) {
  std::map<std::string_view, int> count;
  for (const Graph& g : program.graphs)
    for (NodeId n : g.nodes())
      if (g[n].op->has_effect) ++count[g[n].op->name];
  return count;
}

/// Some, but not all, gradients of an optimizer, written as an option; "" if there is no such
/// optimizer.
std::string some_gradients(Random& random, const Program& program) {
  for (const Graph& g : program.graphs)
    for (NodeId n : g.nodes()) {
      if (!g[n].op->is_optimizer) continue;
      std::string text;
      auto gradients = g[n].slot(1);
      Value stays = gradients[random() % gradients.size()];
      for (Value v : gradients)
        if (v != stays && (text.empty() || random() % 2 == 0))
          text += (text.empty() ? "%" : "+%") + g.name(v);
      if (!text.empty()) return text;
    }
  return "";
}

/// Lists to test: every pass of the table with every listed value of its options, after the passes
/// that it needs; and a few longer lists.
std::vector<std::vector<PassCall>> pass_lists(const PassTable& table, Random& random,
                                              const Program& program) {
  std::vector<std::vector<PassCall>> lists;
  for (const Pass& pass : table.passes()) {
    lists.push_back(with_needs(table, {pass.name, {}}));
    for (const OptionRow& option : pass.options) {
      // The tensors of random programs are small, so small sizes are tried.
      std::vector<std::string> values = values_to_try(option);
      if (option.kind == "size") values = {"16", "64"};
      for (const std::string& value : values)
        if (value != option.fallback)
          lists.push_back(with_needs(table, {pass.name, {{option.name, value}}}));
    }
  }
  for (const char* text :
       {"default", "default,cross-iteration", "default,cross-iteration:delay=all",
        "cross-iteration:delay=all,dead-nodes,common-nodes,fold,raise-collectives,sink-waits,fuse-"
        "optimizer"})
    lists.push_back(table.parse(text));
  for (const char* text :
       {"split-optimizer:by=parameter,fuse-optimizer", "bucket-collectives:first=32:cap=64",
        "split-collectives:part=8", "default,shard-optimizer",
        "shard-optimizer,sink-waits,raise-collectives,common-nodes,fold,order-collectives",
        "expedite-collectives,bucket-collectives:first=16:cap=200,order-collectives,sink-waits",
        "sink-waits,raise-collectives,bucket-collectives,split-collectives:part=20,dead-nodes"})
    lists.push_back(table.parse(text));
  if (std::string some = some_gradients(random, program); !some.empty())
    lists.push_back({{"split-optimizer", {{"gradients", some}}}});
  return lists;
}

/// `same` when all passes of the list keep every bit with their options.
Bits bits_of(const PassTable& table, const std::vector<PassCall>& calls) {
  for (const PassCall& c : calls)
    if (table.find(c.name).bits_with(c.options) == Bits::changes) return Bits::changes;
  return Bits::same;
}

/// Runs a rotated body by its phases, for a few iterations with a drain in between.
std::string rotated_difference(Random& random, const Program& program, const Program& changed) {
  check_seams(changed);
  return loop_difference(program, changed, random_loop_inputs(random, program, 4), {3});
}

/// Several for a training step, in which later iterations read the state that the first one wrote.
int iterations_of(const Program& program) {
  for (const Graph& g : program.graphs)
    for (const Input& in : g.inputs())
      if (in.kind == StateKind::optimizer && in.state) return 3;
  return 1;
}

void check_passes(const std::string& which, Random& random, const Program& program) {
  PassTable table = standard_passes();
  auto inputs = random_inputs(random, program);
  int iterations = iterations_of(program);
  for (const auto& list : pass_lists(table, random, program)) {
    Program changed = program;
    std::string name = to_text(list);
    try {
      for (const PassReport& r : run_passes(changed, table, list, {.verify_all = true}))
        if (r.changed) ++changes[r.pass];
      for (const Graph& g : changed.graphs) g.check_consistency();
      if (effects(changed) != effects(program))
        report(which, name, "an effect is gone", to_text(program));
      bool rotated = std::ranges::any_of(changed.graphs, is_rotated);
      rotations += rotated;
      auto d = rotated ? rotated_difference(random, program, changed)
                       : difference(program, changed, inputs, iterations);
      if (!d.empty() && bits_of(table, list) == Bits::same)
        report(which, name, d, to_text(program) + "=== after\n" + to_text(changed));
    } catch (const std::exception& e) {
      report(which, name, e.what(), to_text(program));
    }
  }
}

/// What `vandalise` throws after some random edits.
struct HalfWay : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void vandalise(Graph& g, Random& random) {
  std::size_t stop = 1 + below(random, 60);
  for (std::size_t i = 0; i < stop; ++i) {
    std::vector<NodeId> nodes;
    for (NodeId n : std::as_const(g).nodes()) nodes.push_back(n);
    if (nodes.empty()) break;
    NodeId n = nodes[below(random, nodes.size())], m = nodes[below(random, nodes.size())];
    switch (below(random, 13)) {
      case 0:
        g.move_before(n, m);
        break;
      case 1:
        g.move_after(n, m);
        break;
      case 2:
        if (!g.used(n)) g.erase(n);
        break;
      case 3:
        if (!g[n].inputs.empty() && g[m].result_count > 0) g.set_operand(n, 0, g.result(m));
        break;
      case 4:
        if (g[n].result_count > 0 && g[m].result_count > 0)
          g.replace_uses(g.result(n), g.result(m));
        break;
      case 5:
        if (g[n].result_count > 0 && !g.type(g.result(n)).pending)
          ops::after(At(g, m), g.result(n));
        break;
      case 6:
        if (g[n].result_count > 0) g.rename(g.result(n), "renamed");
        break;
      case 7:
        g.set_path(n, fmt::format("module.{}", below(random, 5)));
        break;
      case 8:
        g.set_delay(n, static_cast<int>(below(random, 3)));
        break;
      case 9:
        g.add_input({DType::f32, false, {2}}, "extra", {.state = below(random, 2) == 0});
        break;
      case 10:
        if (g[n].result_count > 0) g.add_output("", g.result(n));
        break;
      case 11:
        for (const Input& in : g.inputs())
          if (g.next(in.value)) {
            g.clear_next(in.value);
            break;
          }
        break;
      default:
        if (below(random, 6) == 0)
          g = Graph("other");
        else if (!g.outputs().empty())
          g.erase_output(0);
    }
  }
  throw HalfWay("half way");
}

/// A pass that throws half-way, or leaves a broken graph, must leave the program unchanged.
void check_undo(const std::string& which, Random& random, const Program& program) {
  Program changed = program;
  std::string before = to_text(changed);
  for (Graph& g : changed.graphs) {
    g.begin();
    try {
      vandalise(g, random);
    } catch (const HalfWay&) {
      g.rollback();
    }
    g.check_consistency();
  }
  if (to_text(changed) != before || !(changed == program))
    report(which, "undo", "differs", before + "=== after\n" + to_text(changed));
  // The same through the runner, and the passes still work afterwards.
  PassTable table = standard_passes();
  table.add(make_pass({.name = "vandal", .doc = "throws half-way"}, [&](Graph& g) {
    try {
      vandalise(g, random);
    } catch (const HalfWay& e) {
      throw Error(e.what());
    }
  }));
  try {
    run_pass(changed, table, {"vandal", {}});
    report(which, "undo", "the runner swallowed an error", before);
  } catch (const Error& e) {
    if (std::string_view(e.what()) != "pass 'vandal': half way")
      report(which, "undo", e.what(), before);
  }
  if (to_text(changed) != before)
    report(which, "undo through the runner", "differs", before + "=== after\n" + to_text(changed));
  Program fresh = program;
  auto calls = table.parse("default");
  run_passes(changed, table, calls);
  run_passes(fresh, table, calls);
  if (to_text(changed) != to_text(fresh)) report(which, "passes after undo", "differ", before);
}

// ---- incorrect passes

Value first_like(const Graph& g, const std::function<bool(NodeId)>& like) {
  for (NodeId n : g.nodes())
    if (like(n)) return g.result(n);
  return {};
}

/// Each makes a mistake that the verifier or the comparison of results must detect.
std::vector<Pass> broken_passes() {
  std::vector<Pass> list;
  list.push_back(make_pass({.name = "swap-operands", .doc = ""}, [](Graph& g) {
    if (Value v = first_like(g, [&](NodeId n) {
          return g[n].op == &ops::sub && g[n].inputs[0] != g[n].inputs[1];
        })) {
      NodeId n = g.node(v);
      Value a = g[n].inputs[0], b = g[n].inputs[1];
      g.set_operand(n, 0, b);
      g.set_operand(n, 1, a);
    }
  }));
  list.push_back(make_pass({.name = "drop-effect", .doc = ""}, [](Graph& g) {
    for (NodeId n : g.nodes())
      if (g[n].op->has_effect && !g.used(n)) return g.erase(n);
  }));
  list.push_back(make_pass({.name = "wait-above-start", .doc = ""}, [](Graph& g) {
    if (Value v = first_like(
            g, [&](NodeId n) { return g[n].op->is_wait && !g.is_input(g.node(g[n].inputs[0])); }))
      g.move_before(g.node(v), g.node(g[g.node(v)].inputs[0]));
  }));
  list.push_back(make_pass({.name = "wrong-carry", .doc = ""}, [](Graph& g) {
    for (const Input& in : g.inputs()) {
      Value next = g.next(in.value);
      if (!next || next == in.value) continue;
      return g.set_next(in.value, in.value);
    }
  }));
  list.push_back(make_pass({.name = "swap-members", .doc = ""}, [](Graph& g) {
    bucket_collectives(g, {});
    for (NodeId n : std::as_const(g).nodes())
      for (std::uint32_t i = 1; g[n].op->is_collective && i < g[n].inputs.size(); ++i) {
        Value a = g[n].inputs[i - 1], b = g[n].inputs[i];
        if (a == b || g.type(a) != g.type(b)) continue;
        g.set_operand(n, i - 1, b);
        g.set_operand(n, i, a);
        return;
      }
  }));
  list.push_back(make_pass({.name = "mix-reductions", .doc = ""}, [](Graph& g) {
    std::vector<NodeId> found;
    for (NodeId n : std::as_const(g).nodes())
      if (g[n].op == &ops::all_reduce) found.push_back(n);
    for (NodeId n : found) g.set_attribute(n, "reduce", g[found[0]].attr<std::string>("reduce"));
    bucket_collectives(g, {});
  }));
  list.push_back(make_pass({.name = "sink-too-far", .doc = ""}, [](Graph& g) {
    sink_waits(g, {});
    for (NodeId n : std::as_const(g).nodes())
      if (NodeId reader = g.first_user(n); g[n].op->is_wait && reader != g.return_node())
        return g.move_after(n, reader);
  }));
  list.push_back(make_pass({.name = "merge-random", .doc = ""}, [](Graph& g) {
    std::vector<NodeId> draws;
    for (NodeId n : std::as_const(g).nodes())
      if (g[n].op == &ops::normal) draws.push_back(n);
    for (NodeId b : draws)
      for (NodeId a : draws)
        if (g.before(a, b) && g.type(g.result(a)) == g.type(g.result(b)))
          g.replace_uses(g.result(b), g.result(a));
  }));
  // Cuts that swap the state of two parameters, and joins of optimizers with different learning
  // rates.
  list.push_back(make_pass({.name = "mix-up-state", .doc = ""}, [](Graph& g) {
    for (NodeId n : g.nodes()) {
      if (!g[n].op->is_optimizer) continue;
      auto count = static_cast<std::uint32_t>(g[n].slot(0).size()), first = 2 * count;
      if (g[n].slot(2).size() < 2) continue;
      Value a = g[n].inputs[first], b = g[n].inputs[first + 1];
      if (g.type(a) != g.type(b)) continue;
      g.set_operand(n, first, b);
      g.set_operand(n, first + 1, a);
    }
  }));
  list.push_back(make_pass({.name = "one-rate-for-all", .doc = ""}, [](Graph& g) {
    Value rate;
    for (NodeId n : g.nodes()) {
      if (!g[n].op->is_optimizer) continue;
      std::uint32_t at = 0;
      for (std::size_t s = 0; g[n].op->operands[s].name != "lr"; ++s)
        at += static_cast<std::uint32_t>(g[n].slot(s).size());
      if (!rate) rate = g[n].inputs[at];
      g.set_operand(n, at, rate);
    }
  }));
  // Pieces of another rank, and padding on the wrong side.
  list.push_back(make_pass({.name = "first-piece-for-all", .doc = ""}, [](Graph& g) {
    shard_optimizer(g);
    for (NodeId n : g.nodes()) {
      if (g[n].op != &ops::shard) continue;
      Value x = g[n].inputs[0], piece = g.result(n);
      Ints count{g.type(x).elements()}, length{g.type(piece).elements()};
      if (count < length) continue;
      Value flat = ops::reshape(At(g, n), {x}, {{"shape", count}});
      g.replace_uses(piece, ops::slice(At(g, n), {flat}, {{"starts", Ints{0}}, {"stops", length}}));
    }
  }));
  list.push_back(make_pass({.name = "pad-in-front", .doc = ""}, [](Graph& g) {
    shard_optimizer(g);
    for (NodeId n : g.nodes()) {
      if (g[n].op != &ops::pad) continue;
      Attribute low = g[n].attr<Ints>("low"), high = g[n].attr<Ints>("high");
      g.set_attribute(n, "low", high);
      g.set_attribute(n, "high", low);
    }
  }));
  return list;
}

void check_program(const std::string& which, Random& random, const Program& program) {
  check_round_trip(which, program);
  check_passes(which, random, program);
  check_undo(which, random, program);
}

/// The program of a golden file, if it can be run as it is.
std::optional<Program> golden_program(const std::string& path) {
  try {
    Program program = parse(read_golden(path).input, ops::all(), find_loop_violation);
    if (is_plain(program)) return program;
  } catch (const Error&) {  // the golden file expects an error
  }
  return std::nullopt;
}

/// Buckets of a size that matters in practice; split-collectives cuts each into hundreds of pieces.
bool is_large(const Program& program) {
  constexpr std::int64_t most = 100'000;  // elements
  return std::ranges::any_of(program.graphs, [](const Graph& g) {
    return std::ranges::any_of(g.inputs(),
                               [&](const Input& in) { return g.type(in.value).elements() > most; });
  });
}

/// Runs the passes on the programs of golden files, which contain what each pass works on. The few
/// large ones take longer than all others.
void check_golden_programs(bool with_large) {
  int count = 0;
  for (const std::string& path : golden_files()) {
    std::optional<Program> program = golden_program(path);
    if (!program || (!with_large && is_large(*program))) continue;
    Random random(1);
    check_program(golden_name(path), random, *program);
    ++count;
  }
  fmt::print("{} golden programs\n", count);
}

/// Programs with one, two and four ranks in turn. Every fourth is a training step; of the others
/// with several ranks, every fifth has several graphs.
Program program_at(Random& random, std::uint64_t i) {
  int ranks = 1 << (i % 3);
  if (i % 4 == 3) return random_step(random, ranks);
  if (ranks > 1 && i % 5 == 0) return random_stages(random);
  return random_program(random, {.ranks = ranks, .nodes = 5 + static_cast<int>(i % 60)});
}

void check_broken_passes(std::uint64_t seed) {
  for (const Pass& pass : broken_passes()) {
    PassTable table;
    table.add(pass);
    std::uint64_t caught_at = 0;
    for (std::uint64_t i = 0; i < 200 && caught_at == 0; ++i) {
      Random random(seed * 1000003 + i);
      Program program = program_at(random, i), changed = program;
      auto inputs = random_inputs(random, program);
      try {
        run_pass(changed, table, {pass.name, {}}, {.verify_all = true});
        if (effects(changed) != effects(program) || !difference(program, changed, inputs).empty())
          caught_at = i + 1;
      } catch (const std::exception&) {
        caught_at = i + 1;
      }
    }
    if (caught_at == 0)
      report("-", pass.name, "was not caught within 200 graphs", "");
    else
      fmt::print("broken pass {:<22}caught at graph {}\n", pass.name, caught_at);
  }
}

int run(std::uint64_t graphs, std::uint64_t seed) {
  std::map<std::string_view, int> occurred;
  for (std::uint64_t i = 0; i < graphs && failures < 5; ++i) {
    Random random(seed * 1000003 + i);
    Program program = program_at(random, i);
    verify(program);
    for (const Graph& g : program.graphs) {
      std::map<std::string_view, bool> here;
      for (NodeId n : g.nodes()) here[g[n].op->name] = true;
      for (const auto& entry : here) ++occurred[entry.first];
    }
    check_program(std::to_string(i), random, program);
  }
  int rarest = static_cast<int>(graphs);
  for (const Op* op : ops::all()) {
    fmt::print("{:<16}{:>7} graphs\n", op->name, occurred[op->name]);
    rarest = std::min(rarest, occurred[op->name]);
  }
  if (rarest == 0 && graphs >= 1000) {
    fmt::print("FAILED: an op never occurred\n");
    ++failures;
  }
  const PassTable table = standard_passes();
  for (const Pass& pass : table.passes()) {
    fmt::print("{:<24}changed {} times\n", pass.name, changes[pass.name]);
    if (changes[pass.name] > 0 || graphs < 300) continue;
    fmt::print("FAILED: {} never changed anything\n", pass.name);
    ++failures;
  }
  fmt::print("{} programs were rotated\n", rotations);
  if (rotations == 0 && graphs >= 300) {
    fmt::print("FAILED: no program was rotated\n");
    ++failures;
  }
  check_golden_programs(graphs >= 300);
  check_broken_passes(seed);
  fmt::print("{} graphs, {} failures\n", graphs, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hocket::testing

int main(int argc, char** argv) {
  std::uint64_t graphs = 1000, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view key = argv[i], value = argv[i + 1];
    std::uint64_t* target = key == "--graphs" ? &graphs : key == "--seed" ? &seed : nullptr;
    if (target == nullptr ||
        std::from_chars(value.data(), value.data() + value.size(), *target).ec != std::errc{}) {
      fmt::print(stderr, "usage: meaning [--graphs N] [--seed S]\n");
      return 2;
    }
  }
  return hocket::testing::run(graphs, seed);
}

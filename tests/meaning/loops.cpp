// Rotation preserves the semantics of loops: random loops and training steps are rotated several
// times, with random passes in between, and run for some iterations with drains at random places.
// Every output of every iteration and the state after every drain must have the same bits as in the
// original loop. A refused rotation must leave the graph unchanged. `loops --loops N --seed S` runs
// more loops.

#include <fmt/core.h>

#include <charconv>
#include <functional>
#include <map>

#include "hocket/base/error.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/rotate.h"
#include "hocket/iter/seams.h"
#include "hocket/ops/ops.h"
#include "support/pass_choices.h"
#include "support/random_step.h"
#include "support/run_loop.h"

namespace hocket::testing {
namespace {

int failures = 0;

struct Count {
  int rotations = 0, refusals = 0, forwarded = 0, pending = 0, ahead = 0, deep = 0,
      several_turns = 0;
} count;
std::map<std::string, int> changes;  // rotated bodies that a pass has changed, by its name

/// The edits of the current loop, for the report of a failure.
std::string history;

void report(std::uint64_t seed, std::string_view what, const std::string& text) {
  fmt::print("FAILED: loop {}: {}{}\n{}\n", seed, what, history, text);
  ++failures;
}

/// Random nodes and, in most cases, the readers that must be delayed with them.
std::vector<NodeId> random_nodes(Random& random, const Graph& g, int k) {
  std::vector<char> moved(g.node_bound());
  std::size_t percent = 1 + below(random, 30);
  for (NodeId n : g.nodes()) moved[n.index] = below(random, 100) < percent;
  Lags lags(g);
  auto lag = [&](Value v) {
    Value made = g.is_input(g.node(v)) && g.input(v).state && g.next(v) ? g.next(v) : v;
    return lags.lag(v) + (moved[g.node(made).index] && !lags.timeless(made) ? k : 0);
  };
  bool close = below(random, 10) > 0;
  for (bool changed = close; changed;) {
    changed = false;
    for (NodeId n : g.nodes()) {
      if (moved[n.index] || lags.timeless(n)) continue;
      for (Value v : g[n].inputs) {
        if (lags.timeless(v)) continue;
        Value meant = lags.meaning(n, v);
        int slack = g.is_input(g.node(meant)) ? 1 : 0;
        if (g[n].delay + slack >= lag(meant)) continue;
        moved[n.index] = 1;
        changed = true;
      }
    }
  }
  std::vector<NodeId> nodes;
  for (NodeId n : g.nodes())
    if (moved[n.index]) nodes.push_back(n);
  return nodes;
}

/// Rotates random nodes, or checks that a refusal leaves the graph unchanged.
void rotate_at_random(std::uint64_t seed, Random& random, Graph& g) {
  int k = below(random, 4) == 0 ? 2 : 1;
  std::vector<NodeId> nodes = random_nodes(random, g, k);
  std::string before = to_text(g);
  try {
    rotate(g, nodes, k, {.outputs_may_lag = below(random, 3) > 0});
    ++count.rotations;
  } catch (const Error&) {
    ++count.refusals;
    if (to_text(g) != before) report(seed, "a refusal left traces", before);
  }
  g.check_consistency();
  verify(g);
}

void count_what_happened(const Program& program) {
  LoopShape shape = loop_shape(program);
  count.deep += shape.depth > 1;
  count.several_turns += shape.turns > 1;
  const Graph& g = program.graphs[0];
  for (const Input& in : g.inputs()) {
    if (!is_forwarded(g, in.value)) continue;
    ++count.forwarded;
    count.pending += g.type(in.value).pending;
  }
  for (NodeId n : g.nodes())
    for (Value v : g[n].inputs)
      count.ahead += !g.is_input(g.node(v)) && g[g.node(v)].delay > g[n].delay;
}

/// Every third program is a training step of two ranks, because random programs have few
/// optimizers.
Program loop_at(Random& random, std::uint64_t i) {
  if (i % 3 == 2) return random_step(random, 2);
  return random_program(
      random, {.ranks = 1 << (i % 2), .nodes = 5 + static_cast<int>(i % 30), .loop = true});
}

void run_random_passes(Random& random, const PassTable& table, Program& program) {
  auto calls = random_list(random, table, 4, Tensors::tiny, program.applied);
  history += "; " + to_text(calls);
  for (const PassCall& call : calls) {
    bool rotated = std::ranges::any_of(program.graphs, is_rotated);
    bool changed = run_pass(program, table, call, {.verify_all = true}).changed;
    changes[call.name] += rotated && changed;
  }
}

Program rotated(std::uint64_t seed, Random& random, const Program& program) {
  Program changed = program;
  PassTable table = standard_passes();
  history.clear();
  std::size_t times = 1 + below(random, 3);
  for (std::size_t i = 0; i < times; ++i) {
    if (below(random, 2) == 0) run_random_passes(random, table, changed);
    rotate_at_random(seed, random, changed.graphs[0]);
    history += "; rotate";
  }
  if (below(random, 2) == 0) run_random_passes(random, table, changed);
  return changed;
}

std::set<int> random_drains(Random& random, int iterations) {
  std::set<int> drains;
  for (int i = 1; i < iterations; ++i)
    if (below(random, 4) == 0) drains.insert(i);
  return drains;
}

void check_loop(std::uint64_t i, Random& random) {
  Program program = loop_at(random, i);
  verify(program);
  std::string text = to_text(program);
  try {
    Program changed = rotated(i, random, program);
    text += "=== rotated\n" + to_text(changed);
    check_seams(changed);
    if (!(parse(to_text(changed), ops::all()) == changed)) report(i, "round trip differs", text);
    count_what_happened(changed);
    int iterations = 1 + static_cast<int>(below(random, 7));
    LoopInputs inputs = random_loop_inputs(random, program, iterations);
    auto d = loop_difference(program, changed, inputs, random_drains(random, iterations));
    if (!d.empty()) report(i, d, text);
  } catch (const std::exception& e) {
    report(i, e.what(), text);
  }
}

// ---- incorrect rotations

struct Mistake {
  std::string_view name;
  void (*make)(Graph&);
};

Value forwarded_like(const Graph& g, const std::function<bool(const Input&, Value next)>& like) {
  for (const Input& in : g.inputs())
    if (is_forwarded(g, in.value) && like(in, g.next(in.value))) return in.value;
  return {};
}

/// Mistakes that an incorrect rotate could make. Each must be refused by the rules about lags or
/// change a result.
constexpr Mistake mistakes[] = {
    {"new-state-for-old",  // a delayed reader of a state reads that of the current iteration
     [](Graph& g) {
       Value f =
           forwarded_like(g, [&](const Input&, Value next) { return g.is_input(g.node(next)); });
       if (f) g.replace_uses(f, g.next(f));
     }},
    {"old-state-for-new",  // a reader that runs ahead of an update reads the old state
     [](Graph& g) {
       for (const Input& in : g.inputs()) {
         Value next = in.state && !is_forwarded(g, in.value) ? g.next(in.value) : Value{};
         if (!next || g.is_input(g.node(next)) || g[g.node(next)].delay == 0) continue;
         g.replace_uses(next, in.value, [&](Use use) {
           return use.node != g.return_node() && g[use.node].delay < g[g.node(next)].delay;
         });
       }
     }},
    {"wrong-value-forwarded",
     [](Graph& g) {
       for (const Input& in : g.inputs())
         for (const Input& other : g.inputs()) {
           if (in.value == other.value || !is_forwarded(g, in.value) ||
               !is_forwarded(g, other.value) || g.type(in.value) != g.type(other.value) ||
               in.slots != other.slots)
             continue;
           return g.set_next(in.value, g.next(other.value));
         }
     }},
    {"one-slot-for-two",
     [](Graph& g) {
       Value f = forwarded_like(g, [](const Input& in, Value) { return in.slots > 1; });
       if (!f) return;
       InputInfo info = g.input(f);
       info.slots = 1;
       g.set_input_info(f, info);
     }},
    {"forgotten-delay",
     [](Graph& g) {
       for (NodeId n : g.nodes())
         if (g[n].delay > 0) return g.set_delay(n, g[n].delay - 1);
     }},
    {"shared-first-value",  // two states with different initial values share a delayed update
     [](Graph& g) {
       for (const Input& in : g.inputs())
         if (Value next = in.state ? g.next(in.value) : Value{};
             next && g[g.node(next)].op == &ops::after && g[g.node(next)].delay > 0)
           g.replace_uses(next, g[g.node(next)].inputs[0]);
     }},
};

void check_mistakes(std::uint64_t seed) {
  for (const Mistake& mistake : mistakes) {
    int by_rule = 0, by_bits = 0;
    for (std::uint64_t i = 0; i < 300 && by_rule + by_bits < 3; ++i) {
      Random random(seed * 7919 + i);
      Program program = loop_at(random, i);
      Program changed = rotated(i, random, program);
      std::string before = to_text(changed);
      mistake.make(changed.graphs[0]);
      if (to_text(changed) == before) continue;
      LoopInputs inputs = random_loop_inputs(random, program, 5);
      try {
        check_seams(changed);
        by_bits += !loop_difference(program, changed, inputs, {2}).empty();
      } catch (const Error&) {
        ++by_rule;
      }
    }
    fmt::print("mistake {:<24} caught by the rules {}, by the bits {}\n", mistake.name, by_rule,
               by_bits);
    if (by_rule + by_bits == 0) report(0, fmt::format("{} was not caught", mistake.name), "");
  }
}

int run(std::uint64_t loops, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < loops && failures < 3; ++i) {
    Random random(seed * 1000003 + i);
    check_loop(i, random);
  }
  fmt::print(
      "{} rotations, {} refused; {} forwarded ({} in flight), {} reads ahead of an update, {} "
      "loops "
      "deeper than 1, {} with several turns\n",
      count.rotations, count.refusals, count.forwarded, count.pending, count.ahead, count.deep,
      count.several_turns);
  bool all = count.rotations > 0 && count.refusals > 0 && count.forwarded > 0 &&
             count.pending > 0 && count.ahead > 0 && count.deep > 0 && count.several_turns > 0;
  if (!all && loops >= 300) report(0, "something never happened", "");
  const PassTable table = standard_passes();
  for (const Pass& pass : table.passes()) {
    fmt::print("{:<24}changed {} rotated bodies\n", pass.name, changes[pass.name]);
    // Passes that retime accept only bodies without delays.
    if (changes[pass.name] == 0 && !pass.retimes && loops >= 300)
      report(0, fmt::format("{} never changed a rotated body", pass.name), "");
  }
  check_mistakes(seed);
  fmt::print("{} loops, {} failures\n", loops, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hocket::testing

int main(int argc, char** argv) {
  std::uint64_t loops = 1000, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view key = argv[i], value = argv[i + 1];
    std::uint64_t* target = key == "--loops" ? &loops : key == "--seed" ? &seed : nullptr;
    if (target == nullptr ||
        std::from_chars(value.data(), value.data() + value.size(), *target).ec != std::errc{}) {
      fmt::print(stderr, "usage: loops [--loops N] [--seed S]\n");
      return 2;
    }
  }
  return hocket::testing::run(loops, seed);
}

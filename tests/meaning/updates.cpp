// cross-iteration preserves the semantics of training steps, whatever it decides. Random updates
// are delayed and collectives are moved to random places; every output of every iteration, and the
// state after every drain, must have the same bits as in the original step. A refused move must
// leave the program unchanged. `updates --steps N --seed S` runs more steps.

#include <fmt/core.h>

#include <charconv>

#include "hocket/base/error.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/collective_matching.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"
#include "hocket/passes/loop/cross_iteration.h"
#include "support/random_step.h"
#include "support/run_loop.h"

namespace hocket::testing {
namespace {

int failures = 0;

struct Count {
  int rotated = 0, delayed = 0, kept = 0, pending = 0, handed_on = 0, moved = 0, refused = 0,
      clipped = 0, swapped = 0, caught = 0, apart = 0, in_front = 0;
} count;

void report(std::uint64_t seed, std::string_view what, const std::string& text) {
  fmt::print("FAILED: step {}: {}\n{}\n", seed, what, text);
  ++failures;
}

/// A random half of the pure nodes, in list order.
std::vector<NodeId> random_pure_nodes(Random& random, const Graph& g) {
  std::vector<NodeId> nodes;
  for (NodeId n : g.nodes()) {
    const Op& op = *g[n].op;
    if (op.pure() && !op.is_collective && !op.is_wait && below(random, 2) == 0) nodes.push_back(n);
  }
  return nodes;
}

/// Two graphs with the same nodes for two classes of ranks; random nodes stand late in the first
/// graph and early in the second.
Program in_two_graphs(Random& random, const Program& program) {
  Program changed = program;
  changed.graphs.push_back(changed.graphs[0]);
  Graph &late = changed.graphs[0], &early = changed.graphs[1];
  early.set_name("early");
  std::vector<int> ranks[2];
  for (int rank = 0; rank < changed.world->ranks(); ++rank) ranks[rank % 2].push_back(rank);
  for (std::size_t i = 0; i < 2; ++i) changed.graphs[i].set_ranks(ranks[i]);
  std::vector<NodeId> nodes = random_pure_nodes(random, late);
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n)
    if (NodeId reader = late.first_user(*n)) late.move_before(*n, reader);
  for (NodeId n : random_pure_nodes(random, early)) {
    NodeId place = early.first_node();
    for (Value v : early[n].inputs)
      if (NodeId maker = early.node(v); !early.is_input(maker) && !early.before(maker, place))
        place = early.following(maker);
    if (place != n) early.move_before(n, place);
  }
  return changed;
}

/// The program unchanged, or after one of the pass lists that may precede cross-iteration.
Program prepared(Random& random, const Program& program) {
  constexpr std::string_view before[] = {"none", "default",
                                         "dead-nodes,split-optimizer:by=parameter",
                                         "default,bucket-collectives:first=16:cap=24"};
  Program changed = program;
  PassTable table = standard_passes();
  run_passes(changed, table, table.parse(before[below(random, std::size(before))]));
  return changed;
}

void delay_at_random(Random& random, Program& program) {
  std::size_t percent = below(random, 101);
  cross_iteration(program, {}, [&](std::span<const BucketPlace> buckets, std::uint32_t length) {
    std::vector<Delay> delays;
    for (const BucketPlace& b : buckets) {
      if (b.fixed) {
        delays.push_back(Delay::none);
        continue;
      }
      if (b.start >= length || b.update >= length || b.needed > b.start || b.update < b.start)
        fail("a bucket of {} nodes: start {}, update {}, needed {}", length, b.start, b.update,
             b.needed);
      bool moves = below(random, 100) < percent;
      bool starts = b.startable && below(random, 2) == 0;
      delays.push_back(!moves ? Delay::none : starts ? Delay::start : Delay::wait);
      ++(moves ? count.delayed : count.kept);
    }
    return delays;
  });
}

/// The name of a random node or, with `collective`, of a random collective.
std::string random_name(Random& random, const Graph& g, bool collective) {
  std::vector<std::string> names;
  for (NodeId n : g.nodes())
    if (!collective || g[n].op->is_collective)
      for (Value v : g.results(n)) names.push_back("%" + g.name(v));
  return names.empty() ? "none" : names[below(random, names.size())];
}

/// Moves a random collective, or checks that a refusal leaves the program unchanged.
void move_at_random(std::uint64_t seed, Random& random, Program& program) {
  PassTable table = standard_passes();
  PassCall call{"cross-iteration", {}};
  std::string name = random_name(random, program.graphs[0], true);
  if (below(random, 4) == 0) name += "+" + random_name(random, program.graphs[0], true);
  call.options.emplace_back("move", name);
  if (name != "none" && below(random, 2) == 0)
    call.options.emplace_back("before", random_name(random, program.graphs[0], false));
  std::string before = to_text(program);
  try {
    for (const Remark& r : run_pass(program, table, call, {.verify_all = true}).remarks)
      count.in_front += r.what.find("in front of everything") != r.what.npos;
    ++count.moved;
  } catch (const Error&) {
    ++count.refused;
    if (to_text(program) != before) report(seed, "a refusal left traces", before);
  }
}

void count_what_happened(Program& program) {
  Graph& g = program.graphs[0];
  count.rotated += is_rotated(g);
  for (const Input& in : g.inputs())
    if (is_forwarded(g, in.value)) ++(g.type(in.value).pending ? count.pending : count.handed_on);
  for (const Remark& r : g.take_remarks()) count.clipped += r.what.starts_with("keeps ");
}

/// Swaps two transfers, so that each arrives at the wait of the other; the comparison must notice.
void check_mix_up(Program changed, const Program& program, const LoopInputs& inputs) {
  Graph& g = changed.graphs[0];
  Value first;
  for (const Input& in : g.inputs()) {
    if (!is_forwarded(g, in.value)) continue;
    if (first && g.type(first) == g.type(in.value)) {
      Value a = g.next(first), b = g.next(in.value);
      g.set_next(first, b);
      g.set_next(in.value, a);
      ++count.swapped;
      try {
        count.caught += !loop_difference(program, changed, inputs).empty();
      } catch (const Error& e) {  // a single wait may read both transfers
        if (std::string_view(e.what()).find("[one-transfer]") == std::string_view::npos) throw;
        ++count.caught;
      }
      return;
    }
    if (!first) first = in.value;
  }
}

void check_step(std::uint64_t i, Random& random) {
  Program program = random_step(random, 2 << (i % 2));
  if (below(random, 3) == 0) {
    program = in_two_graphs(random, program);
    ++count.apart;
  }
  std::string text = to_text(program);
  try {
    Program changed = prepared(random, program);
    if (below(random, 3) > 0)
      delay_at_random(random, changed);
    else
      move_at_random(i, random, changed);
    text += "=== changed\n" + to_text(changed);
    for (const Graph& g : changed.graphs) g.check_consistency();
    verify(changed);
    check_seams(changed);
    if (find_order_conflict(CollectiveMatching(changed)))
      report(i, "ranks start things in different orders", text);
    count_what_happened(changed);
    int iterations = 1 + static_cast<int>(below(random, 5));
    LoopInputs inputs = random_loop_inputs(random, program, iterations);
    std::set<int> drains;
    if (iterations > 1) drains.insert(1 + static_cast<int>(below(random, 4)));
    auto d = loop_difference(program, changed, inputs, drains);
    if (!d.empty()) report(i, d, text);
    if (iterations > 2) check_mix_up(changed, program, inputs);
  } catch (const std::exception& e) {
    report(i, e.what(), text);
  }
}

int run(std::uint64_t steps, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < steps && failures < 3; ++i) {
    Random random(seed * 1000003 + i);
    check_step(i, random);
  }
  fmt::print(
      "{} steps rotated: {} updates delayed, {} kept; {} moves, {} refused; over the boundary {} "
      "in flight, {} other values; {} steps clipped; {} of {} mix-ups caught; {} steps in two "
      "graphs, {} moved in front of everything\n",
      count.rotated, count.delayed, count.kept, count.moved, count.refused, count.pending,
      count.handed_on, count.clipped, count.caught, count.swapped, count.apart, count.in_front);
  bool all = count.delayed > 0 && count.kept > 0 && count.moved > 0 && count.refused > 0 &&
             count.pending > 0 && count.handed_on > 0 && count.clipped > 0 && count.caught > 0 &&
             count.in_front > 0;
  if (!all && steps >= 300) report(0, "something never happened", "");
  fmt::print("{} steps, {} failures\n", steps, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hocket::testing

int main(int argc, char** argv) {
  std::uint64_t steps = 1000, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view key = argv[i], value = argv[i + 1];
    std::uint64_t* target = key == "--steps" ? &steps : key == "--seed" ? &seed : nullptr;
    if (target == nullptr ||
        std::from_chars(value.data(), value.data() + value.size(), *target).ec != std::errc{}) {
      fmt::print(stderr, "usage: updates [--steps N] [--seed S]\n");
      return 2;
    }
  }
  return hocket::testing::run(steps, seed);
}

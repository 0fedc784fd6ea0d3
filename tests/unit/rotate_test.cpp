#include "hocket/iter/rotate.h"

#include <gtest/gtest.h>

#include "hocket/base/error.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/phases.h"
#include "hocket/iter/seams.h"
#include "hocket/ops/ops.h"
#include "support/message.h"
#include "support/run_loop.h"

namespace hocket::testing {
namespace {

// A linear model in three layers with an optimizer that counts its steps.
constexpr std::string_view training_step = R"(mesh(dp=2)
graph step(%a: state f32[2,2] "a" parameter, %b: state f32[2,2] "b" parameter, %c: state f32[2,2] "c" parameter,
           %steps: state f32[] "steps" optimizer, %x: f32[2,2] "x") {
  %one: f32[] = constant {value=[1.0]}
  %l0: f32[2,2] = matmul(%x, %a)
  %l1: f32[2,2] = matmul(%l0, %b)
  %l2: f32[2,2] = matmul(%l1, %c)
  %t: f32[2,2] = tanh(%l2)
  %gc: f32[2,2] = matmul(%l1, %t) {transpose_a=true}
  %gb: f32[2,2] = matmul(%l0, %t) {transpose_a=true}
  %hb: pending f32[2,2], %hc: pending f32[2,2] = all_reduce(%gb, %gc) {group="dp", reduce="avg", channel=0}
  %rb: f32[2,2], %rc: f32[2,2] = wait(%hb, %hc)
  %step: f32[] = add(%steps, %one)
  %sb: f32[2,2] = div(%rb, %step)
  %sc: f32[2,2] = div(%rc, %step)
  %ub: f32[2,2] = sub(%b, %sb)
  %uc: f32[2,2] = sub(%c, %sc)
  next %b = %ub
  next %c = %uc
  next %steps = %step
  return t=%t
}
)";

Program read(std::string_view text) { return parse(text, ops::all()); }

std::vector<NodeId> nodes_of(const Graph& g, std::initializer_list<std::string_view> names) {
  std::vector<NodeId> nodes;
  for (std::string_view name : names) nodes.push_back(g.node(g.find(name)));
  return nodes;
}

Program moved(const Program& program, std::initializer_list<std::string_view> names, int k = 1,
              RotateOptions options = {}) {
  Program changed = program;
  rotate(changed.graphs[0], nodes_of(changed.graphs[0], names), k, options);
  verify(changed);
  check_seams(changed);
  return changed;
}

LoopInputs inputs_for(const Program& program, int iterations) {
  Random random(7);
  return random_loop_inputs(random, program, iterations);
}

using Counts = std::vector<int>;

/// How often an op has run on rank 0 after each iteration that was fed, and after the drain.
Counts counts(const Program& program, const Op& op, int iterations) {
  Counts after;
  int now = 0;
  auto hook = [&](int rank, const Graph& g, NodeId n) {
    if (rank != 0) return;
    if (n == g.first_node()) after.push_back(now);
    now += g[n].op == &op;
  };
  run_loop(program, inputs_for(program, iterations), {}, hook);
  after.erase(after.begin());
  after.resize(static_cast<std::size_t>(iterations), now);
  after.push_back(now);
  return after;
}

TEST(Rotate, TheDelayedUpdateRunsOnceLessUntilTheDrain) {
  Program before = read(training_step);
  Program after = moved(before, {"hb", "rb", "step", "sb", "sc", "ub", "uc"});
  EXPECT_EQ(loop_difference(before, after, inputs_for(before, 5)), "");
  for (const Op* op : {&ops::all_reduce, &ops::wait, &ops::add}) {
    EXPECT_EQ(counts(before, *op, 5), (Counts{1, 2, 3, 4, 5, 5})) << op->name;
    EXPECT_EQ(counts(after, *op, 5), (Counts{0, 1, 2, 3, 4, 5})) << op->name;
  }
  EXPECT_EQ(counts(after, ops::tanh, 5), (Counts{1, 2, 3, 4, 5, 5}));
}

TEST(Rotate, OnlyTheWaitIsLate) {
  Program before = read(training_step);
  Program after = moved(before, {"rb", "step", "sb", "sc", "ub", "uc"}, 1,
                        {.before = before.graphs[0].node(before.graphs[0].find("l1"))});
  const Graph& g = after.graphs[0];
  EXPECT_TRUE(g.type(g.find("hb_prev")).pending);
  EXPECT_TRUE(g.before(g.node(g.find("l0")), g.node(g.find("rb"))));
  EXPECT_TRUE(g.before(g.node(g.find("rb")), g.node(g.find("l1"))));
  EXPECT_EQ(loop_difference(before, after, inputs_for(before, 5)), "");
  EXPECT_EQ(counts(after, ops::all_reduce, 5), (Counts{1, 2, 3, 4, 5, 5}));
  EXPECT_EQ(counts(after, ops::wait, 5), (Counts{0, 1, 2, 3, 4, 5}));
}

TEST(Rotate, ManyCyclesAndRunsOfOneIteration) {
  Program before = read(training_step);
  Program after = moved(before, {"hb", "rb", "step", "sb", "sc", "ub", "uc"});
  LoopInputs inputs = inputs_for(before, 9);
  EXPECT_EQ(loop_difference(before, after, inputs, {1, 2, 5, 6, 8}), "");
  EXPECT_EQ(
      run_loop(after, inputs, {1, 4}).phases,
      (std::vector<std::string>{"prologue", "drain", "prologue", "steady", "steady", "drain",
                                "prologue", "steady", "steady", "steady", "steady", "drain"}));
  EXPECT_EQ(loop_difference(before, after, inputs_for(before, 1)), "");
}

TEST(Rotate, ForwardsAValueOnceHoweverManyReadIt) {
  Program before = read(R"(graph step(%p: state f32[2] "p", %q: state f32[2] "q", %x: f32[2]) {
  %y: f32[2] = add(%p, %x)
  %u: f32[2] = mul(%y, %y)
  %v: f32[2] = sub(%y, %q)
  next %p = %u
  next %q = %v
  return y=%y
})");
  Program after = moved(before, {"u", "v"});
  EXPECT_EQ(after.graphs[0].inputs().size(), before.graphs[0].inputs().size() + 1);
}

TEST(Rotate, MovesLongChainsByMoreThanOneIteration) {
  // Three stages of one iteration, each a step later than the one before: software pipelining of a
  // graph that has no backward at all.
  Program before = read(R"(graph step(%sum: state f32[2] "sum", %x: f32[2]) {
  %a: f32[2] = exp(%x)
  %b: f32[2] = tanh(%a)
  %c: f32[2] = neg(%b)
  %s: f32[2] = add(%sum, %c)
  next %sum = %s
  return x=%x
})");
  Program after = moved(before, {"b", "c", "s"});
  rotate(after.graphs[0], nodes_of(after.graphs[0], {"c", "s"}), 1);
  rotate(after.graphs[0], nodes_of(after.graphs[0], {"s"}), 2);
  check_seams(after);
  EXPECT_EQ(loop_shape(after), (LoopShape{.depth = 4, .turns = 2}));
  for (int iterations : {1, 2, 3, 4, 7, 11})
    EXPECT_EQ(loop_difference(before, after, inputs_for(before, iterations), {2, 3}), "")
        << iterations;
}

TEST(Rotate, PullsUpWhatIsLateAndStandsFurtherBack) {
  // %u, once late, stands before its reader %z. Then %v, which reads it, must stand before %y.
  Program before = read(R"(graph step(%p: state f32[2] "p", %q: state f32[2] "q", %x: f32[2]) {
  %y: f32[2] = mul(%q, %x)
  %z: f32[2] = mul(%p, %y)
  %u: f32[2] = tanh(%z)
  %t: f32[2] = neg(%z)
  %v: f32[2] = add(%t, %p)
  next %p = %u
  next %q = %v
  return z=%z
})");
  Program after = moved(before, {"u"});
  const Graph& g = after.graphs[0];
  EXPECT_EQ(g.following(g.node(g.find("u"))), g.node(g.find("z"))) << "before its first reader";
  rotate(after.graphs[0], nodes_of(g, {"t", "v"}));
  verify(after);
  EXPECT_TRUE(g.before(g.node(g.find("v")), g.node(g.find("y"))));
  EXPECT_EQ(loop_difference(before, after, inputs_for(before, 4), {2}), "");

  // A late node that reads another late one, further back than its own place, takes it along.
  Program chain = read(R"(graph step(%q: state f32[2] "q", %x: f32[2]) {
  %y: f32[2] = mul(%q, %x)
  %z: f32[2] = exp(%y)
  %a: f32[2] = tanh(%x)
  %v: f32[2] = neg(%a)
  next %q = %v
  return z=%z
})");
  Program late = chain;
  Graph& h = late.graphs[0];
  EXPECT_EQ(
      message_of([&] { rotate(h, nodes_of(h, {"a"})); }),
      "%v = neg: with delay 0 it reads %a of its own iteration, which would have delay 1; move "
      "%v, too, or leave %a out");
  rotate(h, nodes_of(h, {"v"}));  // %a is forwarded
  h.move_before(h.node(h.find("z")), h.return_node());
  rotate(h, nodes_of(h, {"a"}));  // no reader but %v, which stands in front already
  verify(late);
  EXPECT_EQ(h.inputs().size(), 3U) << "%x is forwarded, %a not any more";
  EXPECT_EQ(loop_difference(chain, late, inputs_for(chain, 4), {2}), "");
}

TEST(Rotate, ALateOutputOfAnUpdateIsNotTheState) {
  Program before = read(R"(graph step(%p: state f32[2] "p", %x: f32[2]) {
  %y: f32[2] = mul(%p, %x)
  %u: f32[2] = tanh(%y)
  next %p = %u
  return old=%p, new=%u
})");
  Program after = moved(before, {"u"}, 1, {.outputs_may_lag = true});
  EXPECT_EQ(output_lags(after.graphs[0]), (std::vector<int>{0, 1}));
  EXPECT_EQ(loop_difference(before, after, inputs_for(before, 5), {1, 3}), "");
}

TEST(Rotate, IsTakenBackByTheTransaction) {
  Program program = read(training_step);
  std::string before = to_text(program);
  Graph& g = program.graphs[0];
  g.begin();
  rotate(g, nodes_of(g, {"rb", "step", "sb", "sc", "ub", "uc"}));
  rotate(g, nodes_of(g, {"hb"}));
  EXPECT_NE(to_text(program), before);
  g.rollback();
  g.check_consistency();
  EXPECT_EQ(to_text(program), before);
}

TEST(Rotate, StatesThatTradePlacesStayInTime) {
  Program before = read(R"(graph step(%p: state f32[2] "p", %q: state f32[2] "q", %x: f32[2]) {
  %y: f32[2] = sub(%p, %q)
  %z: f32[2] = add(%y, %x)
  next %p = %q
  next %q = %p
  return x=%x, z=%z
})");
  Program after = moved(before, {"y", "z"}, 2, {.outputs_may_lag = true});
  EXPECT_EQ(loop_difference(before, after, inputs_for(before, 6), {3}), "");
}

TEST(Rotate, ReadsWhatNeverChangesWithoutItsCarry) {
  Program p = read(R"(graph step(%k: state f32[2] "k" parameter, %x: f32[2] "x",
           %n_prev: state f32[2] forwarded, %x_prev: state f32[2] forwarded) {
  %m: f32[2] = mul(%n_prev, %x_prev) delay=1
  %n: f32[2] = exp(%k)
  next %n_prev = %n
  next %x_prev = %x
  return m=%m
})");
  Graph& g = p.graphs[0];
  rotate(g, nodes_of(g, {"m"}), 1, {.outputs_may_lag = true});
  verify(p);
  check_seams(g);
  EXPECT_EQ(g[g.node(g.find("m"))].inputs[0], g.find("n"));
  EXPECT_FALSE(g.find("n_prev"));
}

TEST(Rotate, CountsTheTurnsOfWhatWillBeLeft) {
  Program program = read(R"(graph step(%x: f32[2] "x") {
  %p: f32[2] = neg(%x)
  %q: f32[2] = abs(%x)
  return p=%p, q=%q
}
)");
  Graph& g = program.graphs[0];
  RotateOptions lag{.outputs_may_lag = true};
  rotate(g, nodes_of(g, {"p"}), 7, lag);
  std::string before = to_text(g);
  EXPECT_EQ(message_of([&] { rotate(g, nodes_of(g, {"q"}), 10, lag); }),
            "%q = abs: it would read %x through 10 slots, which repeat together with those of "
            "others after 70 iterations, wanted at most 64");
  EXPECT_EQ(to_text(g), before);
  // With the seven slots gone, ten are no trouble.
  rotate(g, nodes_of(g, {"p"}), 1, lag);
  rotate(g, nodes_of(g, {"q"}), 8, lag);
  EXPECT_EQ(loop_shape(g).turns, 8);
  check_seams(g);
}

TEST(Rotate, DropsWhatOnlyDroppedStateHandsOn) {
  Program program = read(R"(graph step(
    %a: state f32[2] forwarded(3), %b: state f32[2] forwarded(9), %f: state f32[2] forwarded(7), %x: f32[2] "x") {
  %p: f32[2] = neg(%a) delay=12
  next %a = %b
  next %b = %x
  next %f = %x
  return p=%p
}
)");
  Graph& g = program.graphs[0];
  rotate(g, nodes_of(g, {"p"}), 1, {.outputs_may_lag = true});
  EXPECT_EQ(to_text(g), R"(graph step(%x: f32[2] "x", %x_prev13: state f32[2] forwarded(13)) {
  %p: f32[2] = neg(%x_prev13) delay=13
  next %x_prev13 = %x
  return p=%p
}
)");
}

TEST(Phases, AreEnoughForOutputsAndStateThatComeLaterThanAnyNode) {
  Program plain =
      read(R"(graph step(%x: f32[4] "x", %w: state f32[4] "w" buffer, %v: state f32[4] "v" buffer) {
  %y: f32[4] = neg(%x)
  %q: f32[4] = add(%w, %y)
  next %w = %q
  next %v = %y
  return y=%y, again=%y, v=%v
})");
  struct Late {
    std::string_view text;
    int depth;
  };
  for (const Late& late : {Late{R"(graph step(%x: f32[4] "x", %w: state f32[4] "w" buffer,
           %v: state f32[4] "v" buffer, %f: state f32[4] forwarded(2), %g: state f32[4] forwarded) {
  %y: f32[4] = neg(%x)
  %q: f32[4] = add(%w, %g) delay=1
  next %w = %q
  next %v = %y
  next %f = %y
  next %g = %y
  return y=%f, again=%y, v=%v
})",
                                2},
                           {R"(graph step(%x: f32[4] "x", %w: state f32[4] "w" buffer,
           %v: state f32[4] "v" buffer, %f: state f32[4] forwarded(2), %g: state f32[4] forwarded) {
  %y: f32[4] = neg(%x)
  %q: f32[4] = add(%w, %y)
  next %w = %q
  next %v = %g
  next %f = %y
  next %g = %f
  return y=%y, again=%g, v=%v
})",
                            3}}) {
    Program rotated = read(late.text);
    check_seams(rotated);
    EXPECT_EQ(loop_shape(rotated).depth, late.depth);
    for (int iterations : {1, 2, 3, 4, 7})
      EXPECT_EQ(loop_difference(plain, rotated, inputs_for(plain, iterations), {2, 3}), "")
          << iterations;
  }
}

TEST(Phases, ChannelsOutlastEveryPhase) {
  Program after = moved(read(training_step), {"hb", "rb", "step", "sb", "sc", "ub", "uc"});
  Phases all = phases(after.graphs[0]);
  EXPECT_EQ(all.prologue.size(), 1U);
  EXPECT_EQ(all.steady.size(), 1U);
  ASSERT_EQ(all.drain.size(), 1U);
  const Graph& drain = all.drain[0];
  EXPECT_EQ(drain[drain.node(drain.find("hb"))].attr<std::int64_t>("channel"), 0);
  EXPECT_TRUE(drain.outputs().empty());
}

TEST(Phases, SlotsDoNotTakeOthersNames) {
  Program before = read(R"(graph step(%u_prev2_0: state f32[2] "other", %x: f32[2]) {
  %u: f32[2] = exp(%x)
  %s: f32[2] = add(%u_prev2_0, %u)
  next %u_prev2_0 = %s
  return u=%u
})");
  Program after = moved(before, {"s"}, 2);
  EXPECT_TRUE(phase(after.graphs[0], {0, 2, 0}).find("u_prev2_0_"));
  EXPECT_TRUE(phase(after.graphs[0], {0, 2, 1}).find("u_prev2_1"));
  EXPECT_EQ(loop_difference(before, after, inputs_for(before, 6), {3}), "");
}

TEST(Seams, AreCheckedOnThePhasesThemselves) {
  Program after = moved(read(training_step), {"hb", "rb", "step", "sb", "sc", "ub", "uc"});
  Phases all = phases(after.graphs[0]);
  Seam prologue = seam_of(all.prologue[0]), steady = seam_of(all.steady[0]),
       drain = seam_of(all.drain[0]);
  std::vector<RunPhase> run = {
      {"prologue 0", &prologue}, {"steady 1", &steady}, {"drain 1", &drain}};
  check_run(run);
  auto error = [&](std::vector<RunPhase> list) { return message_of([&] { check_run(list); }); };
  EXPECT_EQ(error({run[1], run[2]}),
            "steady 1: reads %gb_prev, which no phase before it has written");
  EXPECT_EQ(error({run[0], run[1]}), "%gb_prev: left over when the loop has been drained");
  EXPECT_EQ(error({run[0], run[0], run[2]}),
            "prologue 0: overwrites %gb_prev, which nobody has read yet");
  Seam other = drain;
  other.forwarded[0].type = {DType::f32, false, {4}};
  EXPECT_EQ(error({run[0], {"drain 1", &other}}),
            "drain 1: reads %gb_prev as f32[4], it was written as f32[2,2]");
  other = drain;
  other.state.erase("a");
  EXPECT_EQ(error({run[0], {"drain 1", &other}}), "drain 1: its state is not that of prologue 0");
}

}  // namespace
}  // namespace hocket::testing

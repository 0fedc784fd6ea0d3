// A loop gives what its body gives without delays, and says no where that cannot be.

#include "hocket/runtime/loop.h"

#include <gtest/gtest.h>

#include "hocket/base/error.h"
#include "hocket/comm/in_process.h"
#include "hocket/ir/parse.h"
#include "hocket/iter/rotate.h"
#include "hocket/ops/ops.h"
#include "hocket/runtime/in_order.h"
#include "hocket/runtime/ranks.h"

namespace hocket {
namespace {

Program body() {
  return parse(R"(mesh(dp=2)
graph step(%w: state f32[4] "w" parameter, %x: f32[4] "x") {
  %y: f32[4] = mul(%w, %x)
  %g: f32[4] = mul(%y, %x)
  %h: pending f32[4] = all_reduce(%g) {group="dp"}
  %s: f32[4] = wait(%h)
  %u: f32[4] = sub(%w, %s)
  next %w = %u
  return y=%y
})",
               ops::all());
}

/// The wait and the update run one iteration later; the transfer crosses the boundary.
Program rotated_body() {
  Program p = body();
  Graph& g = p.graphs[0];
  NodeId nodes[] = {g.node(g.find("s")), g.node(g.find("u"))};
  rotate(g, nodes);
  return p;
}

Tensor four(float first) {
  Tensor t(Type{DType::f32, false, {4}});
  for (int i = 0; i < 4; ++i) t.as<float>()[i] = first + 0.25f * static_cast<float>(i);
  return t;
}

// Inputs are %w and %x.
InputTables state() { return {{four(1), {}}, {four(1), {}}}; }

InputTables batch(int k) {
  float x = 0.1f * static_cast<float>(k + 1);
  return {{{}, four(x)}, {{}, four(-x)}};
}

/// Every output in the order of iterations, and the state after each drain.
struct Seen {
  std::map<std::pair<std::int64_t, int>, Tensor> outputs;
  std::vector<Tensor> states;
};

Seen train(const Program& program, int iterations, const std::set<int>& drains,
           std::optional<comm::Link> link = {}) {
  comm::InProcess transport(program.world->ranks(), {.link = link});
  Ranks ranks(program, transport);
  Loop loop(ranks, state());
  Seen seen;
  auto keep = [&](std::span<const Produced> produced) {
    for (const Produced& p : produced) seen.outputs[{p.iteration, p.rank}] = p.value;
  };
  for (int k = 0; k < iterations; ++k) {
    keep(loop.step(batch(k)));
    EXPECT_EQ(loop.iterations(), k + 1);
    if (!drains.contains(k + 1)) continue;
    keep(loop.drain());
    seen.states.push_back(loop.state()[0][0]);
  }
  keep(loop.finish());
  seen.states.push_back(loop.state()[1][0]);
  return seen;
}

TEST(Loop, GivesTheBitsOfTheUnmovedBody) {
  for (int iterations : {1, 2, 5})
    for (const std::set<int>& drains : {std::set<int>{}, {1}, {1, 3}, {1, 2, 3, 4, 5}}) {
      Seen plain = train(body(), iterations, drains);
      Seen moved = train(rotated_body(), iterations, drains, comm::Link{1e9, 1e-5});
      ASSERT_EQ(plain.outputs.size(), moved.outputs.size());
      for (const auto& [key, value] : plain.outputs)
        EXPECT_TRUE(same_bits(value, moved.outputs.at(key)));
      ASSERT_EQ(plain.states.size(), moved.states.size());
      for (std::size_t i = 0; i < plain.states.size(); ++i)
        EXPECT_TRUE(same_bits(plain.states[i], moved.states[i]));
    }
}

TEST(Loop, ADelayOfWhatNeverChangesMeansNothing) {
  std::string text = R"(graph step(%w: state f32[4] "w" parameter, %x: f32[4] "x") {
  %c: f32[] = full {value=0.5} delay=1
  %y: f32[4] = mul(%x, %c)
  %u: f32[4] = add(%w, %y)
  next %w = %u
  return y=%y
})";
  Program program = parse(text, ops::all());
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  Loop loop(ranks, {{four(0), {}}});
  std::span<const Produced> produced = loop.step(InputTables{{{}, four(2)}});
  ASSERT_EQ(produced.size(), 1u);
  EXPECT_EQ(produced[0].value.as<float>()[0], 1);
  EXPECT_TRUE(loop.finish().empty());
  EXPECT_EQ(loop.state()[0][0].as<float>()[0], 1);
}

TEST(Loop, RefusesARotatedBodyWhoseTypesDoNotFit) {
  Program program = rotated_body();
  Graph& g = program.graphs[0];
  g.set_type(g.find("x"), Type{DType::f32, false, {8}});
  comm::InProcess transport(program.world->ranks());
  EXPECT_THROW(Ranks(program, transport), Error);
  EXPECT_THROW(InOrder(program, 2), Error);
}

TEST(Loop, NamesItsPhases) {
  Program program = rotated_body();
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  Loop loop(ranks, state());
  std::vector<std::string> names;
  for (int k = 0; k < 4; ++k) {
    names.emplace_back(loop.phase_name());
    (void)loop.step(batch(k));
    if (k == 1) (void)loop.drain();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"prologue", "steady", "prologue", "steady"}));
}

TEST(Loop, StateIsShownWholeOrNotAtAll) {
  Program program = rotated_body();
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  Loop loop(ranks, state());
  (void)loop.step(batch(0));
  EXPECT_THROW((void)loop.state(), Error);
  (void)loop.finish();
  EXPECT_NO_THROW((void)loop.state());
  EXPECT_THROW((void)loop.step(batch(1)), Error);
}

/// Ranks, but for one step.
struct OneFailure final : Executor {
  OneFailure(Ranks& given, int step) : all(given), fails_at(step) {}
  const Program& program() const override { return all.program(); }
  std::span<const int> ranks() const override { return all.ranks(); }
  void load(const InputTables& state) override { all.load(state); }
  std::span<Produced> run(Window window, const InputTables& batch) override {
    if (++steps == fails_at) throw RunError("struck");
    return all.run(window, batch);
  }
  InputTables state() const override { return all.state(); }
  std::int64_t peak_bytes() const override { return all.peak_bytes(); }
  Ranks& all;
  int fails_at, steps = 0;
};

TEST(Loop, ADrainThatFailedCountsNothing) {
  Program program = parse(R"(graph step(%a: state f32[4] "a" buffer, %x: f32[4] "x") {
  %y: f32[4] = mul(%x, %x)
  %b: f32[4] = add(%a, %y)
  next %a = %b
  return y=%y
})",
                          ops::all());
  Graph& g = program.graphs[0];
  NodeId late[] = {g.node(g.find("b"))};
  rotate(g, late, 2);
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  OneFailure executor(ranks, 3);  // the second step of the drain, which does all that is late
  Loop loop(executor, {{four(1), {}}});
  (void)loop.step(InputTables{{{}, four(2)}});
  EXPECT_THROW((void)loop.drain(), RunError);
  EXPECT_EQ(loop.iterations(), 1);
  (void)loop.drain();
  EXPECT_EQ(loop.iterations(), 1);
  EXPECT_EQ(loop.state()[0][0].as<float>()[0], 5);
}

TEST(Loop, RefusesWhatDoesNotFit) {
  Program program = body();
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  EXPECT_THROW(Loop(ranks, {{four(1), {}}}), Error);  // a rank too few
  EXPECT_THROW(Loop(ranks, {{four(1)}, {Tensor{}}}), Error);
  Loop loop(ranks, state());
  EXPECT_THROW((void)loop.step({}), Error);
  EXPECT_THROW((void)loop.step({{four(1)}, {four(1)}}), Error);  // an input too few
  EXPECT_THROW((void)loop.step(state()), Error);                 // nothing for %x
  InputTables wrong = batch(0);
  wrong[1][1] = Tensor(Type{DType::f32, false, {5}});  // another shape is another compile
  try {
    (void)loop.step(wrong);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "rank 1: input %x is f32[5], wanted f32[4]");
  }
}

TEST(Loop, GoesOnBehindABatchThatDidNotFit) {
  Program program = rotated_body();
  InputTables wrong = batch(1);
  wrong[1][1] = Tensor(Type{DType::f32, false, {5}});
  auto run = [&](bool stumbles) {
    comm::InProcess transport(program.world->ranks());
    Ranks ranks(program, transport);
    Loop loop(ranks, state());
    for (int i = 0; i < 3; ++i) {
      if (stumbles) {
        EXPECT_THROW((void)loop.step(wrong), Error);
      }
      (void)loop.step(batch(i));
    }
    (void)loop.finish();
    EXPECT_EQ(loop.iterations(), 3);
    return loop.state();
  };
  auto plain = run(false), stumbled = run(true);
  for (std::size_t r = 0; r < plain.size(); ++r)
    EXPECT_TRUE(same_bits(plain[r][0], stumbled[r][0]));
}

TEST(Loop, RunsTheProgramAsItWas) {
  Program program = rotated_body();
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  Loop loop(ranks, state());
  (void)loop.step(batch(0));
  Graph& g = program.graphs[0];
  NodeId again[] = {g.node(g.find("h"))};
  rotate(g, again);
  (void)loop.step(batch(1));
  (void)loop.finish();
  EXPECT_TRUE(same_bits(loop.state()[1][0], train(rotated_body(), 2, {}).states[0]));
}

/// One object can run one loop after another.
TEST(Loop, StartsAgainFromOtherState) {
  Program program = rotated_body();
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  InOrder in_order(program, 2);
  for (Executor* executor : {static_cast<Executor*>(&ranks), static_cast<Executor*>(&in_order)})
    for (int k = 0; k < 3; ++k) {
      Loop loop(*executor, state());
      for (int i = 0; i <= k; ++i) (void)loop.step(batch(i));
      (void)loop.finish();
      Tensor wanted = train(body(), k + 1, {}).states[0];
      EXPECT_TRUE(same_bits(loop.state()[1][0], wanted)) << k;
    }
}

/// What a caller has taken is not overwritten by later steps.
TEST(Loop, OutputsThatAreHeldStay) {
  Program program = body();
  comm::InProcess transport(program.world->ranks());
  Ranks ranks(program, transport);
  Loop loop(ranks, state());
  Tensor held = loop.step(batch(0))[0].value;
  std::vector<float> before(held.as<float>(), held.as<float>() + 4);
  for (int k = 1; k < 4; ++k) (void)loop.step(batch(k));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), std::as_const(held).as<float>()));
}

}  // namespace
}  // namespace hocket

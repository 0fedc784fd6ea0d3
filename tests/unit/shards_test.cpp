#include "hocket/driver/shards.h"

#include <gtest/gtest.h>

#include <cstring>

#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/iter/rotate.h"
#include "hocket/ops/ops.h"
#include "support/difference.h"
#include "support/message.h"
#include "support/random_program.h"

namespace hocket {
namespace {

using testing::message_of;

Program read(const std::string& text) { return parse(text, ops::all()); }

template <class T = float>
Tensor tensor(const Type& type, std::vector<T> elements) {
  Tensor t(type);
  EXPECT_EQ(t.bytes().size(), elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(t.bytes().data(), elements.data(), t.bytes().size());
  return t;
}

template <class T = float>
std::vector<T> elements(const Tensor& t) {
  return {t.as<T>(), t.as<T>() + t.type().elements()};
}

std::string state(const std::string& mesh, const std::string& inputs) {
  return mesh + "\ngraph step(" + inputs + ") {\n}\n";
}

/// Every rank has the same state: 1, 2, 3 ...
InputTables counted(const Program& program) {
  InputTables tables;
  for (int r = 0; r < program.world->ranks(); ++r) {
    const Graph& g = program.graph_of(r);
    auto& row = tables.emplace_back();
    for (const Input& in : g.inputs()) {
      Tensor t(g.type(in.value));
      for (std::size_t i = 0; i < t.bytes().size(); ++i) t.bytes()[i] = std::byte(i + 1);
      row.push_back(t);
    }
  }
  return tables;
}

void expect_round_trip(const Program& source, const Program& program) {
  InputTables whole = counted(source);
  InputTables back = unshard_state(source, program, shard_state(source, program, whole));
  ASSERT_EQ(back.size(), whole.size());
  for (std::size_t r = 0; r < whole.size(); ++r)
    for (std::size_t i = 0; i < whole[r].size(); ++i)
      EXPECT_TRUE(same_bits(back[r][i], whole[r][i])) << "rank " << r << ", input " << i;
}

TEST(Shards, ArePaddedPieces) {
  Program source = read(state("mesh(dp=2)", "%m: state f32[5] \"m\" optimizer"));
  Program program =
      read(state("mesh(dp=2)", "%m: state f32[3] \"m\" optimizer shard(\"dp\", f32[5])"));
  Tensor m = tensor({DType::f32, false, {5}}, {1, 2, 3, 4, 5});
  InputTables pieces = shard_state(source, program, {{m}, {m}});
  EXPECT_EQ(elements(pieces[0][0]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(elements(pieces[1][0]), (std::vector<float>{4, 5, 0}));
  // What has become of the padding is no matter.
  pieces[1][0] = tensor({DType::f32, false, {3}}, {40, 50, 60});
  InputTables back = unshard_state(source, program, pieces);
  for (const auto& rank : back) EXPECT_EQ(elements(rank[0]), (std::vector<float>{1, 2, 3, 40, 50}));
}

/// Along dp only: ranks that differ along tp have state of their own.
TEST(Shards, GoOverOneAxisOfTwo) {
  for (bool outer : {true, false}) {
    std::string mesh = outer ? "mesh(dp=2, tp=2)" : "mesh(tp=2, dp=2)";
    Program source = read(state(mesh, "%m: state f32[3] \"m\" optimizer"));
    Program program = read(state(mesh, "%m: state f32[2] \"m\" optimizer shard(\"dp\", f32[3])"));
    Tensor a = tensor({DType::f32, false, {3}}, {1, 2, 3});
    Tensor b = tensor({DType::f32, false, {3}}, {7, 8, 9});
    InputTables whole = outer ? InputTables{{a}, {b}, {a}, {b}} : InputTables{{a}, {a}, {b}, {b}};
    InputTables pieces = shard_state(source, program, whole);
    std::vector<std::vector<float>> found, wanted{{1, 2}, {7, 8}, {3, 0}, {9, 0}};
    if (!outer) std::swap(wanted[1], wanted[2]);
    for (const auto& rank : pieces) found.push_back(elements(rank[0]));
    EXPECT_EQ(found, wanted);
    InputTables back = unshard_state(source, program, pieces);
    for (std::size_t r = 0; r < 4; ++r) EXPECT_TRUE(same_bits(back[r][0], whole[r][0])) << r;
  }
}

TEST(Shards, OfAnyTypeComeBack) {
  for (std::string mesh : {"mesh(dp=2)", "mesh(dp=3)", "mesh(dp=2, tp=3)", "mesh(dp=1)"})
    for (std::string type : {"f32[5,3]", "bf16[7]", "f32[0]", "f32[2,0,3]", "f32[]", "i64[1]",
                             "bool[4]", "f64[6]", "f16[1]"}) {
      Program source = read(
          state(mesh, "%x: state f32[2] \"x\" parameter, %m: state " + type + " \"m\" optimizer"));
      const Graph& g = source.graphs[0];
      Type whole = g.type(g.find("m"));
      std::int64_t ranks = *source.world->group_size("dp");
      Type piece{whole.dtype, false, {(whole.elements() + ranks - 1) / ranks}};
      // Inputs are known by their names, in whatever order they stand.
      Program program =
          read(state(mesh, "%m: state " + to_text(piece) + " \"m\" optimizer shard(\"dp\", " +
                               type + "), %x: state f32[2] \"x\" parameter"));
      SCOPED_TRACE(mesh + " " + type);
      expect_round_trip(source, program);
    }
}

/// Inputs that passes have added have no values, and what was a shard before stays one.
TEST(Shards, LeaveOthersAlone) {
  Program source =
      read(state("mesh(dp=2)", "%s: state f32[2] \"s\" optimizer shard(\"dp\", f32[3])"));
  Program program = read(R"(mesh(dp=2)
graph step(%f: state f32[2] forwarded, %s: state f32[2] "s" optimizer shard("dp", f32[3])) {
  next %f = %s
}
)");
  InputTables own = {{tensor({DType::f32, false, {2}}, {1, 2})},
                     {tensor({DType::f32, false, {2}}, {3, 0})}};
  InputTables tables = shard_state(source, program, own);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_FALSE(tables[r][0]);
    EXPECT_TRUE(same_bits(tables[r][1], own[r][0]));
  }
  InputTables back = unshard_state(source, program, tables);
  for (std::size_t r = 0; r < 2; ++r) EXPECT_TRUE(same_bits(back[r][0], own[r][0]));
}

/// Copies of a program for one rank have no groups.
TEST(Shards, OfCopiesAreTheSame) {
  Program program = read(state("", "%m: state f32[2] \"m\" optimizer"));
  InputTables tables(3, {tensor({DType::f32, false, {2}}, {1, 2})});
  for (const InputTables& t :
       {shard_state(program, program, tables), unshard_state(program, program, tables)})
    for (std::size_t r = 0; r < 3; ++r) EXPECT_TRUE(same_bits(t[r][0], tables[r][0]));
}

constexpr std::string_view step = R"(mesh(dp=2)
graph step(
    %w: state f32[3] "w" parameter,
    %m: state f32[3] "m" optimizer,
    %v: state f32[3] "v" optimizer,
    %t: state f32[] "t" optimizer,
    %other: state f32[3] "other" buffer,
    %x: f32[3] "x") {
  %one: f32[] = full {value=1.0}
  %h: pending f32[3] = all_reduce(%x) {group="dp", reduce="sum", channel=0}
  %g: f32[3] = wait(%h)
  %n: f32[] = add(%t, %one)
  %u: f32[3], %p: f32[3], %q: f32[3] = adam([%w], [%g], [%m], [%v], [], [%n], %one, [], [])
  %o: f32[3] = add(%other, %x)
  next %w = %u
  next %m = %p
  next %v = %q
  next %t = %n
  next %other = %o
}
)";

/// Parameters, state and steps decide for all ranks; what has no part in it may differ.
void expect_refusals(const Program& source, const Program& program) {
  const Graph& g = source.graphs[0];
  auto refusal = [&](std::string_view input) {
    InputTables tables = counted(source);
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      if (g.name(g.inputs()[i].value) != input) continue;
      tables[1][i] = Tensor(g.type(g.inputs()[i].value));
      std::memset(tables[1][i].bytes().data(), 0, tables[1][i].bytes().size());
    }
    return message_of([&] { shard_state(source, program, tables); });
  };
  for (std::string name : {"w", "m", "v", "t"})
    EXPECT_EQ(refusal(name),
              "state %" + name +
                  ": ranks 0 and 1 start with different values, wanted equal ones in "
                  "group \"dp\", which updates in pieces");
  for (std::string name : {"other", "x", ""}) EXPECT_EQ(refusal(name), "") << name;
}

TEST(Shards, MustStartEqual) {
  Program source = read(std::string(step)), program = source;
  PassTable table = standard_passes();
  run_passes(program, table, table.parse("shard-optimizer"));
  expect_refusals(source, program);
  // Also when the parameter arrives an iteration later, and its old value is read by nobody.
  Graph& g = program.graphs[0];
  rotate(g, std::vector{g.node(g.find("wait_1")), g.node(g.find("u"))}, 1);
  EXPECT_TRUE(g.uses(g.find("w")).empty());
  expect_refusals(source, program);
}

/// What is cut may be computed from state, or nothing is cut and a number decides.
TEST(Shards, MustStartEqualBehindComputations) {
  Program source = read(R"(mesh(dp=2)
graph step(%p: state f32[2] "p" parameter, %lr: state f32[] "lr" buffer, %other: state f32[2] "other" buffer,
           %x: f32[2] "x") {
  %t: f32[2] = tanh(%p)
  %h: pending f32[2] = all_reduce(%x) {group="dp"}
  %s: f32[2] = wait(%h)
  %v: f32[2] = mul(%s, %t)
  %u: f32[2] = mul(%v, %lr)
  next %p = %u
  return t=%t, other=%other
}
)");
  PassTable table = standard_passes();
  for (const char* list : {"shard-optimizer", "shard-optimizer,cross-iteration:delay=all"}) {
    Program program = source;
    run_passes(program, table, table.parse(list));
    for (std::size_t i = 0; i < 3; ++i) {
      InputTables tables = counted(source);
      std::ranges::fill(tables[1][i].bytes(), std::byte{0});
      std::string message = message_of([&] { shard_state(source, program, tables); });
      EXPECT_EQ(message.empty(), i == 2) << list << " " << i << message;
    }
  }
}

/// What differs may take an iteration to reach the pieces, or pass a sum over other axes.
TEST(Shards, MustStartEqualHoweverLongTheWay) {
  Program source = read(R"(mesh(dp=2, tp=2)
graph step(%p: state f32[2] "p" parameter, %m: state f32[2] "m" buffer, %k: state f32[2] "k" buffer,
           %t: state f32[2] "t" buffer, %x: f32[2] "x") {
  %h: pending f32[2] = all_reduce(%x) {group="dp", channel=0}
  %s: f32[2] = wait(%h)
  %i: pending f32[2] = all_reduce(%t) {group="tp", channel=1}
  %r: f32[2] = wait(%i)
  %v: f32[2] = mul(%s, %m)
  %u: f32[2] = mul(%v, %r)
  %n: f32[2] = softmax(%k) {dim=0}
  next %p = %u
  next %m = %n
}
)"),
          program = source;
  PassTable table = standard_passes();
  run_passes(program, table, table.parse("shard-optimizer"));
  // No new parameter depends on the old one. Along tp everything may differ.
  const Graph& g = source.graphs[0];
  for (std::size_t i = 0; i < 4; ++i)
    for (std::vector<std::size_t> ranks : {std::vector<std::size_t>{2}, {2, 3}, {1, 3}}) {
      InputTables tables = counted(source);
      for (std::size_t r : ranks) {
        tables[r][i] = Tensor(g.type(g.inputs()[i].value));
        std::ranges::fill(tables[r][i].bytes(), std::byte{0});
      }
      std::string message = message_of([&] { shard_state(source, program, tables); });
      EXPECT_EQ(message.empty(), i == 0 || ranks[0] == 1) << i << ": " << message;
    }
}

/// What a text says is compared as well, with no pass at all.
TEST(Shards, StateThatIsMarkedMustStartEqual) {
  Program program = read(
      state("mesh(dp=2, tp=2)", "%a: state f32[1] \"a\" equal(\"tp\"), %b: state f32[1] \"b\""));
  Tensor one = tensor({DType::f32, false, {1}}, {1}), two = tensor({DType::f32, false, {1}}, {2});
  auto refusal = [&](const InputTables& tables) {
    return message_of([&] { shard_state(program, program, tables); });
  };
  EXPECT_EQ(refusal({{one, one}, {one, two}, {two, one}, {two, two}}), "");
  EXPECT_EQ(refusal({{one, one}, {one, one}, {two, one}, {one, one}}),
            "state %a: ranks 2 and 3 start with different values, wanted equal ones in group "
            "\"tp\"");
}

/// Ranks with other graphs have the same state under the same name.
TEST(Shards, StateThatIsMarkedMustStartEqualInAllGraphs) {
  Program program = read(R"(mesh(dp=3)
graph a on [0] (%a: state f32[1] "a" equal("dp")) {
}
graph b on [1] (%b: state f32[1] "b" equal("dp"), %a: state f32[1] "a" equal("dp")) {
}
graph c on [2] (%a: state f32[1] "a") {
}
)");
  Tensor one = tensor({DType::f32, false, {1}}, {1}), two = tensor({DType::f32, false, {1}}, {2});
  auto refusal = [&](const InputTables& tables) {
    return message_of([&] { shard_state(program, program, tables); });
  };
  EXPECT_EQ(refusal({{one}, {two, one}, {two}}), "");
  EXPECT_EQ(refusal({{one}, {one, two}, {one}}),
            "state %a: ranks 0 and 1 start with different values, wanted equal ones in group "
            "\"dp\"");
}

/// Without the pass nothing has to be equal.
TEST(Shards, MayDifferWithoutThePass) {
  Program source = read(std::string(step));
  InputTables tables = counted(source);
  tables[1][0] = tensor({DType::f32, false, {3}}, {9, 9, 9});
  EXPECT_EQ(message_of([&] { shard_state(source, source, tables); }), "");
}

/// Padding that a pass leaves in a piece is never seen, over several iterations.
TEST(Shards, OfAStepMeanTheSame) {
  Program source = read(std::string(step)), program = source;
  PassTable table = standard_passes();
  run_passes(program, table, table.parse("shard-optimizer"));
  EXPECT_TRUE(program.graphs[0].input(program.graphs[0].find("m")).shard);
  testing::Random random(3);
  EXPECT_EQ(testing::difference(source, program, testing::random_inputs(random, source), 5), "");
}

}  // namespace
}  // namespace hocket

#include "hocket/ir/graph.h"

#include <gtest/gtest.h>

#include <random>

#include "hocket/base/error.h"
#include "hocket/ir/clone.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

const Type f32x4{DType::f32, false, {4}};

/// x -> n relus in a row.
Graph chain(int n) {
  Graph g;
  Value v = g.add_input(f32x4, "x");
  for (int i = 0; i < n; ++i) v = ops::relu(g, v);
  g.add_output("y", v);
  return g;
}

std::vector<std::string> names(const Graph& g) {
  std::vector<std::string> list;
  for (NodeId n : g.nodes()) list.push_back(g.name(g.result(n)));
  return list;
}

using Names = std::vector<std::string>;

TEST(Graph, NamesFollowTheOpAndAreNeverUsedAgain) {
  Graph g;
  Value x = g.add_input(f32x4, "x");
  Value a = ops::relu(g, x), b = ops::relu(g, x);
  EXPECT_EQ(g.name(a), "relu");
  EXPECT_EQ(g.name(b), "relu_1");
  EXPECT_EQ(g.find("relu_1"), b);
  g.erase(g.node(b));
  EXPECT_FALSE(g.find("relu_1"));
  EXPECT_EQ(g.name(ops::relu(g, x)), "relu_2");
  g.rename(a, "relu_5");
  EXPECT_EQ(g.name(a), "relu_5");
  EXPECT_EQ(g.name(ops::relu(g, x)), "relu_3");
  g.rename(a, "7 odd-name");
  EXPECT_EQ(g.name(a), "_7_odd_name");
  std::string_view wanted[] = {"x"};
  NodeId n = g.add(g, {.op = &ops::neg, .inputs = {&x, 1}, .names = wanted});
  EXPECT_EQ(g.name(g.result(n)), "x_1");
  std::string_view padded[] = {"x_01"};
  EXPECT_EQ(g.name(g.result(g.add(g, {.op = &ops::neg, .inputs = {&x, 1}, .names = padded}))),
            "x_01");
  g.check_consistency();
}

TEST(Graph, PlacesKeepTheOrderOfCreation) {
  Graph g = chain(2);
  NodeId second = g.node(g.find("relu_1"));
  Value x = g.inputs()[0].value;
  At at(g, second);
  Value a = ops::neg(at, x), b = ops::exp(at, a);
  EXPECT_EQ(names(g), (Names{"relu", "neg", "exp", "relu_1"}));
  ops::tanh(after(g, g.node(b)), b);
  ops::sqrt(after(g, g.node(x)), x);
  EXPECT_EQ(names(g), (Names{"sqrt", "relu", "neg", "exp", "tanh", "relu_1"}));
  EXPECT_TRUE(g.before(g.node(a), g.node(b)));
  EXPECT_FALSE(g.before(g.node(b), g.node(a)));
}

TEST(Graph, UsesFollowEveryEdit) {
  Graph g;
  Value x = g.add_input(f32x4, "x"), w = g.add_input(f32x4, "w", {.names = {"w"}, .state = true});
  Value sum = ops::add(g, x, x);
  EXPECT_EQ(g.uses(x).size(), 2u);
  g.set_operand(g.node(sum), 1, w);
  EXPECT_EQ(g.uses(x).size(), 1u);
  EXPECT_EQ(g.uses(w).size(), 1u);
  g.set_next(w, sum);
  g.add_output("out", sum);
  EXPECT_EQ(g.uses(sum).size(), 2u);
  Value other = ops::relu(g, sum);
  g.replace_uses(sum, other, [&](Use use) { return use.node == g.return_node(); });
  EXPECT_EQ(g.next(w), other);
  EXPECT_EQ(g.outputs()[0].value, other);
  EXPECT_EQ(g.uses(sum).size(), 1u);
  EXPECT_EQ(g.first_user(g.node(sum)), g.node(other));
  EXPECT_EQ(g.last_user(g.node(other)), g.return_node());
  g.erase_output(0);
  EXPECT_EQ(g.next(w), other);
  g.clear_next(w);
  EXPECT_FALSE(g.next(w));
  EXPECT_FALSE(g.used(g.node(other)));
  g.check_consistency();
}

TEST(Graph, EraseNamesTheReaders) {
  Graph g = chain(2);
  try {
    g.erase(g.node(g.find("relu")));
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "%relu = relu: cannot be erased, it is read by %relu_1 = relu");
  }
  EXPECT_THROW(g.erase_input(g.inputs()[0].value), Error);
  EXPECT_THROW(g.erase({99}), InternalError);
  EXPECT_THROW(g.move_before(g.return_node(), g.first_node()), InternalError);
}

TEST(Graph, IdsSurviveACopy) {
  Graph g = chain(3);
  Graph copy = g;
  Value last = g.find("relu_2");
  EXPECT_EQ(copy.name(last), "relu_2");
  EXPECT_TRUE(copy == g);
  copy.set_path(copy.node(last), "layer");
  EXPECT_FALSE(copy == g);
  EXPECT_EQ(g.path(g.node(last)), "");
  copy.check_consistency();
}

TEST(Graph, EqualityIgnoresChannelsAlone) {
  auto text = [](const char* channel, const char* reduce) {
    return std::string(
               "mesh(dp=2)\ngraph step(%x: f32[4]) {\n  %h: pending f32[4] = all_reduce(%x) "
               "{group=\"dp\", reduce=\"") +
           reduce + "\", channel=" + channel + "}\n  %y: f32[4] = wait(%h)\n  return %y\n}\n";
  };
  Program a = parse(text("0", "sum"), ops::all());
  EXPECT_TRUE(a == parse(text("3", "sum"), ops::all()));
  EXPECT_FALSE(a == parse(text("0", "max"), ops::all()));
}

TEST(Graph, LoopsSurviveEdits) {
  Graph g = chain(6);
  // Erase the current node, the next one and an earlier one; insert behind and ahead.
  Value x = g.inputs()[0].value;
  g.erase_output(0);
  for (NodeId n : g.nodes()) g.replace_uses(g.result(n), x);
  Names seen;
  for (NodeId n : g.nodes()) {
    std::string name = g.name(g.result(n));
    seen.push_back(name);
    if (name == "relu_1") {
      g.erase(g.following(n));  // relu_2
      g.erase(n);
      g.erase(g.first_node());  // relu
    }
    if (name == "relu_3") {
      ops::neg(At(g, n), x);             // behind the loop: not visited
      ops::exp(after(g, n), x);          // ahead: visited
      g.move_before(n, g.first_node());  // goes on where it stood
    }
  }
  EXPECT_EQ(seen, (Names{"relu", "relu_1", "relu_3", "exp", "relu_4", "relu_5"}));
  EXPECT_EQ(names(g), (Names{"relu_3", "neg", "exp", "relu_4", "relu_5"}));

  seen.clear();
  for (NodeId n : reversed(g.nodes())) {
    seen.push_back(g.name(g.result(n)));
    g.move_before(n, g.return_node());
    if (seen.size() > 10) break;
  }
  EXPECT_EQ(seen, (Names{"relu_5", "relu_4", "exp", "neg", "relu_3"}));
  g.check_consistency();
}

TEST(Graph, NestedLoopsAndErasingEverything) {
  Graph g;
  Value x = g.add_input(f32x4, "x");
  for (int i = 0; i < 10; ++i) ops::relu(g, x);
  int outer = 0;
  for (NodeId n : g.nodes()) {
    ++outer;
    for (NodeId m : g.nodes())
      if (m != n) g.erase(m);
    g.erase(n);
  }
  EXPECT_EQ(outer, 1);
  EXPECT_EQ(g.size(), 0u);
}

TEST(Graph, OrderHoldsUnderInsertionsAtOnePlace) {
  for (bool with_input : {true, false}) {
    Graph g;
    if (with_input) g.add_input(f32x4, "x");
    Type types[] = {f32x4};
    Attributes zero(ops::full, {{"value", 0.0}});
    NodeSpec spec{.op = &ops::full, .attributes = zero, .types = types};
    NodeId last = g.add(g, spec);
    for (int i = 0; i < 20000; ++i) g.add(At(g, i % 3 == 0 ? g.first_node() : last), spec);
    g.check_consistency();
  }
}

TEST(Graph, RandomMovesKeepTheOrder) {
  Graph g;
  Type types[] = {f32x4};
  Attributes zero(ops::full, {{"value", 0.0}});
  std::vector<NodeId> in_order;
  for (int i = 0; i < 300; ++i)
    in_order.push_back(g.add(g, {.op = &ops::full, .attributes = zero, .types = types}));
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::size_t from = random() % in_order.size(), to = random() % in_order.size();
    NodeId n = in_order[from], place = in_order[to];
    if (n == place) continue;
    bool before = random() % 2 == 0;
    before ? g.move_before(n, place) : g.move_after(n, place);
    in_order.erase(in_order.begin() + static_cast<std::ptrdiff_t>(from));
    auto at = std::ranges::find(in_order, place);
    in_order.insert(before ? at : at + 1, n);
  }
  std::vector<NodeId> listed;
  for (NodeId n : std::as_const(g).nodes()) listed.push_back(n);
  EXPECT_EQ(listed, in_order);
  g.check_consistency();
}

TEST(Graph, RollbackRestoresEverything) {
  Graph g = chain(5);
  Value x = g.inputs()[0].value;
  std::string before = to_text(g);
  std::uint64_t edits = g.edits();
  g.begin();
  Value w = g.add_input(f32x4, "w", {.names = {"w"}, .state = true});
  Value n = ops::neg(At(g, g.first_node()), x);
  g.set_next(w, n);
  g.replace_uses(g.find("relu_2"), n);
  g.erase(g.node(g.find("relu_2")));
  g.move_before(g.node(g.find("relu_4")), g.first_node());
  g.add_output("extra", w);
  g.set_name("other");
  g.set_ranks({0});
  EXPECT_GT(g.edits(), edits);
  EXPECT_FALSE(g.touched().empty());
  g.rollback();
  EXPECT_EQ(to_text(g), before);
  EXPECT_FALSE(g.find("w"));
  EXPECT_FALSE(g.find("neg"));
  EXPECT_EQ(g.name(ops::neg(g, x)), "neg");
  g.check_consistency();
}

TEST(Graph, AssignmentCanBeTakenBack) {
  Graph g = chain(3);
  std::string before = to_text(g);
  g.begin();
  ops::neg(g, g.inputs()[0].value);
  g = chain(7);
  ops::neg(g, g.inputs()[0].value);
  EXPECT_EQ(g.touched().size(), g.size() + 2);
  g.rollback();
  EXPECT_EQ(to_text(g), before);
  g.begin();
  g = chain(2);
  g.commit();
  EXPECT_EQ(g.size(), 2u);
  EXPECT_THROW(g.rollback(), InternalError);
  g.begin();
  EXPECT_THROW(g.begin(), InternalError);
}

TEST(Graph, TouchedNodesAreThoseEdited) {
  Graph g = chain(100);
  NodeId n = g.node(g.find("relu_50"));
  g.begin();
  EXPECT_TRUE(g.touched().empty());
  g.set_path(n, "here");
  EXPECT_EQ(g.touched(), std::vector<NodeId>{n});
  ops::neg(after(g, n), g.result(n));
  EXPECT_LE(g.touched().size(), 4u);  // the new one, its operand's node, its neighbours
  g.commit();
}

TEST(Clone, CopiesWithSubstitution) {
  Graph g = chain(3);
  Value x = g.inputs()[0].value, w = g.add_input(f32x4, "w");
  std::vector<NodeId> nodes{g.node(g.find("relu")), g.node(g.find("relu_1"))};
  ValueMap map{{x, w}};
  auto copies = clone_nodes(g, nodes, At(g), map);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(g[copies[0]].inputs[0], w);
  EXPECT_EQ(g[copies[1]].inputs[0], g.result(copies[0]));
  EXPECT_EQ(map.at(g.find("relu_1")), g.result(copies[1]));
  EXPECT_EQ(names(g), (Names{"relu", "relu_1", "relu_2", "relu_3", "relu_4"}));

  Graph other("other");
  ValueMap into{{x, other.add_input(f32x4, "y")}};
  EXPECT_EQ(clone_nodes(g, nodes, At(other), into).size(), 2u);
  EXPECT_EQ(names(other), (Names{"relu", "relu_1"}));
  ValueMap empty;
  EXPECT_THROW(clone_nodes(g, nodes, At(other), empty), InternalError);

  EXPECT_FALSE(is_leaf_subgraph(g, nodes));
  EXPECT_TRUE(is_leaf_subgraph(g, copies));
}

TEST(Clone, ACopiedCollectiveGetsItsOwnChannel) {
  Program p = parse(
      "mesh(dp=2)\ngraph step(%x: f32[4]) {\n  %h: pending f32[4] = all_reduce(%x) {group=\"dp\"}\n"
      "  %y: f32[4] = wait(%h) @\"a\"\n  return %y\n}\n",
      ops::all());
  Graph& g = p.graphs[0];
  std::vector<NodeId> nodes{g.node(g.find("h")), g.node(g.find("y"))};
  ValueMap map;
  auto copies = clone_nodes(g, nodes, At(g), map);
  EXPECT_EQ(g[copies[0]].attr<std::int64_t>("channel"), 1);
  EXPECT_EQ(g.path(copies[1]), "a");
  verify(p);
}

TEST(Clone, ACopierKeepsWhatANodeIs) {
  Program p = parse(
      "mesh(dp=2)\ngraph step(%x: f32[4]) {\n  %h_7: pending f32[4] = all_reduce(%x) "
      "{group=\"dp\"} @\"a.b\" stage=3\n  %y: f32[4] = wait(%h_7)\n  return %y\n}\n",
      ops::all());
  const Graph& g = p.graphs[0];
  NodeId h = g.node(g.find("h_7")), y = g.node(g.find("y"));
  Graph to("to", g.shared_world());
  Value x = to.add_input(f32x4, "h_7");
  Copier copier(g, to);
  Value operands[] = {x};
  NodeId copy = copier.copy(h, to, operands, 2);
  EXPECT_EQ(to[copy].attr<std::int64_t>("channel"), g[h].attr<std::int64_t>("channel"));
  EXPECT_EQ(to.fresh_channel(), g.fresh_channel());
  EXPECT_EQ(to.path(copy), "a.b");
  EXPECT_EQ(to[copy].stage, 3);
  EXPECT_EQ(to[copy].delay, 2);
  EXPECT_EQ(to.type(to.result(copy)), g.type(g.find("h_7")));
  EXPECT_EQ(to.name(to.result(copy)), "h_1");  // h_7 is taken

  // What the op does not take is refused, and nothing is added.
  EXPECT_THROW(copier.copy(y, to, operands, 0), Error);
  EXPECT_EQ(to.size(), 1u);
  Value handle[] = {to.result(copy)};
  NodeId waited = copier.copy(y, At(to, to.return_node(), "elsewhere"), handle, 0);
  EXPECT_EQ(to.path(waited), "elsewhere");  // it had none
  EXPECT_THROW(copier.copy(g.node(g.find("x")), to, {}, 0), InternalError);
  EXPECT_THROW(copier.copy(g.return_node(), to, handle, 0), InternalError);
  EXPECT_THROW(Copier(to, to), InternalError);
  to.check_consistency();
}

TEST(Graph, RollbackBringsInputsAndFarNamesBack) {
  Graph g;
  std::vector<Value> states;
  for (int i = 0; i < 5; ++i)
    states.push_back(g.add_input(f32x4, "s", {.state = true, .kind = StateKind::buffer}));
  Value far = g.add_input(f32x4, "far_900000");
  for (int i : {1, 3, 4}) g.set_next(states[static_cast<std::size_t>(i)], ops::relu(g, far));
  std::string before = to_text(g);

  g.begin();
  g.clear_next(states[3]);
  g.erase_input(states[2]);
  g.erase_inputs(std::vector<Value>{states[0], states[1]});
  g.rename(far, "far_800000");
  g.set_next(states[3], g.add_input(f32x4, "far_900001"));
  g.check_consistency();
  EXPECT_EQ(g.inputs().size(), 4u);
  EXPECT_EQ(g.next(states[3]), g.find("far_900001"));
  EXPECT_EQ(g.next(far), Value{});
  Value late = g.find("far_900001");
  EXPECT_THROW(g.erase_inputs(std::vector<Value>{far, far}), InternalError);
  g.rollback();
  EXPECT_EQ(g.next(late), Value{});  // not there any more
  EXPECT_EQ(g.next({4'000'000}), Value{});

  g.check_consistency();
  EXPECT_EQ(to_text(g), before);
  EXPECT_EQ(g.find("far_900000"), far);
  EXPECT_FALSE(g.find("far_800000"));
}

TEST(Graph, AnyNumberOfNodesWithOneBaseName) {
  Graph g;
  Value x = g.add_input(f32x4, "x_1000000");
  for (int i = 0; i < 1000; ++i) {
    std::string_view wanted[] = {i % 2 == 0 ? "x" : "x_999999999"};
    g.add(g, {.op = &ops::relu, .inputs = {&x, 1}, .names = wanted});
  }
  g.check_consistency();
  EXPECT_TRUE(g.find("x_999999999"));
  EXPECT_EQ(g.find("x_1000000"), x);
}

TEST(Graph, LeftOutAttributesHaveTheirDefaults) {
  Graph g;
  NodeId n = g.add(g, {.op = &ops::barrier});
  EXPECT_EQ(g[n].attr<std::int64_t>("channel"), 0);
  EXPECT_FALSE(ops::barrier(g));
  EXPECT_EQ(g.fresh_channel(), 2);
  EXPECT_THROW(ops::barrier(g, {}, {{"channel", max_channel + 1}}), Error);
  EXPECT_THROW(Graph("two words"), Error);
  EXPECT_THROW(World({{"d p", 2}}), Error);
}

TEST(World, GroupsOfAMesh) {
  World w({{"dp", 2}, {"tp", 3}}, {{"odd", {{1, 3}, {5, 0}}}});
  EXPECT_EQ(w.ranks(), 6);
  EXPECT_EQ(w.group_size("dp"), 2);
  EXPECT_EQ(w.group_size("tp,dp"), 6);
  EXPECT_EQ(w.group_size("world"), 6);
  EXPECT_FALSE(w.group_size("pp"));
  EXPECT_EQ(w.members("dp", 4), (std::vector<int>{1, 4}));
  EXPECT_EQ(w.members("tp", 4), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(w.members("world", 4), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(w.members("odd", 0), (std::vector<int>{5, 0}));
  EXPECT_TRUE(w.members("odd", 2).empty());
  EXPECT_EQ(w.outsider("odd", {}), 2);
  EXPECT_EQ(w.outsider("odd", {3, 4, 5}), 4);
  EXPECT_FALSE(w.outsider("odd", {5, 1}));
  EXPECT_FALSE(w.outsider("dp", {}));
  EXPECT_THROW(World({{"a", 0}}), Error);
  EXPECT_THROW(World({{"a", 2}, {"a", 2}}), Error);
  EXPECT_THROW(World({{"world", 2}}), Error);
  EXPECT_THROW(World({{"a", 2}}, {{"g", {{0, 2}}}}), Error);
  EXPECT_THROW(World({{"a", 2}}, {{"g", {{0, 0}}}}), Error);
}

TEST(Program, WhoKeepsToItself) {
  auto world = std::make_shared<const World>(std::vector<Axis>{{"pp", 2}, {"dp", 2}});
  Graph g("stage", world);
  EXPECT_TRUE(keeps_to_itself(g, "world"));
  g.set_ranks({0, 1});
  EXPECT_TRUE(keeps_to_itself(g, "dp"));
  EXPECT_FALSE(keeps_to_itself(g, "pp"));
  EXPECT_FALSE(keeps_to_itself(g, "world"));
}

}  // namespace
}  // namespace hocket

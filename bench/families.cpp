#include "bench/families.h"

#include <fmt/core.h>

#include <deque>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "hocket/ops/ops.h"

namespace hocket::bench {
namespace {

const Op* const unary[] = {&ops::relu, &ops::neg, &ops::tanh, &ops::exp};
const Op* const binary[] = {&ops::add, &ops::mul, &ops::maximum, &ops::sub};

const Op& pick(std::span<const Op* const> list, std::size_t i) { return *list[i % list.size()]; }

/// Random numbers that are the same on every platform, unlike those of the standard distributions.
struct Random {
  std::uint64_t state;
  std::size_t below(std::size_t bound) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
  }
  bool chance(std::size_t percent) { return below(100) < percent; }
};

Value full(At at, const Type& type, double value) {
  Type types[] = {type};
  return at.graph->result(at.graph->add(
      at,
      {.op = &ops::full, .attributes = Attributes(ops::full, {{"value", value}}), .types = types}));
}

Value scalar(At at, double value) {
  Type types[] = {Type{DType::f32, false, {}}};
  return at.graph->result(
      at.graph->add(at, {.op = &ops::constant,
                         .attributes = Attributes(ops::constant, {{"value", Floats{value}}}),
                         .types = types}));
}

}  // namespace

Graph make_chain(std::size_t n) {
  Graph g("chain");
  Value x = g.add_input({DType::f32, false, {8}}, "x", {.names = {"x"}});
  // A side branch leaves the chain every eight nodes and comes back five nodes later.
  Value side = x;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 8 == 0 && i + 8 < n)
      side = ops::relu(g, x);
    else if (i % 8 == 6)
      x = pick(binary, i / 8)(g, x, side);
    else
      x = pick(unary, i)(g, x);
  }
  g.add_output("y", x);
  return g;
}

Graph make_fan(std::size_t n) {
  Graph g("fan");
  Type type{DType::f32, false, {8}};
  Value x = g.add_input(type, "x", {.names = {"x"}});
  Value hub = ops::relu(g, x);
  std::deque<Value> open;
  // Short chains of readers, each with its own constant, so that no two nodes are equal.
  for (std::size_t i = 0; i < n / 4; ++i) {
    Value other = i % 16 == 0 ? full(g, type, static_cast<double>(i)) : open.back();
    open.push_back(pick(binary, i)(g, hub, other));
  }
  // More readers, as long as n leaves room for the nodes that join all of them in pairs.
  for (std::size_t i = 0; g.size() + open.size() - 1 < n; ++i) {
    Value& v = open[i % open.size()];
    v = pick(unary, i / open.size())(g, v);
  }
  for (std::size_t i = 0; open.size() > 1; ++i) {
    Value joined = pick(binary, i)(g, open[0], open[1]);
    open.erase(open.begin(), open.begin() + 2);
    open.push_back(joined);
  }
  g.add_output("y", open.back());
  return g;
}

namespace {

struct Layer {
  std::string path;
  Value w, b;                    // parameters
  Value x, sum;                  // the input of the layer, and of its relu
  Value w_gradient, b_gradient;  // summed over ranks
};

Value reduced(At at, Value gradient) {
  return ops::wait(at, ops::all_reduce(at, {gradient}, {{"group", std::string("dp")}}));
}

constexpr std::size_t nodes_per_layer = 17;
constexpr std::size_t nodes_around = 5;

}  // namespace

Graph make_layered(std::size_t n) { return make_data_parallel(n, 2); }

Graph make_data_parallel(std::size_t n, int ranks) {
  Graph g("step", std::make_shared<const World>(std::vector<Axis>{{"dp", ranks}}));
  constexpr std::int64_t batch = 4, width = 8;
  Type matrix{DType::f32, false, {width, width}}, row{DType::f32, false, {width}};
  Value x = g.add_input({DType::f32, false, {batch, width}}, "x", {.names = {"x"}});
  std::vector<Layer> layers((n - nodes_around) / nodes_per_layer);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer& layer = layers[i];
    layer.path = fmt::format("layers.{}", i);
    auto parameter = [&](const Type& type, const char* name) {
      return g.add_input(
          type, name,
          {.names = {layer.path + "." + name}, .state = true, .kind = StateKind::parameter});
    };
    layer.w = parameter(matrix, "w");
    layer.b = parameter(row, "b");
  }
  Value zero = scalar(g, 0), rate = scalar(g, 0.01);

  for (Layer& layer : layers) {
    At at(g, g.return_node(), layer.path);
    layer.x = x;
    Value product = ops::matmul(at, x, layer.w);
    Value bias = ops::broadcast(at, {layer.b}, {{"shape", Ints{batch, width}}});
    layer.sum = ops::add(at, product, bias);
    x = ops::relu(at, layer.sum);
  }
  Value loss = ops::sum(g, {ops::mul(g, x, x)}, {{"dims", Ints{0, 1}}});

  Value d = ops::add(g, x, x);
  for (Layer& layer : std::views::reverse(layers)) {
    At at(g, g.return_node(), layer.path);
    d = ops::select(at, ops::lt(at, zero, layer.sum), d, zero);
    layer.b_gradient = reduced(at, ops::sum(at, {d}, {{"dims", Ints{0}}}));
    layer.w_gradient = reduced(at, ops::matmul(at, {layer.x, d}, {{"transpose_a", true}}));
    d = ops::matmul(at, {d, layer.w}, {{"transpose_b", true}});
  }
  while (g.size() + 4 * layers.size() < n) d = ops::relu(g, d);
  for (Layer& layer : layers) {
    At at(g, g.return_node(), layer.path);
    g.set_next(layer.w, ops::sub(at, layer.w, ops::mul(at, layer.w_gradient, rate)));
    g.set_next(layer.b, ops::sub(at, layer.b, ops::mul(at, layer.b_gradient, rate)));
  }
  g.add_output("loss", loss);
  g.add_output("dx", d);
  return g;
}

namespace {

struct Shard {
  std::string path;
  Value piece, gathered, gradient;
};

constexpr std::size_t nodes_per_shard = 18;

}  // namespace

Graph make_sharded(std::size_t n) {
  Graph g("step", std::make_shared<const World>(std::vector<Axis>{{"dp", 2}, {"tp", 2}}));
  constexpr std::int64_t width = 8;
  Type matrix{DType::f32, false, {width, width}}, piece{DType::f32, false, {width * width / 2}};
  Value x = g.add_input(matrix, "x", {.names = {"x"}});
  std::vector<Shard> shards((n - 1) / nodes_per_shard);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].path = fmt::format("layers.{}", i);
    shards[i].piece = g.add_input(
        piece, "w",
        {.names = {shards[i].path + ".w"}, .state = true, .kind = StateKind::parameter});
  }
  Value two = scalar(g, 2);
  auto summed = [&](At at, Value v) {
    return ops::wait(at, ops::all_reduce(at, {v}, {{"group", std::string("tp")}}));
  };
  for (Shard& s : shards) {
    At at(g, g.return_node(), s.path);
    Value flat = ops::wait(at, ops::all_gather(at, {s.piece}, {{"group", std::string("dp")}}));
    s.gathered = ops::reshape(at, {flat}, {{"shape", Ints{width, width}}});
    x = ops::tanh(at, summed(at, ops::matmul(at, x, s.gathered)));
  }
  Value d = x;
  for (Shard& s : std::views::reverse(shards)) {
    At at(g, g.return_node(), s.path);
    s.gradient = ops::matmul(at, {d, d}, {{"transpose_a", true}});
    d = summed(at, ops::matmul(at, {d, s.gathered}, {{"transpose_b", true}}));
  }
  while (g.size() + 6 * shards.size() < n) d = ops::relu(g, d);
  for (Shard& s : shards) {
    At at(g, g.return_node(), s.path);
    Value flat = ops::reshape(at, {s.gradient}, {{"shape", Ints{width * width}}});
    Value sent = ops::reduce_scatter(at, {flat}, {{"group", std::string("dp")}});
    Value mean = ops::div(at, ops::wait(at, sent), two);
    g.set_next(s.piece, ops::sub(at, s.piece, ops::mul(at, mean, two)));
  }
  g.add_output("dx", d);
  return g;
}

namespace {

/// A graph that mostly reads values without a reader, so that few nodes are dead.
struct RandomGraph {
  Graph g{"random"};
  Random random{1};
  Type type{DType::f32, false, {4, 4}};
  std::vector<Value> frontier, old, scalars;
  std::vector<NodeId> recent;

  Value take() {
    std::size_t i = random.below(frontier.size());
    std::swap(frontier[i], frontier.back());
    Value v = frontier.back();
    frontier.pop_back();
    return v;
  }
  void put(Value v) {
    frontier.push_back(v);
    old.push_back(v);
  }
  Value any() {
    // Usually a recent value, sometimes any earlier one.
    std::size_t window = random.chance(70) ? std::min<std::size_t>(old.size(), 256) : old.size();
    return old[old.size() - 1 - random.below(window)];
  }
  /// Repeats the op and operands of an earlier node.
  Value repeat() {
    const Node& node = g[recent[random.below(recent.size())]];
    std::vector<Value> inputs(node.inputs.begin(), node.inputs.end());
    return g.result(g.add(g, {.op = node.op, .inputs = inputs, .attributes = node.attributes}));
  }
  Value plain() {
    bool wide = frontier.size() > 128;
    Value a = take(), v;
    if (random.chance(60) || wide)
      v = pick(binary, random.below(4))(g, a, wide ? take() : any());
    else if (random.chance(20))
      v = ops::matmul(g, a, any());
    else if (random.chance(20))
      v = ops::mul(g, a, scalars[random.below(scalars.size())]);
    else
      v = pick(unary, random.below(4))(g, a);
    if (recent.size() == 64) recent[random.below(64)] = g.node(v);
    if (recent.size() < 64) recent.push_back(g.node(v));
    return v;
  }
  /// A constant, and a sum of constants.
  void constants() {
    Value a = scalar(g, static_cast<double>(random.below(1000)));
    scalars.push_back(ops::add(g, a, scalars[random.below(scalars.size())]));
  }
  /// Two reshapes that undo each other.
  void reshapes() {
    Value flat = ops::reshape(g, {take()}, {{"shape", Ints{16}}});
    put(ops::reshape(g, {flat}, {{"shape", Ints{4, 4}}}));
  }
};

}  // namespace

Graph make_random(std::size_t n) {
  RandomGraph r;
  for (int i = 0; i < 32; ++i)
    r.put(r.g.add_input(r.type, "x", {.names = {fmt::format("x.{}", i)}}));
  r.scalars.push_back(scalar(r.g, 1));
  while (r.g.size() < n) {
    std::size_t kind = r.random.below(100), left = n - r.g.size();
    if (kind < 4 && left > 1)
      r.constants();
    else if (kind < 8 && left > 1)
      r.reshapes();
    else if (kind < 16 && !r.recent.empty())
      r.put(r.repeat());
    else if (kind < 24)
      ops::tanh(r.g, r.any());  // a dead node
    else
      r.put(r.plain());
  }
  for (std::size_t i = 0; i < r.frontier.size(); ++i)
    r.g.add_output(fmt::format("y.{}", i), r.frontier[i]);
  return std::move(r.g);
}

namespace {

constexpr std::size_t nodes_per_bucket = 29;

/// Four gradients, summed over the ranks by one collective and divided by their number.
std::vector<Value> bucket_of(Graph& g, std::span<const Value> parameters, Value ranks) {
  std::vector<Value> gradients;
  for (Value p : parameters) {
    Value v = ops::mul(g, p, p);
    for (const Op* op : unary) v = (*op)(g, v);
    gradients.push_back(v);
  }
  NodeId start =
      g.add(g, {.op = &ops::all_reduce,
                .inputs = gradients,
                .attributes = Attributes(ops::all_reduce, {{"group", std::string("dp")}})});
  std::vector<Value> pending = g.results(start);
  NodeId wait = g.add(g, {.op = &ops::wait, .inputs = pending});
  for (std::uint32_t i = 0; i < gradients.size(); ++i)
    gradients[i] = ops::div(g, g.result(wait, i), ranks);
  return gradients;
}

struct Updates {
  std::vector<Value> parameters, gradients, momenta;
  void add(Value p, Value gradient, Value m) {
    parameters.push_back(p);
    gradients.push_back(gradient);
    momenta.push_back(m);
  }
};

/// New parameters, then new momenta.
std::vector<Value> update(Graph& g, const Updates& u, Value rate) {
  auto count = static_cast<std::uint32_t>(u.parameters.size());
  std::vector<Value> operands = u.parameters;
  operands.insert(operands.end(), u.gradients.begin(), u.gradients.end());
  operands.insert(operands.end(), u.momenta.begin(), u.momenta.end());
  operands.push_back(rate);
  NodeId n = g.add(g, {.op = &ops::sgd,
                       .inputs = operands,
                       .attributes = Attributes(ops::sgd, {{"momentum", 0.9}})
                                         .with_list_sizes({count, count, count, 1, 0, 0})});
  for (std::uint32_t i = 0; i < count; ++i) {
    g.set_next(u.parameters[i], g.result(n, i));
    g.set_next(u.momenta[i], g.result(n, count + i));
  }
  return g.results(n);
}

}  // namespace

Graph make_updates(std::size_t n) {
  Graph g("updates", std::make_shared<const World>(std::vector<Axis>{{"dp", 2}}));
  Type type{DType::f32, false, {8}};
  constexpr std::size_t around = 4;  // two constants, one optimizer, one initial node
  std::size_t buckets = (n - around) / nodes_per_bucket;
  auto state = [&](const char* name, std::size_t i, StateKind kind) {
    return g.add_input(type, name,
                       {.names = {fmt::format("{}.{}", name, i)}, .state = true, .kind = kind});
  };
  std::vector<Value> parameters, momenta;
  for (std::size_t i = 0; i < 4 * buckets; ++i) {
    parameters.push_back(state("p", i, StateKind::parameter));
    momenta.push_back(state("m", i, StateKind::optimizer));
  }
  Value ranks = scalar(g, 2), rate = scalar(g, 0.01);
  Updates together;
  std::vector<Updates> alone;
  for (std::size_t i = 0; i < parameters.size(); i += 4) {
    std::vector<Value> gradients = bucket_of(g, std::span(parameters).subspan(i, 4), ranks);
    for (std::size_t k = 0; k < 4; ++k)
      (k < 2 ? together : alone.emplace_back())
          .add(parameters[i + k], gradients[k], momenta[i + k]);
  }
  Value read = full(g, type, 0);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    Value now = update(g, alone[i], rate)[0];
    if (i % 2 == 0) read = ops::add(g, read, now);
  }
  update(g, together, rate);
  while (g.size() < n) read = ops::relu(g, read);
  g.add_output("read", read);
  return g;
}

namespace {

/// What a stage of a pipeline runs on one rank.
struct StageMaker {
  Graph& g;
  int stage, stages;
  Type type{DType::f32, false, {4, 8}};
  Value sent = {};  // the last send, which nobody has waited for yet

  Value receive(int from, std::int64_t channel) {
    return ops::wait(g, ops::recv(g, std::initializer_list<Value>{},
                                  {{"group", std::string("pp")},
                                   {"from", std::int64_t{from}},
                                   {"type", type},
                                   {"channel", channel}}));
  }
  void send(Value v, int to, std::int64_t channel) {
    if (sent) ops::wait(g, sent);
    sent = ops::send(
        g, {v}, {{"group", std::string("pp")}, {"to", std::int64_t{to}}, {"channel", channel}});
  }
  /// The first stage makes its own activations, the last one its own gradients. The pass has a
  /// channel for each sender.
  void pass(Value own, std::span<const Value> weights, int step, int number) {
    int from = stage - step, to = stage + step;
    Value x = from < 0 || from == stages ? own : receive(from, number * stages + from);
    for (Value w : weights) x = ops::relu(g, ops::matmul(g, x, w));
    if (to >= 0 && to < stages) send(x, to, number * stages + stage);
  }
};

}  // namespace

Program make_pipeline(std::size_t n, int stages, int copies) {
  constexpr int batches = 32;
  constexpr std::size_t around = 6, nodes_per_weight = 4 * batches + 4;
  constexpr std::int64_t width = 8;
  auto world = std::make_shared<const World>(std::vector<Axis>{{"pp", stages}, {"dp", copies}});
  Program program;
  program.world = world;
  for (int r = 0; r < stages * copies; ++r) {
    Graph& g = program.graphs.emplace_back(fmt::format("rank_{}", r), world);
    g.set_ranks({r});
    StageMaker stage{g, r / copies, stages};
    Value x = g.add_input(stage.type, "x", {.names = {"x"}});
    std::vector<Value> weights;
    while ((weights.size() + 1) * nodes_per_weight + around * batches < n)
      weights.push_back(g.add_input({DType::f32, false, {width, width}}, "w",
                                    {.names = {fmt::format("w.{}", weights.size())},
                                     .state = true,
                                     .kind = StateKind::parameter}));
    for (int b = 0; b < batches; ++b) stage.pass(x, weights, 1, 2 * b);
    for (int b = 0; b < batches; ++b) stage.pass(x, weights, -1, 2 * b + 1);
    if (stage.sent) ops::wait(g, stage.sent);
    std::int64_t channel = 2 * batches * stages;
    for (Value w : weights) {
      Value sum = ops::all_reduce(g, {ops::tanh(g, w)},
                                  {{"group", std::string("dp")}, {"channel", channel++}});
      g.set_next(w, ops::sub(g, w, ops::wait(g, sum)));
    }
    while (g.size() < n) x = ops::relu(g, x);
    g.add_output("y", x);
  }
  return program;
}

std::span<const Family> families() {
  static constexpr Family all[] = {
      {"chain", "elementwise ops in a row", make_chain},
      {"fan", "one value with n/4 readers", make_fan},
      {"layered", "a data-parallel training step", make_layered},
      {"updates", "a training step with an optimizer for many parameters and one each for others",
       make_updates},
      {"sharded", "a step with gathered parameters and dependent collectives", make_sharded},
      {"random", "a random graph with repeated, dead and constant parts", make_random},
  };
  return all;
}

}  // namespace hocket::bench

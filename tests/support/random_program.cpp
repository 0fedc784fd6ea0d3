#include "support/random_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "hocket/codegen/reference/interpret.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/element.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

std::size_t below(Random& r, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(r);
}
bool chance(Random& r, int percent) { return below(r, 100) < static_cast<std::size_t>(percent); }

double special_value(Random& r) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double values[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               2.0,
                               3.25,
                               -0.75,
                               1e-3,
                               7.0,
                               inf,
                               -inf,
                               std::numeric_limits<double>::quiet_NaN()};
  // Mostly plain numbers: one NaN would swallow everything behind it.
  return values[chance(r, 95) ? below(r, 10) : below(r, std::size(values))];
}

Tensor random_tensor(Random& r, const Type& type) {
  Tensor t(type);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < type.elements(); ++i)
      t.as<T>()[i] = is_float(type.dtype) ? store<T>(special_value(r))
                                          : store<T>(static_cast<std::int64_t>(below(r, 5)));
  });
  return t;
}

class Maker {
 public:
  Maker(Random& random, Graph& graph, bool region)
      : random_(random), graph_(graph), region_(region) {}

  void inputs() {
    std::size_t count = 2 + below(random_, 4);
    for (std::size_t i = 0; i < count; ++i) {
      InputInfo info;
      info.state = !region_ && chance(random_, 40);
      if (info.state) {
        info.kind = static_cast<StateKind>(below(random_, 3));
        info.names = {fmt::format("state.{}", i)};
      }
      values_.push_back(graph_.add_input(random_type(), info.state ? "w" : "x", info));
    }
  }

  void node() {
    // Weighted by repetition: elementwise ops are the bulk of real graphs.
    static const std::vector<void (Maker::*)()> makers = {
        &Maker::elementwise,    &Maker::elementwise, &Maker::elementwise, &Maker::compare,
        &Maker::select,         &Maker::cast,        &Maker::reshape,     &Maker::reshape,
        &Maker::permute,        &Maker::broadcast,   &Maker::sum,         &Maker::matmul,
        &Maker::constant,       &Maker::full,        &Maker::twin,        &Maker::twin,
        &Maker::rank_and_shard,
    };
    static const std::vector<void (Maker::*)()> outer = {
        &Maker::collective, &Maker::collective, &Maker::after, &Maker::call, &Maker::barrier};
    std::size_t pick = below(random_, makers.size() + (region_ ? 0 : outer.size()));
    (this->*(pick < makers.size() ? makers[pick] : outer[pick - makers.size()]))();
  }

  void outputs() {
    wait_for_all();
    std::size_t count = 1 + below(random_, 4);
    for (std::size_t i = 0; i < count; ++i)
      graph_.add_output(region_ ? "" : fmt::format("out.{}", i), any());
    if (region_) return;
    for (const Input& in : graph_.inputs()) {
      if (!in.state || chance(random_, 20)) continue;
      for (Value v : shuffled())
        if (graph_.type(v) == graph_.type(in.value) && v != in.value) {
          graph_.set_next(in.value, v);
          break;
        }
    }
  }

 private:
  struct Flight {
    NodeId start;
    std::vector<bool> waited;
  };

  Type random_type() {
    constexpr DType dtypes[] = {DType::f32, DType::f32, DType::f32, DType::f64, DType::bf16,
                                DType::f16, DType::i64, DType::i32, DType::u8,  DType::boolean};
    Type t{dtypes[below(random_, std::size(dtypes))], false, {}};
    std::size_t rank = below(random_, 4);
    for (std::size_t i = 0; i < rank; ++i)
      t.shape.push_back(chance(random_, 3) ? 0 : static_cast<std::int64_t>(1 + below(random_, 4)));
    return t;
  }

  Value any() { return values_[below(random_, values_.size())]; }

  std::vector<Value> shuffled() {
    std::vector<Value> list = values_;
    std::shuffle(list.begin(), list.end(), random_);
    return list;
  }

  /// Any value that the predicate likes, none when there is none.
  Value some(const std::function<bool(const Type&)>& like) {
    std::size_t start = below(random_, values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      Value v = values_[(start + i) % values_.size()];
      if (like(graph_.type(v))) return v;
    }
    return {};
  }

  Value partner(Value a) {
    const Type& t = graph_.type(a);
    return some([&](const Type& u) {
      return u.dtype == t.dtype && (u.shape == t.shape || u.shape.empty() || t.shape.empty());
    });
  }

  void keep(Value v) { values_.push_back(v); }

  void elementwise() {
    static const std::vector<const Op*> two = {&ops::add, &ops::sub,     &ops::mul,
                                               &ops::div, &ops::maximum, &ops::minimum};
    static const std::vector<const Op*> one = {&ops::neg, &ops::relu, &ops::sqrt, &ops::exp,
                                               &ops::tanh};
    bool binary = chance(random_, 60);
    const Op* op = binary ? two[below(random_, two.size())] : one[below(random_, one.size())];
    bool floats = op == &ops::div || op == &ops::sqrt || op == &ops::exp || op == &ops::tanh;
    Value a =
        some([&](const Type& t) { return floats ? is_float(t.dtype) : t.dtype != DType::boolean; });
    if (!a) return;
    keep(binary ? (*op)(graph_, a, chance(random_, 10) ? a : partner(a)) : (*op)(graph_, a));
  }

  void compare() {
    static const std::vector<const Op*> list = {&ops::eq, &ops::ne, &ops::lt, &ops::le};
    Value a = any();
    keep((*list[below(random_, list.size())])(graph_, a, partner(a)));
  }

  void select() {
    Value a = any(), b = partner(a);
    Shape shape = graph_.type(a).shape.empty() ? graph_.type(b).shape : graph_.type(a).shape;
    Value c = some([&](const Type& t) {
      return t.dtype == DType::boolean && (t.shape == shape || t.shape.empty());
    });
    if (c) keep(ops::select(graph_, c, a, b));
  }

  void cast() {
    Value a = any();
    DType to = chance(random_, 30) ? graph_.type(a).dtype : random_type().dtype;
    keep(ops::cast(graph_, {a}, {{"dtype", to}}));
  }

  void reshape() {
    Value a = any();
    const Type& t = graph_.type(a);
    Ints shape(t.shape.begin(), t.shape.end());
    if (chance(random_, 50))
      std::reverse(shape.begin(), shape.end());
    else if (chance(random_, 80))
      shape = {t.elements()};
    keep(ops::reshape(graph_, {a}, {{"shape", shape}}));
  }

  void permute() {
    Value a = any();
    Ints dims;
    for (std::size_t i = 0; i < graph_.type(a).shape.size(); ++i)
      dims.push_back(static_cast<std::int64_t>(i));
    if (chance(random_, 80)) std::shuffle(dims.begin(), dims.end(), random_);
    keep(ops::permute(graph_, {a}, {{"dims", dims}}));
  }

  void broadcast() {
    Value a = some([](const Type& t) { return t.elements() < 200; });
    if (!a) return;
    Ints shape;
    if (chance(random_, 50)) shape.push_back(static_cast<std::int64_t>(1 + below(random_, 3)));
    for (std::int64_t d : graph_.type(a).shape)
      shape.push_back(d == 1 && chance(random_, 70) ? 3 : d);
    keep(ops::broadcast(graph_, {a}, {{"shape", shape}}));
  }

  void sum() {
    Value a = some([](const Type& t) { return t.dtype != DType::boolean; });
    if (!a) return;
    Ints dims;
    for (std::size_t i = 0; i < graph_.type(a).shape.size(); ++i)
      if (chance(random_, 50)) dims.push_back(static_cast<std::int64_t>(i));
    keep(ops::sum(graph_, {a}, {{"dims", dims}, {"keep", chance(random_, 50)}}));
  }

  void matmul() {
    Value a = some([](const Type& t) { return t.dtype != DType::boolean && t.shape.size() == 2; });
    if (!a) return;
    const Type& t = graph_.type(a);
    bool ta = chance(random_, 50);
    Value b = some([&](const Type& u) {
      return u.dtype == t.dtype && u.shape.size() == 2 && u.shape[0] == t.shape[ta ? 0 : 1];
    });
    if (b) return keep(ops::matmul(graph_, {a, b}, {{"transpose_a", ta}}));
    keep(ops::matmul(graph_, {a, a}, {{"transpose_b", true}}));
  }

  void constant() {
    Type t = random_type();
    if (t.elements() > ops::max_written_elements) t.shape = {2};
    if (auto v = ops::add_constant(graph_, random_tensor(random_, t))) keep(*v);
  }

  void full() {
    Type t = random_type();
    Attribute value = is_float(t.dtype) ? Attribute(special_value(random_))
                      : is_integer(t.dtype)
                          ? Attribute(static_cast<std::int64_t>(below(random_, 4)))
                          : Attribute(chance(random_, 50));
    Type types[] = {t};
    keep(graph_.result(graph_.add(graph_, {.op = &ops::full,
                                           .attributes = Attributes(ops::full, {{"value", value}}),
                                           .types = types})));
  }

  /// A node once more, so that there is something to merge.
  void twin() {
    std::vector<NodeId> pure;
    for (NodeId n : std::as_const(graph_).nodes())
      if (graph_[n].op->pure() && !graph_[n].op->starts && !graph_[n].op->waits &&
          graph_[n].result_count == 1)
        pure.push_back(n);
    if (pure.empty()) return;
    const Node& node = graph_[pure[below(random_, pure.size())]];
    Type types[] = {graph_.type({node.first_result})};
    keep(graph_.result(graph_.add(graph_, {.op = node.op,
                                           .inputs = {node.inputs.data(), node.inputs.size()},
                                           .attributes = node.attributes,
                                           .types = types,
                                           .region = node.region})));
  }

  void rank_and_shard() {
    if (chance(random_, 30))
      keep(ops::rank(graph_, std::initializer_list<Value>{}, {{"group", "world"}}));
    else
      keep(ops::shard(graph_, {any()}, {{"group", "world"}}));
  }

  void after() {
    std::vector<Value> operands{any(), any()};
    keep(ops::after(graph_, operands, {}));
  }

  void barrier() {
    if (chance(random_, 70)) return;
    graph_.add(graph_,
               {.op = &ops::barrier, .attributes = Attributes(ops::barrier, {{"group", "world"}})});
  }

  void call() {
    Graph inner("region", graph_.shared_world());
    Maker maker(random_, inner, true);
    std::vector<Value> operands;
    for (std::size_t i = 0; i < 1 + below(random_, 3); ++i) {
      Value v = any();
      operands.push_back(v);
      maker.values_.push_back(inner.add_input(graph_.type(v), "p"));
    }
    for (std::size_t i = 0; i < 2 + below(random_, 5); ++i) maker.node();
    maker.outputs();
    NodeId n = graph_.add(graph_, {.op = &ops::call,
                                   .inputs = operands,
                                   .attributes = Attributes(ops::call, {}),
                                   .region = std::make_shared<const Graph>(std::move(inner))});
    for (Value v : graph_.results(n)) keep(v);
  }

  void collective() {
    if (!flights_.empty() && chance(random_, 50)) return wait();
    static const std::vector<const Op*> list = {&ops::all_reduce, &ops::all_gather,
                                                &ops::reduce_scatter};
    const Op* op = list[below(random_, list.size())];
    auto size = graph_.world().ranks();
    std::vector<Value> operands;
    bool reduces = op != &ops::all_gather;
    for (std::size_t i = 0; i < 1 + below(random_, 3); ++i) {
      Value v = some([&](const Type& t) {
        if (t.elements() > 200 || (reduces && t.dtype == DType::boolean)) return false;
        return op != &ops::reduce_scatter || (!t.shape.empty() && t.shape[0] % size == 0);
      });
      if (v) operands.push_back(v);
    }
    if (operands.empty()) return;
    constexpr std::string_view reductions[] = {"sum", "min", "max", "product"};
    std::vector<Named> given{{"group", "world"}};
    if (reduces)
      given.push_back({"reduce", std::string(reductions[below(random_, std::size(reductions))])});
    NodeId n =
        graph_.add(graph_, {.op = op, .inputs = operands, .attributes = Attributes(*op, given)});
    flights_.push_back({n, std::vector<bool>(operands.size())});
  }

  /// Waits for some results of a collective, at times for the same one again.
  void wait() {
    Flight& flight = flights_[below(random_, flights_.size())];
    std::vector<Value> arrived;
    for (std::uint32_t i = 0; i < flight.waited.size(); ++i)
      if (chance(random_, 60)) {
        arrived.push_back(graph_.result(flight.start, i));
        flight.waited[i] = true;
      }
    if (arrived.empty()) return;
    NodeId n = graph_.add(graph_, {.op = &ops::wait, .inputs = arrived});
    for (Value v : graph_.results(n)) keep(v);
  }

  void wait_for_all() {
    for (Flight& flight : flights_) {
      if (std::ranges::find(flight.waited, true) != flight.waited.end()) continue;
      keep(ops::wait(graph_, graph_.result(flight.start)));
    }
  }

  Random& random_;
  Graph& graph_;
  bool region_;
  std::vector<Value> values_;
  std::vector<Flight> flights_;
};

}  // namespace

Program random_program(Random& random, const RandomProgram& options) {
  auto world = options.ranks == 1
                   ? std::make_shared<const World>()
                   : std::make_shared<const World>(std::vector<Axis>{{"dp", options.ranks}});
  Graph g("step", world);
  Maker maker(random, g, false);
  maker.inputs();
  while (g.size() < static_cast<std::size_t>(options.nodes)) maker.node();
  maker.outputs();
  return Program(std::move(g));
}

std::vector<std::vector<Tensor>> random_inputs(Random& random, const Program& program) {
  std::vector<std::vector<Tensor>> inputs(static_cast<std::size_t>(program.world->ranks()));
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    const Graph& g = program.graph_of(static_cast<int>(r));
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      bool shared = in.state && r > 0 && program.graphs.size() == 1;
      inputs[r].push_back(shared ? inputs[0][i] : random_tensor(random, g.type(in.value)));
    }
  }
  return inputs;
}

std::string difference(const Program& a, const Program& b,
                       const std::vector<std::vector<Tensor>>& inputs) {
  auto x = interpret(a, inputs), y = interpret(b, inputs);
  for (std::size_t r = 0; r < x.size(); ++r) {
    auto compare = [&](const std::vector<Tensor>& p, const std::vector<Tensor>& q,
                       std::string_view what) -> std::string {
      if (p.size() != q.size())
        return fmt::format("rank {}: {} {}s and {}", r, p.size(), what, q.size());
      for (std::size_t i = 0; i < p.size(); ++i)
        if ((p[i] || q[i]) && !same_bits(p[i], q[i]))
          return fmt::format("rank {}: {} {} differs", r, what, i);
      return "";
    };
    if (auto d = compare(x[r].outputs, y[r].outputs, "output"); !d.empty()) return d;
    if (auto d = compare(x[r].state, y[r].state, "state"); !d.empty()) return d;
  }
  return "";
}

}  // namespace hocket::testing

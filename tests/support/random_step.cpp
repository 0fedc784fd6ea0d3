#include "support/random_step.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

/// How some of the parameters are updated.
struct Setting {
  const Op* op = nullptr;
  Attributes attributes = {};
  Value lr;
  std::vector<Value> scale = {}, skip = {};
  std::size_t lists = 0;  ///< of state beside the parameters
  bool counts = false;    ///< steps
};

class StepMaker {
 public:
  StepMaker(Random& random, Graph& g, int ranks) : random_(random), graph_(g), ranks_(ranks) {}

  void make() {
    std::size_t count = 2 + below(random_, 7);
    for (std::size_t i = 0; i < count; ++i) {
      parameters_.push_back(state(shape(), "p", StateKind::parameter));
      gradients_.push_back(
          graph_.add_input(graph_.type(parameters_[i]), "x", {.names = {fmt::format("x.{}", i)}}));
    }
    for (std::size_t i = 0; i < count; ++i)
      if (chance(random_, 60)) gradients_[i] = ops::mul(graph_, gradients_[i], parameters_[i]);
    reduce();
    if (chance(random_, 10)) clip();
    std::vector<Setting> settings{setting()};
    if (chance(random_, 60)) {
      settings.push_back(chance(random_, 50) ? settings[0] : setting());
      settings[1].lr = number(DType::f32, 0.125);
    }
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::ranges::shuffle(order, random_);
    for (std::size_t from = 0; from < count;) {
      std::size_t size = std::min(1 + below(random_, 4), count - from);
      update(settings[below(random_, settings.size())], std::span(order).subspan(from, size));
      from += size;
    }
    for (Value v : read_) graph_.add_output(fmt::format("out.{}", graph_.outputs().size()), v);
  }

 private:
  Type shape() {
    // Few shapes, so that a mix-up of two tensors is no error of types.
    if (chance(random_, 15)) return {DType::f32, false, {2, 3}};
    return {DType::f32, false, {static_cast<std::int64_t>(1 + below(random_, 2))}};
  }

  Value state(const Type& type, const char* name, StateKind kind) {
    return graph_.add_input(type, name,
                            {.names = {fmt::format("{}.{}", name, graph_.inputs().size())},
                             .state = true,
                             .kind = kind});
  }

  Value number(DType dtype, double value) {
    Type types[] = {{dtype, false, {}}};
    return graph_.result(
        graph_.add(graph_, {.op = &ops::full,
                            .attributes = Attributes(ops::full, {{"value", value}}),
                            .types = types}));
  }

  /// Gradients that neighbour each other in buckets, with what stands behind a wait.
  void reduce() {
    Value ranks = number(DType::f32, ranks_);
    for (std::size_t from = 0; from < gradients_.size();) {
      std::size_t size = std::min(1 + below(random_, 3), gradients_.size() - from);
      auto bucket = std::span(gradients_).subspan(from, size);
      from += size;
      if (ranks_ == 1 || chance(random_, 20)) continue;
      NodeId start = graph_.add(
          graph_, {.op = &ops::all_reduce,
                   .inputs = bucket,
                   .attributes = Attributes(ops::all_reduce, {{"group", std::string("dp")}})});
      if (chance(random_, 50)) {
        std::vector<Value> pending = graph_.results(start);
        NodeId wait = graph_.add(graph_, {.op = &ops::wait, .inputs = pending});
        for (std::size_t i = 0; i < size; ++i)
          bucket[i] = graph_.result(wait, static_cast<std::uint32_t>(i));
      } else {
        for (std::size_t i = 0; i < size; ++i)
          bucket[i] = ops::wait(graph_, graph_.result(start, static_cast<std::uint32_t>(i)));
      }
      for (Value& v : bucket) v = behind_wait(v, ranks);
      if (chance(random_, 15))  // a norm
        read_.push_back(ops::sum(graph_, {bucket[0]}, {{"dims", all_dims(bucket[0])}}));
    }
  }

  Ints all_dims(Value v) const {
    Ints dims;
    for (std::size_t i = 0; i < graph_.type(v).shape.size(); ++i) dims.push_back(std::ssize(dims));
    return dims;
  }

  Value behind_wait(Value v, Value ranks) {
    switch (below(random_, 5)) {
      case 0:
        return v;
      case 1:
        return ops::div(graph_, v, ranks);
      case 2:
        return ops::cast(graph_, {ops::cast(graph_, {v}, {{"dtype", DType::bf16}})},
                         {{"dtype", DType::f32}});
      case 3: {
        Value other = gradients_[below(random_, gradients_.size())];
        return graph_.type(other) == graph_.type(v) ? ops::add(graph_, v, other) : v;
      }
      default:
        return ops::after(graph_, v, ranks);
    }
  }

  Setting setting() {
    Setting s{.lr = number(DType::f32, chance(random_, 50) ? 0.5 : 0.25)};
    if (chance(random_, 25)) {  // in single ops
      s.lists = below(random_, 2);
      return s;
    }
    if (chance(random_, 30)) s.scale = {number(DType::f32, 4)};
    if (chance(random_, 30)) s.skip = {number(DType::f32, chance(random_, 50) ? 1 : 0)};
    double decay = chance(random_, 50) ? 0.25 : 0.0;
    if (chance(random_, 40)) {
      s.op = &ops::sgd;
      s.lists = below(random_, 2);
      double momentum = s.lists != 0 ? 0.5 : 0.0;
      s.attributes = Attributes(ops::sgd, {{"momentum", momentum}, {"weight_decay", decay}});
    } else {
      s.op = chance(random_, 50) ? &ops::adam : &ops::adamw;
      s.lists = 2 + below(random_, 2);
      s.counts = true;
      s.attributes = Attributes(*s.op, {{"weight_decay", decay}});
    }
    return s;
  }

  /// The optimizer in single ops, with decay and momentum.
  void update_by_hand(const Setting& s, std::size_t i) {
    Value old = parameters_[i], step = gradients_[i], half = number(DType::f32, 0.5);
    if (s.lists > 0) {
      Value m = state(graph_.type(old), "m", StateKind::optimizer);
      step = ops::add(graph_, ops::mul(graph_, m, half), step);
      graph_.set_next(m, step);
    }
    if (chance(random_, 50)) old = ops::mul(graph_, old, half);
    graph_.set_next(parameters_[i], ops::sub(graph_, old, ops::mul(graph_, step, s.lr)));
    look_at(graph_.next(parameters_[i]));
  }

  void update(const Setting& s, std::span<const std::size_t> which) {
    if (s.op == nullptr) {
      for (std::size_t i : which) update_by_hand(s, i);
      return;
    }
    auto n = static_cast<std::uint32_t>(which.size());
    std::vector<Value> operands, states;
    for (std::size_t i : which) states.push_back(parameters_[i]);
    operands = states;
    for (std::size_t i : which) operands.push_back(gradients_[i]);
    for (std::size_t l = 0; l < s.lists; ++l)
      for (std::size_t i : which)
        states.push_back(state(graph_.type(parameters_[i]), "m", StateKind::optimizer));
    operands.insert(operands.end(), states.begin() + n, states.end());
    for (std::uint32_t i = 0; s.counts && i < n; ++i) operands.push_back(step());
    operands.push_back(s.lr);
    operands.insert(operands.end(), s.scale.begin(), s.scale.end());
    operands.insert(operands.end(), s.skip.begin(), s.skip.end());
    std::vector<std::uint32_t> sizes{n, n};
    for (std::size_t l = 0; l < (s.counts ? 3U : 1U); ++l) sizes.push_back(l < s.lists ? n : 0);
    if (s.counts) sizes.push_back(n);
    sizes.push_back(1);
    for (const auto& list : {s.scale, s.skip})
      sizes.push_back(static_cast<std::uint32_t>(list.size()));
    NodeId node =
        graph_.add(graph_, {.op = s.op,
                            .inputs = operands,
                            .attributes = s.attributes.with_list_sizes(std::move(sizes))});
    for (std::uint32_t i = 0; i < states.size(); ++i)
      graph_.set_next(states[i], graph_.result(node, i));
    look_at(graph_.result(node));
  }

  /// A norm over several gradients, which clips all of them.
  void clip() {
    Value norm = number(DType::f32, 1);
    for (Value v : gradients_)
      if (chance(random_, 70))
        norm = ops::add(graph_, norm,
                        ops::sum(graph_, {ops::mul(graph_, v, v)}, {{"dims", all_dims(v)}}));
    for (Value& v : gradients_) v = ops::div(graph_, v, norm);
    if (chance(random_, 20)) read_.push_back(norm);
  }

  /// A counter, one or two further than before; at times one for several parameters.
  Value step() {
    if (counted_ && chance(random_, 25)) return counted_;
    Value count = state({DType::f32, false, {}}, "step", StateKind::optimizer);
    Value next = ops::add(graph_, count, number(DType::f32, chance(random_, 80) ? 1 : 2));
    graph_.set_next(count, next);
    counted_ = next;
    return next;
  }

  /// Somebody may read the new parameter at once, and an optimizer further down what he makes of
  /// it.
  void look_at(Value parameter) {
    if (chance(random_, 50)) return;
    Value seen = ops::tanh(graph_, parameter);
    read_.push_back(seen);
    Value& other = gradients_[below(random_, gradients_.size())];
    if (chance(random_, 40) && graph_.type(other) == graph_.type(seen)) other = seen;
  }

  Random& random_;
  Graph& graph_;
  int ranks_;
  std::vector<Value> parameters_, gradients_, read_;
  Value counted_;
};

}  // namespace

Program random_step(Random& random, int ranks) {
  auto world = ranks == 1 ? std::make_shared<const World>()
                          : std::make_shared<const World>(std::vector<Axis>{{"dp", ranks}});
  Graph g("step", world);
  StepMaker(random, g, ranks).make();
  return Program(std::move(g));
}

}  // namespace hocket::testing

#include "support/random_step.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/ops/ops.h"
#include "support/step_parts.h"

namespace hocket::testing {
namespace {

class StepMaker {
 public:
  StepMaker(Random& random, Graph& g, int ranks, std::int64_t scale)
      : random_(random), graph_(g), parts_(random, g), ranks_(ranks), scale_(scale) {}

  void make() {
    std::size_t count = 2 + below(random_, 7);
    for (std::size_t i = 0; i < count; ++i) {
      parameters_.push_back(parts_.state(shape(), "p", StateKind::parameter));
      gradients_.push_back(parts_.fed(graph_.type(parameters_[i])));
    }
    for (std::size_t i = 0; i < count; ++i)
      if (chance(random_, 60)) gradients_[i] = ops::mul(graph_, gradients_[i], parameters_[i]);
    reduce();
    if (chance(random_, 10)) clip();
    std::vector<OptimizerSetting> settings{parts_.setting()};
    if (chance(random_, 60)) {
      settings.push_back(chance(random_, 50) ? settings[0] : parts_.setting());
      settings[1].lr = parts_.number(DType::f32, 0.125);
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
    // Few shapes, so that the types do not reveal a mix-up of two tensors.
    if (chance(random_, 15)) return {DType::f32, false, {2, 3 * scale_}};
    return {DType::f32, false, {static_cast<std::int64_t>(1 + below(random_, 2)) * scale_}};
  }

  /// Reduces the gradients in buckets, with divisions, casts and sums after the waits.
  void reduce() {
    Value ranks = parts_.number(DType::f32, ranks_);
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
        read_.push_back(parts_.total(bucket[0]));
    }
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

  void update(const OptimizerSetting& s, std::span<const std::size_t> which) {
    std::vector<Value> parameters, gradients;
    for (std::size_t i : which) {
      parameters.push_back(parameters_[i]);
      gradients.push_back(gradients_[i]);
    }
    look_at(parts_.update(s, parameters, gradients));
  }

  /// Clips several gradients by their common norm.
  void clip() {
    Value norm = parts_.number(DType::f32, 1);
    for (Value v : gradients_)
      if (chance(random_, 70)) norm = ops::add(graph_, norm, parts_.total(ops::mul(graph_, v, v)));
    for (Value& v : gradients_) v = ops::div(graph_, v, norm);
    if (chance(random_, 20)) read_.push_back(norm);
  }

  /// Adds a reader of the new parameter, whose result a later optimizer may use.
  void look_at(Value parameter) {
    if (chance(random_, 50)) return;
    Value seen = ops::tanh(graph_, parameter);
    read_.push_back(seen);
    Value& other = gradients_[below(random_, gradients_.size())];
    if (chance(random_, 40) && graph_.type(other) == graph_.type(seen)) other = seen;
  }

  Random& random_;
  Graph& graph_;
  StepParts parts_;
  int ranks_;
  std::int64_t scale_;
  std::vector<Value> parameters_, gradients_, read_;
};

}  // namespace

Program random_step(Random& random, int ranks, std::int64_t scale) {
  auto world = ranks == 1 ? std::make_shared<const World>()
                          : std::make_shared<const World>(std::vector<Axis>{{"dp", ranks}});
  Graph g("step", world);
  StepMaker(random, g, ranks, scale).make();
  return Program(std::move(g));
}

}  // namespace hocket::testing

#include "support/random_mesh_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "hocket/ops/constant.h"
#include "hocket/ops/ops.h"
#include "support/step_parts.h"

namespace hocket::testing {
namespace {

std::shared_ptr<const World> random_world(Random& random) {
  static const std::vector<std::vector<Axis>> meshes = {
      {{"dp", 2}},
      {{"dp", 3}},
      {{"dp", 4}},
      {{"dp", 8}},
      {{"dp", 2}, {"tp", 2}},
      {{"tp", 2}, {"dp", 3}},
      {{"dp", 2}, {"tp", 2}, {"pp", 2}},
  };
  auto world = std::make_shared<World>(meshes[below(random, meshes.size())]);
  if (chance(random, 25)) {  // sets of neighbours, which are not along an axis of the mesh
    ListedGroup group{"near", {}};
    for (int r = 0; r + 1 < world->ranks(); r += 2) group.sets.push_back({r + 1, r});
    if (world->ranks() % 2 == 0) world->add_group(std::move(group));
  }
  return world;
}

class MeshStepMaker {
 public:
  MeshStepMaker(Random& random, Graph& g)
      : random_(random), graph_(g), parts_(random, g), groups_{"world"} {
    for (const Axis& axis : g.world().mesh()) groups_.push_back(axis.name);
    for (const ListedGroup& group : g.world().groups()) groups_.push_back(group.name);
    constexpr DType dtypes[] = {DType::f32, DType::f32, DType::f32, DType::bf16, DType::f64};
    dtype_ = dtypes[below(random, std::size(dtypes))];
  }

  void make() {
    inputs();
    Value out = forward();
    statistics();
    Value loss = parts_.total(out);
    if (chance(random_, 50)) loss = parts_.all_reduced(loss, some_group(), some_reduction());
    backward(chance(random_, 15) ? ops::mul(graph_, out, hazards()) : out);
    behind_backward();
    if (chance(random_, 20)) clip();
    update(loss);
    look_at_parameters();
    graph_.add_output("loss", loss);
  }

 private:
  Type of(std::initializer_list<std::int64_t> shape) const { return {dtype_, false, shape}; }
  const std::string& some_group() { return groups_[below(random_, groups_.size())]; }
  std::string some_reduction() {
    constexpr std::string_view list[] = {"sum", "avg", "max"};
    return std::string(list[below(random_, std::size(list))]);
  }

  void inputs() {
    x_ = parts_.fed(of({2, 4}));
    std::size_t layers = 1 + below(random_, 5);
    for (std::size_t l = 0; l < layers; ++l) {
      weights_.push_back(parts_.state(of({4, 4}), "w", StateKind::parameter));
      biases_.push_back(chance(random_, 50) ? parts_.state(of({4}), "b", StateKind::parameter)
                                            : Value{});
    }
    used_ = weights_;
    if (layers > 1 && chance(random_, 20)) {  // the first and the last layer share a weight
      graph_.erase_input(weights_.back());
      weights_.pop_back();
      used_.back() = weights_[0];
    }
  }

  Value forward() {
    bool divided = std::ranges::find(groups_, "tp") != groups_.end() && chance(random_, 40);
    Value h = x_;
    for (std::size_t l = 0; l < used_.size(); ++l) {
      read_.push_back(h);
      h = parts_.matmul(h, used_[l], false, false);
      if (divided && chance(random_, 50)) h = parts_.all_reduced(h, "tp");
      if (biases_[l])
        h = ops::add(graph_, h, ops::broadcast(graph_, {biases_[l]}, {{"shape", Ints{2, 4}}}));
      if (chance(random_, 60)) h = (chance(random_, 50) ? ops::tanh : ops::relu)(graph_, h);
    }
    return h;
  }

  void statistics() {
    if (!chance(random_, 40)) return;
    Value running = parts_.state(of({4}), "running", StateKind::buffer);
    Value now = ops::mean(graph_, {read_.back()}, {{"dims", Ints{0}}});
    if (chance(random_, 50)) now = parts_.all_reduced(now, some_group(), "avg");
    Value next = average(running, now);
    graph_.set_next(running, next);
    if (chance(random_, 30)) graph_.add_output("running", next);
  }

  Value average(Value old, Value now) {
    Value half = parts_.number(dtype_, 0.5);
    return ops::add(graph_, ops::mul(graph_, old, half), ops::mul(graph_, now, half));
  }

  /// A tensor whose NaNs, zeros and infinities differ between ranks.
  Value hazards() {
    auto row = [&] {
      constexpr double inf = std::numeric_limits<double>::infinity();
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      const double list[] = {nan, -nan, inf, -inf, 0.0, -0.0, 1.0};
      Floats values;
      for (int i = 0; i < 4; ++i) values.push_back(list[below(random_, std::size(list))]);
      Type types[] = {of({4})};
      return graph_.result(
          graph_.add(graph_, {.op = &ops::constant,
                              .attributes = Attributes(ops::constant, {{"value", values}}),
                              .types = types}));
    };
    Value rank = ops::rank(graph_, std::initializer_list<Value>{}, {{"group", "dp"}});
    Value first = ops::eq(graph_, rank, ops::sub(graph_, rank, rank));
    Value picked = ops::select(graph_, first, row(), row());
    return ops::broadcast(graph_, {picked}, {{"shape", Ints{2, 4}}});
  }

  // ---- gradients

  struct Bucket {
    std::vector<Value> parameters, pending;
  };

  void backward(Value d) {
    group_ = chance(random_, 20) ? some_group() : "dp";
    std::string reduce = chance(random_, 50) ? "sum" : "avg";
    Value count = parts_.number(dtype_, static_cast<double>(*graph_.world().group_size(group_)));
    divides_ = below(random_, 3);
    std::size_t most = 1 + below(random_, 3);
    std::vector<Value> parameters, ready;
    Value of_tied;
    auto flush = [&] {
      if (ready.empty()) return;
      std::vector<Value> pending =
          parts_.start(ops::all_reduce, ready, {{"group", group_}, {"reduce", reduce}});
      buckets_.push_back({std::exchange(parameters, {}), pending});
      ready.clear();
    };
    auto add = [&](Value parameter, Value gradient) {
      if (divides_ == 1) gradient = ops::div(graph_, gradient, count);
      parameters_.push_back(parameter);
      gradients_.push_back(gradient);
      if (chance(random_, 10)) return;  // no reduction: every rank updates by itself
      parameters.push_back(parameter);
      ready.push_back(gradient);
      if (ready.size() >= most) flush();
    };
    for (std::size_t l = used_.size(); l-- > 0;) {
      Value gradient = parts_.matmul(read_[l], d, true, false);
      if (biases_[l]) add(biases_[l], ops::sum(graph_, {d}, {{"dims", Ints{0}}}));
      if (l > 0 && used_[l] == weights_[0])
        of_tied = gradient;
      else
        add(used_[l], l == 0 && of_tied ? ops::add(graph_, gradient, of_tied) : gradient);
      d = parts_.matmul(d, used_[l], false, true);
    }
    flush();
    arrive(count);
  }

  Value& gradient_of(Value parameter) {
    return gradients_[static_cast<std::size_t>(std::ranges::find(parameters_, parameter) -
                                               parameters_.begin())];
  }

  void arrive(Value count) {
    if (chance(random_, 50)) std::ranges::shuffle(buckets_, random_);
    for (const Bucket& b : buckets_) {
      std::vector<Value> arrived;
      if (chance(random_, 50)) arrived = parts_.wait(b.pending);
      for (std::size_t i = 0; i < b.pending.size(); ++i)
        gradient_of(b.parameters[i]) =
            arrived.empty() ? parts_.wait({b.pending[i]})[0] : arrived[i];
    }
    for (Value& v : gradients_)
      if (divides_ == 2 && chance(random_, 90)) v = ops::div(graph_, v, count);
  }

  void behind_backward() {
    if (chance(random_, 20))
      for (Value& v : gradients_)
        if (chance(random_, 50)) v = parts_.all_reduced(v, some_group(), some_reduction());
    if (chance(random_, 10)) graph_.add_output("gradient", gradients_[0]);
  }

  void clip() {
    Value norm = ops::sqrt(graph_, parts_.squares(gradients_));
    if (chance(random_, 40)) norm = parts_.all_reduced(norm, some_group(), "max");
    norm = ops::maximum(graph_, norm, parts_.number(dtype_, 1));
    for (Value& v : gradients_) v = ops::div(graph_, v, norm);
    if (chance(random_, 30)) graph_.add_output("norm", norm);
  }

  // ---- updates

  void update(Value loss) {
    OptimizerSetting setting = parts_.setting();
    if (chance(random_, 30)) {
      Value rate = parts_.state({DType::f32, false, {}}, "lr", StateKind::optimizer);
      if (chance(random_, 50))
        graph_.set_next(rate, ops::mul(graph_, rate, parts_.number(DType::f32, 0.5)));
      setting.lr = ops::mul(graph_, rate, setting.lr);
      if (dtype_ == DType::f32 && chance(random_, 20))
        setting.lr = ops::mul(graph_, setting.lr, loss);
    }
    if (dtype_ == DType::f32 &&
        chance(random_, 10)) {  // a step with a gradient that is not finite is skipped
      Value sum = parts_.total(gradients_[0]);
      setting.skip = {ops::ne(graph_, sum, sum)};
    }
    if (setting.op != nullptr && chance(random_, 40)) mix_order();
    parts_.update_in_parts(setting, parameters_, gradients_);
  }

  void mix_order() {
    std::ranges::reverse(parameters_);
    std::ranges::reverse(gradients_);
  }

  void look_at_parameters() {
    Value p = parameters_[below(random_, parameters_.size())], next = graph_.next(p);
    auto state = [&](const char* name) {
      constexpr StateKind kinds[] = {StateKind::buffer, StateKind::optimizer, StateKind::parameter};
      return parts_.state(graph_.type(p), name, kinds[below(random_, std::size(kinds))]);
    };
    if (chance(random_, 15)) graph_.add_output("new", next);
    if (chance(random_, 15)) graph_.add_output("old", p);
    if (chance(random_, 15)) {
      Value running = state("average");
      graph_.set_next(running, average(running, next));
    }
    if (chance(random_, 10)) {
      Value before = state("before");
      graph_.set_next(before, p);
      if (chance(random_, 50)) graph_.add_output("before", before);
    }
    if (chance(random_, 10)) {
      Value copy = state("copy");
      graph_.set_next(copy, next);
      if (chance(random_, 50)) graph_.add_output("copy", ops::neg(graph_, copy));
    }
    if (chance(random_, 15))
      graph_.add_output("again", parts_.matmul(x_, graph_.next(weights_[0]), false, false));
    if (chance(random_, 10)) {
      std::int64_t channel = parts_.fresh_channel();
      graph_.add(graph_, {.op = &ops::barrier,
                          .attributes = Attributes(
                              ops::barrier, {{"group", some_group()}, {"channel", channel}})});
    }
  }

  Random& random_;
  Graph& graph_;
  StepParts parts_;
  std::vector<std::string> groups_;
  DType dtype_ = DType::f32;
  Value x_;
  std::vector<Value> weights_, biases_, used_,
      read_;  // by layer; `weights_` holds a shared weight once
  std::vector<Value> parameters_, gradients_;
  std::vector<Bucket> buckets_;
  std::string group_;
  std::size_t divides_ = 0;  // 1: divides gradients before the all-reduce, 2: after it
};

}  // namespace

Program random_mesh_step(Random& random) {
  Graph g("step", random_world(random));
  MeshStepMaker(random, g).make();
  return Program(std::move(g));
}

}  // namespace hocket::testing

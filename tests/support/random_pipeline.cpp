#include "support/random_pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "hocket/ops/ops.h"
#include "support/step_parts.h"

namespace hocket::testing {
namespace {

const Type activation{DType::f32, false, {2, 4}}, weight{DType::f32, false, {4, 4}};

/// The layout of the pipeline.
struct Plan {
  int stages = 2, copies = 1;
  bool tied = false;  // the first and the last stage share a weight
  std::shared_ptr<const World> world;
  std::vector<std::vector<int>> ranks;  // by stage
};

Plan random_plan(Random& random) {
  Plan plan;
  plan.stages = 2 + static_cast<int>(below(random, 3));
  plan.copies = 1 + static_cast<int>(below(random, plan.stages == 2 ? 3 : 2));
  plan.tied = chance(random, 50);
  bool stage_first = chance(random, 50);
  std::vector<Axis> mesh{{"pp", plan.stages}, {"dp", plan.copies}};
  if (!stage_first) std::swap(mesh[0], mesh[1]);
  auto rank = [&](int stage, int copy) {
    return stage_first ? stage * plan.copies + copy : copy * plan.stages + stage;
  };
  plan.ranks.resize(static_cast<std::size_t>(plan.stages));
  ListedGroup ends{"ends", {}};
  for (int c = 0; c < plan.copies; ++c) {
    for (int s = 0; s < plan.stages; ++s)
      plan.ranks[static_cast<std::size_t>(s)].push_back(rank(s, c));
    ends.sets.push_back({rank(0, c), rank(plan.stages - 1, c)});
  }
  std::vector<ListedGroup> groups;
  if (plan.tied) groups.push_back(ends);
  plan.world = std::make_shared<const World>(mesh, groups);
  return plan;
}

struct Stage {
  Stage(Random& random, Graph& g, std::shared_ptr<std::int64_t> channels)
      : graph(g), parts(random, g, std::move(channels)) {}

  Graph& graph;
  StepParts parts;
  Value tied;                       // the weight shared by the first and the last stage
  std::vector<Value> layers, read;  // weights; the activations that they were multiplied with
  std::map<Value, Value> gradients, pending;  // by weight
  std::vector<Value> sent;                    // sends without a wait yet

  std::vector<Value> parameters() const {
    std::vector<Value> all = layers;
    if (tied) all.push_back(tied);
    return all;
  }
  void add_gradient(Value w, Value gradient) {
    Value& sum = gradients[w];
    sum = sum ? ops::add(graph, sum, gradient) : gradient;
  }
};

class PipelineMaker {
 public:
  PipelineMaker(Random& random, const Plan& plan, Program& program)
      : random_(random), plan_(plan), channels_(std::make_shared<std::int64_t>(0)) {
    for (Graph& g : program.graphs) stages_.emplace_back(random, g, channels_);
  }

  void make() {
    inputs();
    std::size_t batches = 1 + below(random_, 3);
    for (std::size_t m = 0; m < batches; ++m) {
      Value out = forward();
      if (m + 1 == batches) last().graph.add_output("loss", last().parts.total(out));
      backward(out, m + 1 == batches);
    }
    for (Stage& s : stages_)
      for (auto [w, pending] : s.pending) s.gradients[w] = s.parts.wait({pending})[0];
    if (plan_.tied) reduce_tied();
    if (chance(random_, 20)) clip();
    if (chance(random_, 20)) meet_all();
    for (Stage& s : stages_) finish(s);
  }

 private:
  Stage& last() { return stages_.back(); }

  void inputs() {
    x_ = stages_[0].parts.fed(activation);
    for (Stage& s : stages_) {
      for (std::size_t l = 0; l < 1 + below(random_, 3); ++l)
        s.layers.push_back(s.parts.state(weight, "w", StateKind::parameter));
      if (chance(random_, 30)) s.parts.state({DType::f32, false, {4}}, "b", StateKind::buffer);
    }
    if (plan_.tied)
      for (Stage* s : {&stages_[0], &last()})
        s->tied = s->parts.state(weight, "tied", StateKind::parameter);
  }

  Value transfer(std::size_t from, std::size_t to, Value v) {
    Stage &a = stages_[from], &b = stages_[to];
    std::int64_t channel = a.parts.fresh_channel();
    auto rank = [](std::size_t stage) { return static_cast<std::int64_t>(stage); };
    a.sent.push_back(
        a.parts.start(ops::send, {v}, {{"group", "pp"}, {"to", rank(to)}}, channel)[0]);
    if (chance(random_, 50)) wait_for_sent(a);
    return b.parts.wait(b.parts.start(
        ops::recv, {}, {{"group", "pp"}, {"from", rank(from)}, {"type", activation}}, channel))[0];
  }

  void wait_for_sent(Stage& s) {
    for (Value h : s.sent) s.parts.wait({h});
    s.sent.clear();
  }

  Value forward() {
    Value h = x_;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      Stage& s = stages_[i];
      s.read.clear();
      if (i == 0 && s.tied) h = s.parts.matmul(h, s.tied, false, false);
      for (Value w : s.layers) {
        s.read.push_back(h);
        h = s.parts.matmul(h, w, false, false);
        if (chance(random_, 50)) h = ops::tanh(s.graph, h);
      }
      if (i + 1 < stages_.size()) h = transfer(i, i + 1, h);
    }
    into_tied_ = h;
    if (plan_.tied) h = last().parts.matmul(h, last().tied, false, true);
    return ops::tanh(last().graph, h);
  }

  void backward(Value d, bool reduces) {
    if (plan_.tied) {
      last().add_gradient(last().tied, last().parts.matmul(d, into_tied_, true, false));
      d = last().parts.matmul(d, last().tied, false, false);
    }
    for (std::size_t i = stages_.size(); i-- > 0;) {
      Stage& s = stages_[i];
      for (std::size_t l = s.layers.size(); l-- > 0;) {
        Value w = s.layers[l];
        s.add_gradient(w, s.parts.matmul(s.read[l], d, true, false));
        if (reduces && plan_.copies > 1 && chance(random_, 80))
          s.pending[w] = s.parts.start(ops::all_reduce, {s.gradients[w]},
                                       {{"group", "dp"}, {"reduce", "avg"}})[0];
        d = s.parts.matmul(d, w, false, true);
      }
      if (i > 0) d = transfer(i, i - 1, d);
    }
    Stage& first = stages_[0];
    if (first.tied) first.add_gradient(first.tied, first.parts.matmul(x_, d, true, false));
  }

  /// Reduces the gradient of the shared weight over both stages, sometimes after a reduction within
  /// each stage.
  void reduce_tied() {
    std::string reduce = chance(random_, 50) ? "sum" : "avg";
    bool copies = plan_.copies > 1 && chance(random_, 50);
    std::int64_t channel = last().parts.fresh_channel();
    std::vector<std::pair<Stage*, Value>> started;
    for (Stage* s : {&stages_[0], &last()}) {
      Value& gradient = s->gradients[s->tied];
      if (copies) gradient = s->parts.all_reduced(gradient, "dp", "avg");
      started.emplace_back(s, s->parts.start(ops::all_reduce, {gradient},
                                             {{"group", "ends"}, {"reduce", reduce}}, channel)[0]);
    }
    for (auto [s, pending] : started) s->gradients[s->tied] = s->parts.wait({pending})[0];
  }

  void clip() {
    std::int64_t channel = last().parts.fresh_channel();
    for (Stage& s : stages_) {
      std::vector<Value> gradients;
      for (Value w : s.parameters()) gradients.push_back(s.gradients[w]);
      Value norm = s.parts.wait(s.parts.start(ops::all_reduce, {s.parts.squares(gradients)},
                                              {{"group", "pp"}}, channel))[0];
      norm = ops::maximum(s.graph, norm, s.parts.number(DType::f32, 1));
      for (Value w : s.parameters()) s.gradients[w] = ops::div(s.graph, s.gradients[w], norm);
    }
  }

  void meet_all() {
    std::int64_t channel = last().parts.fresh_channel();
    std::string group = chance(random_, 50) ? "world" : "pp";
    for (Stage& s : stages_)
      s.graph.add(s.graph, {.op = &ops::barrier,
                            .attributes = Attributes(ops::barrier,
                                                     {{"group", group}, {"channel", channel}})});
  }

  void finish(Stage& s) {
    std::vector<Value> parameters = s.parameters(), gradients;
    for (Value w : parameters) gradients.push_back(s.gradients[w]);
    s.parts.update_in_parts(s.parts.setting(), parameters, gradients);
    wait_for_sent(s);
    Value w = parameters[below(random_, parameters.size())];
    if (chance(random_, 30)) s.graph.add_output("old", w);
    if (chance(random_, 15)) s.graph.add_output("new", s.graph.next(w));
    if (chance(random_, 15)) s.graph.add_output("gradient", s.gradients[w]);
  }

  Random& random_;
  const Plan& plan_;
  std::shared_ptr<std::int64_t> channels_;
  std::vector<Stage> stages_;
  Value x_, into_tied_;
};

}  // namespace

Program random_pipeline(Random& random) {
  Plan plan = random_plan(random);
  Program program;
  program.world = plan.world;
  for (const std::vector<int>& ranks : plan.ranks) {
    program.graphs.emplace_back(fmt::format("stage{}", program.graphs.size()), plan.world);
    program.graphs.back().set_ranks(ranks);
  }
  PipelineMaker(random, plan, program).make();
  return program;
}

}  // namespace hocket::testing

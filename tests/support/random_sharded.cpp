#include "support/random_sharded.h"

#include <algorithm>

#include "hocket/ops/ops.h"
#include "support/step_parts.h"

namespace hocket::testing {
namespace {

constexpr std::int64_t width = 4;

std::shared_ptr<const World> random_mesh(Random& random) {
  static const std::vector<std::vector<Axis>> meshes = {
      {{"dp", 2}}, {{"dp", 3}}, {{"dp", 4}}, {{"dp", 2}, {"tp", 2}}, {{"tp", 2}, {"dp", 2}}};
  return std::make_shared<const World>(meshes[below(random, meshes.size())]);
}

class ShardedMaker {
 public:
  ShardedMaker(Random& random, Graph& g)
      : random_(random),
        graph_(g),
        parts_(random, g),
        ranks_(*g.world().group_size("dp")),
        dtype_(chance(random, 70) ? DType::f32 : DType::bf16) {}

  void make() {
    std::size_t layers = 1 + below(random_, 4);
    x_ = parts_.fed({dtype_, false, {4, width}});
    for (std::size_t l = 0; l < layers; ++l)
      pieces_.push_back(parts_.state({dtype_, false, {piece()}}, "w", StateKind::parameter,
                                     ShardOf{"dp", {dtype_, false, {width, width}}}));
    Value out = forward();
    graph_.add_output("loss", parts_.total(out));
    backward(ops::neg(graph_, out));
    arrive();
    OptimizerSetting setting = parts_.setting();
    parts_.update_in_parts(setting, pieces_, gradients_);
    if (chance(random_, 30)) graph_.add_output("piece", pieces_[below(random_, layers)]);
  }

 private:
  std::int64_t piece() const { return (width * width + ranks_ - 1) / ranks_; }

  void gather(std::size_t layer) {
    if (layer >= pieces_.size() || gathered_[layer]) return;
    gathered_[layer] = parts_.start(ops::all_gather, {pieces_[layer]}, {{"group", "dp"}})[0];
  }

  Value whole(std::size_t layer) {
    gather(layer);
    Value flat = parts_.wait({gathered_[layer]})[0];
    if (graph_.type(flat).elements() != width * width)
      flat = ops::slice(graph_, {flat}, {{"starts", Ints{0}}, {"stops", Ints{width * width}}});
    return ops::reshape(graph_, {flat}, {{"shape", Ints{width, width}}});
  }

  Value forward() {
    std::size_t ahead = below(random_, 4);
    gathered_.assign(pieces_.size(), {});
    Value h = x_;
    for (std::size_t l = 0; l < pieces_.size(); ++l) {
      for (std::size_t next = l; next <= l + ahead; ++next) gather(next);
      weights_.push_back(whole(l));
      read_.push_back(h);
      h = parts_.matmul(h, weights_[l], false, false);
      // An all_to_all to the experts without the one back: ranks continue with each other's rows.
      if (4 % ranks_ == 0 && chance(random_, 30))
        h = parts_.wait(parts_.start(ops::all_to_all, {h}, {{"group", "dp"}}))[0];
      h = ops::tanh(graph_, h);
    }
    return h;
  }

  void backward(Value d) {
    bool again = chance(random_, 40);
    if (again) gathered_.assign(pieces_.size(), {});
    scattered_.resize(pieces_.size());
    gradients_.resize(pieces_.size());
    for (std::size_t l = pieces_.size(); l-- > 0;) {
      Value w = again ? whole(l) : weights_[l];
      Value flat = ops::reshape(graph_, {parts_.matmul(read_[l], d, true, false)},
                                {{"shape", Ints{width * width}}});
      if (std::int64_t missing = piece() * ranks_ - width * width; missing > 0)
        flat = ops::pad(graph_, {flat, parts_.number(dtype_, 0)},
                        {{"low", Ints{0}}, {"high", Ints{missing}}});
      std::string reduce = chance(random_, 50) ? "avg" : "sum";
      scattered_[l] =
          parts_.start(ops::reduce_scatter, {flat}, {{"group", "dp"}, {"reduce", reduce}})[0];
      if (chance(random_, 40)) gradients_[l] = parts_.wait({scattered_[l]})[0];
      d = parts_.matmul(d, w, false, true);
    }
  }

  /// Reduces the scattered gradients over the second axis, and clips them.
  void arrive() {
    for (std::size_t l = 0; l < pieces_.size(); ++l) {
      if (!gradients_[l]) gradients_[l] = parts_.wait({scattered_[l]})[0];
      if (graph_.world().mesh().size() > 1 && chance(random_, 30))
        gradients_[l] = parts_.all_reduced(gradients_[l], "tp", "avg");
    }
    if (!chance(random_, 25)) return;
    Value norm = parts_.all_reduced(parts_.squares(gradients_), "dp");
    norm = ops::maximum(graph_, norm, parts_.number(dtype_, 1));
    for (Value& v : gradients_) v = ops::div(graph_, v, norm);
  }

  Random& random_;
  Graph& graph_;
  StepParts parts_;
  std::int64_t ranks_;
  DType dtype_;
  Value x_;
  std::vector<Value> pieces_, gathered_, weights_, read_, scattered_, gradients_;  // by layer
};

}  // namespace

Program random_sharded_step(Random& random) {
  Graph g("step", random_mesh(random));
  ShardedMaker(random, g).make();
  return Program(std::move(g));
}

}  // namespace hocket::testing

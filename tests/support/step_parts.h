#pragma once
// What random training steps are put together of: numbers, state, transfers, optimizers.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"
#include "support/random.h"

namespace hocket::testing {

/// How some of the parameters are updated.
struct OptimizerSetting {
  const Op* op = nullptr;  ///< none: in single ops
  Attributes attributes = {};
  Value lr;  ///< f32
  std::vector<Value> scale = {}, skip = {};
  std::size_t lists = 0;  ///< of state beside the parameters
  bool counts = false;    ///< steps
};

class StepParts {
 public:
  /// Graphs that speak to each other share `channels`, the next free one.
  StepParts(Random& random, Graph& g, std::shared_ptr<std::int64_t> channels = nullptr)
      : random_(random),
        graph_(g),
        channels_(channels ? std::move(channels) : std::make_shared<std::int64_t>(0)) {}

  // ---- where values come from
  Value number(DType dtype, double value);
  Value fed(const Type& type);
  Value state(const Type& type, const char* name, StateKind kind, std::optional<ShardOf> of = {});

  // ---- arithmetic
  Ints all_dims(Value v) const;
  /// One number: the sum of all elements.
  Value total(Value v);
  /// One number: the sum of the squares of all elements.
  Value squares(std::span<const Value> values);
  Value matmul(Value a, Value b, bool transpose_a, bool transpose_b);

  // ---- between ranks
  std::int64_t fresh_channel() { return (*channels_)++; }
  /// Pending results, on a channel of their own unless `channel` is given.
  std::vector<Value> start(const Op& op, const std::vector<Value>& operands,
                           std::vector<Named> given, std::optional<std::int64_t> channel = {});
  std::vector<Value> wait(const std::vector<Value>& pending);
  /// There and back, with nothing in between.
  Value all_reduced(Value v, const std::string& group, const std::string& reduce = "sum");

  // ---- optimizers
  OptimizerSetting setting();
  /// Sets the next values of parameters and of state that is made for them. First new parameter.
  Value update(const OptimizerSetting& setting, std::span<const Value> parameters,
               std::span<const Value> gradients);
  /// The same in nodes of one to four parameters.
  void update_in_parts(const OptimizerSetting& setting, std::span<const Value> parameters,
                       std::span<const Value> gradients);

 private:
  Value update_by_hand(const OptimizerSetting& setting, Value parameter, Value gradient);
  Value moment_of(Value parameter);
  Value count();

  Random& random_;
  Graph& graph_;
  std::shared_ptr<std::int64_t> channels_;
  Value counted_;
};

}  // namespace hocket::testing

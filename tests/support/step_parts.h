#pragma once
// Builds parts of random training steps: constants, state, collectives, optimizers.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"
#include "support/random.h"

namespace hocket::testing {

/// The optimizer of some parameters, with its options.
struct OptimizerSetting {
  const Op* op = nullptr;  ///< none: written out in elementwise ops
  Attributes attributes = {};
  Value lr;  ///< f32
  std::vector<Value> scale = {}, skip = {};
  std::size_t lists = 0;  ///< number of state lists (momenta) besides the parameters
  bool counts = false;    ///< has step counters
};

class StepParts {
 public:
  /// Graphs that communicate share `channels`, a counter of used channels.
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
  /// A scalar: the sum of all elements.
  Value total(Value v);
  /// A scalar: the sum of the squares of all elements.
  Value squares(std::span<const Value> values);
  Value matmul(Value a, Value b, bool transpose_a, bool transpose_b);

  // ---- between ranks
  std::int64_t fresh_channel() { return (*channels_)++; }
  /// Starts a collective, on a fresh channel unless `channel` is given; returns its pending
  /// results.
  std::vector<Value> start(const Op& op, const std::vector<Value>& operands,
                           std::vector<Named> given, std::optional<std::int64_t> channel = {});
  std::vector<Value> wait(const std::vector<Value>& pending);
  /// An all-reduce, directly followed by its wait.
  Value all_reduced(Value v, const std::string& group, const std::string& reduce = "sum");

  // ---- optimizers
  OptimizerSetting setting();
  /// Adds an optimizer with its state, and sets the next values of parameters and state. Returns
  /// the first new parameter.
  Value update(const OptimizerSetting& setting, std::span<const Value> parameters,
               std::span<const Value> gradients);
  /// The same, with separate optimizer nodes for one to four parameters each.
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

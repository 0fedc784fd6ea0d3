#pragma once
// The values of one rank while it walks its graph.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/ops/evaluate.h"

namespace hocket {

struct RankResult {
  std::vector<Tensor> outputs;  ///< in the order of Graph::outputs()
  std::vector<Tensor> state;    ///< by input: state for the next iteration; empty for other
                                ///< inputs, and for forwarded state that ends here
  std::unordered_map<Value, Tensor> values;  ///< when every value was kept
  std::int64_t peak_bytes = 0;  ///< peak bytes of live values; a view counts like a copy
};

/// Error unless `inputs` has a tensor for every input of the graph, of its type. Forwarded state
/// that is not read may be left empty; for state in flight the value that has arrived is given, or
/// it may be left empty where it is kept elsewhere. `rank` is for the message.
void require_inputs(const Graph& graph, int rank, std::span<const Tensor> inputs, bool in_flight);

/// Each value is live from its node to its last reader. The caller walks the graph and reports each
/// finished node; communication is not handled here.
class Frame {
 public:
  struct Options {
    bool keep_values = false;  ///< to the end, for RankResult::values
    bool in_flight = false;    ///< state in flight is kept elsewhere, and given as empty
  };

  /// The evaluator runs the nodes; not owned. Error as by require_inputs.
  Frame(const Program& program, const Graph& graph, int rank, std::span<const Tensor> inputs,
        Evaluator& evaluator, Options options);

  const Graph& graph() const { return graph_; }
  int rank() const { return rank_; }

  /// The operands of a node that is about to be run. A value that is read here for the last time is
  /// moved out, so that its bytes can be reused.
  std::vector<Tensor> operands(NodeId n);
  const Tensor& value(Value v) const { return values_[v.index]; }
  /// The results of a node that needs only its operands: no collective, no wait.
  std::vector<Tensor> run(NodeId n);
  /// The node has `results` (empty ones are in flight): those with readers are kept, and operands
  /// without further readers are freed.
  void finish(NodeId n, std::vector<Tensor> results);

  /// Bytes in use besides values: buffers of transfers. Negative to release them.
  void hold(std::int64_t bytes);
  /// Whether this reader of the value is its last.
  bool last_reader(Value v) const { return readers_[v.index] == 1 && !options_.keep_values; }

  /// At the end of the graph.
  RankResult result() const;

 private:
  void define(Value v, Tensor t);
  void release(Value v);

  const Program& program_;
  const Graph& graph_;
  int rank_;
  Evaluator& evaluator_;
  Options options_;
  std::vector<Tensor> values_;          // by Value::index
  std::vector<std::uint32_t> readers_;  // by Value::index: readers still to run
  std::unordered_map<Value, Tensor> initial_;
  std::int64_t live_ = 0, peak_ = 0;
};

}  // namespace hocket

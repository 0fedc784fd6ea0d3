#pragma once
// The values of one rank while it walks its graph.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "hocket/codegen/backend.h"
#include "hocket/ir/program.h"

namespace hocket {

struct RankResult {
  std::vector<Tensor> outputs;  ///< in the order of Graph::outputs()
  std::vector<Tensor> state;    ///< by input: what the next iteration starts from; empty for other
                                ///< inputs, and for forwarded state that ends here
  std::unordered_map<Value, Tensor> values;  ///< when every value was kept
  std::int64_t peak_bytes = 0;  ///< most bytes of values alive at once; a view counts like a copy
};

/// Error unless `inputs` has a tensor for every input of the graph, of its type. Forwarded state
/// that nobody reads may be left empty; one in flight is what has arrived, or may be left empty
/// where it is kept elsewhere. `rank` is for the message.
void require_inputs(const Graph& graph, int rank, std::span<const Tensor> inputs, bool in_flight);

/// Each value lives from its node to its last reader. Who walks the graph says when a node is
/// finished; what happens between ranks is not known here.
class Frame {
 public:
  struct Options {
    bool keep_values = false;    ///< to the end, for RankResult::values
    Backend* backend = nullptr;  ///< runs what it can, the plain kernels the rest; not owned
    bool in_flight = false;      ///< state in flight is kept elsewhere, and given as nothing
  };

  /// Error as by require_inputs.
  Frame(const Program& program, const Graph& graph, int rank, std::span<const Tensor> inputs,
        Options options);

  const Graph& graph() const { return graph_; }
  int rank() const { return rank_; }

  /// The operands of a node that is about to be run. A value that is read here for the last time
  /// is handed over, so that its bytes can be used again.
  std::vector<Tensor> operands(NodeId n);
  const Tensor& value(Value v) const { return values_[v.index]; }
  /// The results of a node that needs nothing but its operands: no collective, no wait.
  std::vector<Tensor> run(NodeId n);
  /// `results` of the node are there (empty ones are in flight): those that have readers live on,
  /// operands without further readers die.
  void finish(NodeId n, std::vector<Tensor> results);

  /// Bytes in use besides values: buffers of transfers. Negative gives them back.
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
  Options options_;
  RunInstead instead_;
  std::vector<Tensor> values_;          // by Value::index
  std::vector<std::uint32_t> readers_;  // that are still to come
  std::unordered_map<Value, Tensor> initial_;
  std::int64_t live_ = 0, peak_ = 0;
};

}  // namespace hocket

#pragma once
// Runs any op on tensors.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/tensor.h"
#include "hocket/ops/call_key.h"
#include "hocket/ops/expand.h"

namespace hocket {

class ReferenceOp;

/// Runs a node instead of the reference kernel: returns the results, or none and does nothing.
using RunInstead =
    std::function<std::vector<Tensor>(const Graph&, NodeId, std::span<const Tensor>, int rank)>;

/// Runs nodes, and keeps what it has prepared for each kind of call: a traced body, an expansion.
/// For one thread, and for graphs of one world.
class Evaluator {
 public:
  explicit Evaluator(RunInstead instead = nullptr);
  ~Evaluator();

  /// Runs a node that is neither a collective, a wait nor a call, on the given operand values. The
  /// bits of the results depend only on op, attributes, types and operand bits (and the rank, for
  /// ops with `depends_on_rank`). `instead` is tried on the node and, where it declines a
  /// composite, on the nodes of its expansion.
  std::vector<Tensor> run(const Graph& graph, NodeId node, std::span<const Tensor> inputs,
                          int rank = 0);

 private:
  struct Prepared {
    std::shared_ptr<const ReferenceOp> op;
    bool same_bytes = false;  // the result is a view that is its operand's bytes
    Expansion expansion;      // of a composite
  };
  const Prepared& prepared(const KernelSpec& spec, const Graph& graph);
  std::vector<Tensor> run_expansion(const Expansion& expansion, std::span<const Tensor> inputs,
                                    int rank);

  RunInstead instead_;
  CallKey key_;  // of the call at hand
  ByCall<Prepared> known_;
};

/// A node by itself, as Evaluator::run.
std::vector<Tensor> evaluate(const Graph& graph, NodeId node, std::span<const Tensor> inputs,
                             int rank = 0);

}  // namespace hocket

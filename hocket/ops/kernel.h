#pragma once
// The reference execution of ops: what a kernel gets, and the function that runs any op.

#include <functional>
#include <span>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/tensor.h"

namespace hocket {

/// Everything a kernel may look at. Results are made by `out`, or set to share
/// an operand's bytes.
struct KernelCall {
  const Op& op;
  const Attributes& attributes;
  std::span<const Tensor> inputs;
  std::span<const Type> types;  ///< of the results
  std::vector<Tensor>& results;
  const World& world;
  int rank = 0;

  Tensor& out(std::size_t i = 0) { return results[i] = Tensor(types[i]); }
  template <class T>
  const T& attr(std::string_view name) const {
    return attribute<T>(op, attributes, name);
  }
};

/// All members of one collective at once, in the order of their set.
struct ExchangeCall {
  const Op& op;
  const Attributes& attributes;
  std::span<const std::vector<Tensor>> inputs;        ///< [member][operand]
  std::span<const std::vector<Type>> types;           ///< [member][result], as they arrive
  std::span<const Attributes* const> all_attributes;  ///< [member]; they differ in splits at most
  std::vector<std::vector<Tensor>> results;           ///< [member][result]

  template <class T>
  const T& attr(std::string_view name) const {
    return attribute<T>(op, attributes, name);
  }
};

/// Runs a node instead of the reference kernel: fills the results and returns true, or does nothing
/// and returns false.
using RunInstead = std::function<bool(KernelCall&)>;

/// Runs a node that is neither a collective, a wait nor a call, on the given operand values. The
/// bits of the results depend only on op, attributes, types and operand bits (and the rank, for ops
/// with `depends_on_rank`). `instead` is tried on the node and, where it declines a composite, on
/// the nodes of its expansion.
std::vector<Tensor> evaluate(const Graph& graph, NodeId node, std::span<const Tensor> inputs,
                             int rank = 0, const RunInstead& instead = nullptr);

/// Runs an elementwise op by its body. The result reuses the bytes of an operand that is not
/// shared, if there is one.
void run_elementwise(KernelCall& call);

}  // namespace hocket

#pragma once
// Composites: ops that are defined by their expansion into smaller ops.

#include <memory>
#include <span>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ops/call_key.h"

namespace hocket {

/// What an expansion gets: the node's op, attributes and operands, and where to build.
struct ExpandCall {
  At at;
  const Op& op;
  const Attributes& attributes;
  std::span<const Value> inputs;
  std::span<const Type> types;  ///< of the results

  template <class T>
  const T& attr(std::string_view name) const {
    return attribute<T>(op, attributes, name);
  }
  /// The operands of a slot of the record.
  std::span<const Value> slot(std::size_t i) const;
  bool has(std::size_t i) const { return !slot(i).empty(); }
  Value operand(std::size_t i) const { return slot(i)[0]; }
  const Type& type(Value v) const { return at.graph->type(v); }
};

/// Builds the expansion of a composite node at `at`, from its operands; returns the values that
/// stand for its results. The node itself stays.
std::vector<Value> expand(const Graph& graph, NodeId node, At at);

/// The nodes of a composite in a graph of their own, for all calls of one kind.
struct Expansion {
  std::unique_ptr<const Graph> body;
  std::vector<Value> parameters, results;
};
/// `world` is that of the spec.
Expansion expand(const KernelSpec& spec, std::shared_ptr<const World> world);

namespace expansion {

// Helpers for expansions: elementwise ops that broadcast their operands to one shape, and numbers
// as constants.
Value scalar(ExpandCall& c, DType dtype, double value);
Value spread(ExpandCall& c, Value v, const Shape& shape);
Value cast_to(ExpandCall& c, Value v, DType dtype);
/// Cast to the accumulate dtype.
Value widened(ExpandCall& c, Value v);
/// Cast to the dtype of a result.
Value narrowed(ExpandCall& c, Value v, std::size_t result);
Value both(ExpandCall& c, const Op& op, Value a, Value b);
Value both(ExpandCall& c, const Op& op, Value a, double b);
Value reduced(ExpandCall& c, const Op& op, Value v, Ints dims, bool keep);
Value reshaped(ExpandCall& c, Value v, const Shape& shape);

}  // namespace expansion
}  // namespace hocket

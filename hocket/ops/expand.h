#pragma once
// Composites: ops that are what their expansion into smaller ops is.

#include <span>
#include <vector>

#include "hocket/ir/graph.h"

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

/// Builds the expansion of a composite node behind nothing but its operands, at `at`; returns what
/// stands for its results. The node itself stays.
std::vector<Value> expand(const Graph& graph, NodeId node, At at);

namespace expansion {

// The vocabulary of expansions: elementwise ops that broadcast their operands to one shape, numbers
// as constants.
Value scalar(ExpandCall& c, DType dtype, double value);
Value spread(ExpandCall& c, Value v, const Shape& shape);
Value cast_to(ExpandCall& c, Value v, DType dtype);
/// In the dtype that sums are kept in.
Value widened(ExpandCall& c, Value v);
/// A copy of the wide value in the dtype of a result.
Value narrowed(ExpandCall& c, Value v, std::size_t result);
Value both(ExpandCall& c, const Op& op, Value a, Value b);
Value both(ExpandCall& c, const Op& op, Value a, double b);
Value reduced(ExpandCall& c, const Op& op, Value v, Ints dims, bool keep);
Value reshaped(ExpandCall& c, Value v, const Shape& shape);

}  // namespace expansion
}  // namespace hocket

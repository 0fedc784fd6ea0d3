#pragma once
// The work of a node, as input to cost models.

#include "hocket/ir/graph.h"

namespace hocket {

/// Arithmetic operations of one run of the node on one rank. Those of a composite are those of its
/// expansion; moving elements does not count.
double flops(const Graph& graph, NodeId node);

/// Bytes that the node reads and writes in memory when it is not fused; none for a view.
double bytes_moved(const Graph& graph, NodeId node);

/// Bytes that a collective moves through the link of each rank.
double link_bytes(const Graph& graph, NodeId collective);

/// Bytes of all operands, of all results, and the sum of two counts, saturating.
std::int64_t operand_bytes(const Graph& g, NodeId n);
std::int64_t result_bytes(const Graph& g, NodeId n);
std::int64_t sum_of_bytes(std::int64_t a, std::int64_t b);

}  // namespace hocket

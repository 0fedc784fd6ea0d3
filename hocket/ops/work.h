#pragma once
// How much work a node is: what cost models start from.

#include "hocket/ir/graph.h"

namespace hocket {

/// Arithmetic operations of one run of the node on one rank. A composite does what its expansion
/// does; moving elements is no arithmetic.
double flops(const Graph& graph, NodeId node);

/// Bytes that the node reads and writes in memory when it runs by itself; none when it only
/// renames.
double bytes_moved(const Graph& graph, NodeId node);

/// Bytes that a collective moves through the link of each rank.
double link_bytes(const Graph& graph, NodeId collective);

/// Bytes of all operands, of all results, and of two counts together; the largest number where that
/// is not enough.
std::int64_t operand_bytes(const Graph& g, NodeId n);
std::int64_t result_bytes(const Graph& g, NodeId n);
std::int64_t sum_of_bytes(std::int64_t a, std::int64_t b);

}  // namespace hocket

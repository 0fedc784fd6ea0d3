#pragma once
// Every op, by name. `ops::mul(graph, a, b)` builds a node; `graph[n].op == &ops::wait` asks for
// one.

#include <span>

#include "hocket/ir/graph.h"
#include "hocket/ir/op.h"

namespace hocket::ops {

// elementwise
extern const Op add, sub, mul, div, neg, maximum, minimum, relu, sqrt, exp, tanh;
extern const Op eq, ne, lt, le, select, cast;
// shape
extern const Op reshape, permute, broadcast;
// sums and products
extern const Op sum, matmul;
// where values come from
extern const Op constant, full, rank, shard;
// between ranks
extern const Op all_reduce, all_gather, reduce_scatter, barrier, wait;
// structure
extern const Op after, call;

/// All of them, in the order of the documents.
std::span<const Op* const> all();
/// The op of that name, or none.
const Op* find(std::string_view name);

}  // namespace hocket::ops

#pragma once
// Queries about the operands and readers of a node, used by several passes.

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// True for a value that is written in the program (`constant`, `full`). It can be placed anywhere,
/// so passes that order nodes ignore it as an operand.
bool is_constant(const Graph& g, Value v);

/// The only node whose results the operands of n are, apart from constants; none if there are
/// several such nodes or none.
NodeId only_source(const Graph& g, NodeId n);

/// The node that computes the next value of a state; none for other inputs and for a state that
/// keeps its value. If it stays behind all readers of the state, the new value can reuse the
/// state's memory.
NodeId maker_of_next(const Graph& g, Value input);

/// The nodes that read a result of n, but for the return, each once, in list order. O(uses log
/// uses).
std::vector<NodeId> readers_of(const Graph& g, NodeId n);

/// True for an op that does little more than read and write its elements: elementwise arithmetic, a
/// view, a copy. Passes move such nodes together with a wait or a collective.
bool is_cheap(const Op& op);

}  // namespace hocket

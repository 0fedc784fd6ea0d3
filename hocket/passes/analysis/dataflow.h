#pragma once
// Who reads what: questions about the neighbours of a node that several passes ask.

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// True for a value that is written in the program. It is there whenever it is wanted, so that
/// passes about order do not count it as an operand.
bool is_constant(const Graph& g, Value v);

/// The one node that all operands but constants come from; none when there are several or none.
NodeId only_source(const Graph& g, NodeId n);

/// The node that makes an input's next value; none when the input is no state or keeps its value.
/// It should stay behind all readers of the state, since then the new value can take the old one's
/// place in memory.
NodeId maker_of_next(const Graph& g, Value input);

/// The nodes that read a result of n, but for the return, each once, in list order. O(uses log
/// uses).
std::vector<NodeId> readers_of(const Graph& g, NodeId n);

/// True for a node that does little more than read and write its elements: arithmetic on each, a
/// view, a copy. Such nodes may follow a wait, or run in front of a collective, wherever that goes.
bool is_cheap(const Op& op);

}  // namespace hocket

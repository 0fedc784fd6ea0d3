#pragma once
// What passes about collectives ask of a graph.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/meetings.h"

namespace hocket {

/// Tells which collectives are this graph's own: all ranks that take part in them run it, so that
/// what one does with them, all do. Asks once per group.
class OwnGroups {
 public:
  explicit OwnGroups(const Graph& g) : graph_(g) {}
  /// For a node with a group.
  bool owns(const Node& collective);

 private:
  const Graph& graph_;
  std::map<std::string, bool, std::less<>> known_;
};

/// Bytes of all operands, of all results, and of two counts together; the largest number where that
/// is not enough.
std::int64_t operand_bytes(const Graph& g, NodeId n);
std::int64_t result_bytes(const Graph& g, NodeId n);
std::int64_t sum_of_bytes(std::int64_t a, std::int64_t b);

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

/// The value's name as messages write it.
std::string shown(const Graph& g, Value v);
/// The name of a node's first result, or its op where it has none.
std::string shown(const Graph& g, NodeId n);

/// The modules that all paths are in: the longest common beginning in whole words.
std::string common_path(const Graph& g, const std::vector<NodeId>& nodes);

}  // namespace hocket

#pragma once
// Matches the nodes of different graphs that are the same collective at run time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

/// True for a collective, send, recv or barrier: all ops that have a channel.
bool has_channel(const Node& node);

/// A node with a channel, and the number of the collective that it belongs to.
struct CallSite {
  std::size_t graph;
  NodeId node;
  std::size_t match;
};

/// All call sites of a program, matched between its graphs. Call sites of different graphs match if
/// they use the same channel and some set of ranks takes part in both. A call site that involves
/// only the ranks of its own graph is a match by itself. O(nodes, and ranks for each shared call
/// site).
struct CollectiveMatching {
  std::vector<CallSite> calls;  ///< graph after graph, in list order
  std::size_t count = 0;        ///< number of matches, numbered as they are found

  explicit CollectiveMatching(const Program& program);
  /// The call site that follows (precedes) in the same graph; none after the last (before the
  /// first).
  const CallSite* next(const CallSite& c) const;
  const CallSite* previous(const CallSite& c) const;
  /// The call sites of each match.
  std::vector<std::vector<const CallSite*>> by_match() const;
  /// A topological number for each match: numbers count up from 0 along every graph. Where graphs
  /// disagree on the order, the match that was found first comes first. O(calls log calls).
  std::vector<std::int64_t> order() const;
};

/// A cycle in the order of collectives, as seen in one of its graphs.
struct OrderConflict {
  CallSite first, second;  ///< call sites of one graph, which starts them in this order
  std::size_t graphs;      ///< number in the cycle; if 2, the other starts them in reverse
};

/// None if all graphs start their common collectives in one order, across all groups. Such an order
/// rules out deadlock: all ranks have started the first (in this order) of the collectives that any
/// rank waits for, so it completes.
std::optional<OrderConflict> find_order_conflict(const CollectiveMatching& matching);

}  // namespace hocket

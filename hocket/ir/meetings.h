#pragma once
// Which calls of ranks with different graphs belong together.

#include <cstddef>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

/// True for a collective, send, recv or barrier: what has a channel.
bool has_channel(const Node& node);

/// A node with a channel, and the meeting of ranks that it is its graph's part of.
struct Call {
  std::size_t graph;
  NodeId node;
  std::size_t meeting;
};

/// All calls of a program. Two belong together when they have one channel and some set of ranks
/// takes part in both; then they are of different graphs. A call in which ranks with no other graph
/// take part is a meeting by itself. O(nodes, and ranks for each call in common).
struct Meetings {
  std::vector<Call> calls;  ///< graph after graph, in list order
  std::size_t count = 0;    ///< meetings, numbered in the order in which they are found

  explicit Meetings(const Program& program);
  /// The call that the same graph makes next; none after the last.
  const Call* next(const Call& c) const;
  /// By meeting.
  std::vector<std::vector<const Call*>> parts() const;
};

}  // namespace hocket

#pragma once
// Which calls of ranks with different graphs belong together.

#include <cstddef>
#include <cstdint>
#include <optional>
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
  /// The call that the same graph makes next (before); none after the last (before the first).
  const Call* next(const Call& c) const;
  const Call* previous(const Call& c) const;
  /// By meeting.
  std::vector<std::vector<const Call*>> parts() const;
  /// By meeting: numbers from 0 that ascend along every graph. Where graphs contradict each other,
  /// the first meeting found is next. O(calls log calls).
  std::vector<std::int64_t> order() const;
};

/// A circle of orders.
struct Contradiction {
  Call first, second;  ///< of one graph, which starts them in this order
  std::size_t graphs;  ///< that the circle goes through: with 2, the other one has them reversed
};

/// None when all graphs start what they have in common in one order, whatever groups it belongs to.
/// Then no rank can wait for ever for others that have what they need: of all that ranks wait for,
/// some meeting is the first in that order, and all of its ranks have started it.
std::optional<Contradiction> find_contradiction(const Meetings& meetings);

}  // namespace hocket

#pragma once
// Which collectives involve only ranks that run this graph.

#include <map>
#include <string>

#include "hocket/ir/graph.h"

namespace hocket {

/// Tells whether all ranks that take part in a collective run this graph. If so, an edit of the
/// graph changes the collective on all of them, and a pass may merge, cut, move or remove it.
/// Results are cached by group.
class OwnGroups {
 public:
  explicit OwnGroups(const Graph& g) : graph_(g) {}
  /// For a node with a group.
  bool owns(const Node& collective);

 private:
  const Graph& graph_;
  std::map<std::string, bool, std::less<>> known_;
};

}  // namespace hocket

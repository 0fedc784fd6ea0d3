#pragma once
// Which collectives only ranks with this graph take part in.

#include <map>
#include <string>

#include "hocket/ir/graph.h"

namespace hocket {

/// Tells whether all ranks that take part in a collective run this graph. Then all of them see
/// every change to it, and a pass may merge, cut, move or remove it. Asks once per group.
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

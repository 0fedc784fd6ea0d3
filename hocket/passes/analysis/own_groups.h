#pragma once
// Which collectives a graph has for itself.

#include <map>
#include <string>

#include "hocket/ir/graph.h"

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

}  // namespace hocket

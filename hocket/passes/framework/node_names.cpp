#include "hocket/passes/framework/node_names.h"

#include <algorithm>

namespace hocket {

std::string shown(const Graph& g, Value v) { return "%" + g.name(v); }

std::string shown(const Graph& g, NodeId n) {
  return g[n].result_count > 0 ? shown(g, g.result(n)) : std::string(g[n].op->name);
}

std::string common_path(const Graph& g, const std::vector<NodeId>& nodes) {
  std::string_view common = g.path(nodes[0]);
  for (NodeId n : nodes) {
    std::string_view path = g.path(n);
    std::size_t same = 0;
    while (same < std::min(common.size(), path.size()) && common[same] == path[same]) ++same;
    bool whole = (same == common.size() || common[same] == '.') &&
                 (same == path.size() || path[same] == '.');
    if (!whole) {
      std::size_t dot = common.substr(0, same).rfind('.');
      same = dot == common.npos ? 0 : dot;
    }
    common = common.substr(0, same);
  }
  return std::string(common);
}

}  // namespace hocket

#include "hocket/ir/program.h"

#include <algorithm>
#include <numeric>

#include "hocket/base/error.h"

namespace hocket {

Program::Program(Graph graph) : world(graph.shared_world()) { graphs.push_back(std::move(graph)); }

std::size_t Program::graph_index(int rank) const {
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const std::vector<int>& listed = graphs[i].ranks();
    if (listed.empty() || std::ranges::find(listed, role_of(rank)) != listed.end()) return i;
  }
  internal_fail("no graph for rank {}", rank);
}

bool operator==(const Program& a, const Program& b) {
  return *a.world == *b.world && a.graphs == b.graphs;
}

const std::string* constant_ref(const Node& node) {
  if (node.op->attribute_index("ref") < 0) return nullptr;
  const auto& ref = node.attr<std::string>("ref");
  return ref.empty() ? nullptr : &ref;
}

std::vector<int> ranks_of(const Graph& graph) {
  if (!graph.ranks().empty()) return graph.ranks();
  std::vector<int> all(static_cast<std::size_t>(graph.world().ranks()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool keeps_to_itself(const Graph& graph, std::string_view group) {
  std::vector<int> mine = graph.ranks();
  if (mine.empty()) return true;
  auto size = graph.world().group_size(group);
  if (!size || *size > static_cast<std::int64_t>(mine.size()))
    return false;  // a set does not fit in
  std::ranges::sort(mine);
  std::vector<bool> seen(static_cast<std::size_t>(graph.world().ranks()));
  for (int r : mine) {
    if (seen[static_cast<std::size_t>(r)]) continue;
    for (int other : graph.world().members(group, r)) {
      if (!std::ranges::binary_search(mine, other)) return false;
      seen[static_cast<std::size_t>(other)] = true;
    }
  }
  return true;
}

}  // namespace hocket

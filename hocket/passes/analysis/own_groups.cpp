#include "hocket/passes/analysis/own_groups.h"

#include "hocket/ir/program.h"

namespace hocket {

bool OwnGroups::owns(const Node& collective) {
  if (graph_.ranks().empty()) return true;
  const auto& group = collective.attr<std::string>("group");
  auto [it, fresh] = known_.emplace(group, false);
  if (fresh) it->second = keeps_to_itself(graph_, group);
  return it->second;
}

}  // namespace hocket

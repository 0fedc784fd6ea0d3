#include "support/loop_passes.h"

#include <sstream>

#include "hocket/iter/rotate.h"

namespace hocket::testing {
namespace {

struct RotateByName {
  std::string nodes;
  std::int64_t by = 1;
  std::string before;
  bool lag = false;
};

NodeId find_node(const Graph& g, std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  Value v = g.find(name);
  if (!v) fail("no node %{}", name);
  return g.node(v);
}

void rotate_by_name(Graph& g, const RotateByName& options) {
  std::vector<NodeId> nodes;
  std::istringstream words(options.nodes);
  for (std::string word; std::getline(words, word, '+');) nodes.push_back(find_node(g, word));
  RotateOptions rotation{.outputs_may_lag = options.lag};
  if (!options.before.empty()) rotation.before = find_node(g, options.before);
  rotate(g, nodes, static_cast<int>(options.by), rotation);
}

}  // namespace

void add_loop_passes(PassTable& table) {
  table.add(
      make_pass({.name = "rotate", .doc = "lets nodes run in a later iteration", .retimes = true},
                rotate_by_name,
                {{"nodes", &RotateByName::nodes, "which, joined by +"},
                 {"by", &RotateByName::by, "how many iterations later"},
                 {"before", &RotateByName::before, "where they go"},
                 {"lag", &RotateByName::lag, "whether outputs may lag"}}));
}

}  // namespace hocket::testing

#include "support/random_program.h"

#include <algorithm>
#include <numeric>

#include "support/graph_maker.h"

namespace hocket::testing {
namespace {

std::vector<Axis> mesh_of(int ranks) {
  if (ranks % 4 == 0) return {{"dp", ranks / 2}, {"tp", 2}};
  return {{"dp", ranks}};
}

/// Sets of equal size, of ranks in random order.
ListedGroup random_group(Random& random, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  std::ranges::shuffle(all, random);
  int size = ranks % 2 == 0 && chance(random, 70) ? 2 : ranks;
  ListedGroup group{"mix", {}};
  for (auto from = all.begin(); from != all.end(); from += size)
    group.sets.emplace_back(from, from + size);
  return group;
}

/// The groups of a graph that runs on all ranks.
Groups groups_of(const World& world) {
  Groups groups;
  if (world.mesh().size() > 1)
    for (const Axis& axis : world.mesh()) groups.names.push_back(axis.name);
  for (const ListedGroup& group : world.groups()) groups.names.push_back(group.name);
  return groups;
}

}  // namespace

Program random_program(Random& random, const RandomProgram& options) {
  auto world = std::make_shared<World>();
  if (options.ranks > 1) *world = World(mesh_of(options.ranks));
  if (options.ranks > 1 && chance(random, 30))
    world->add_group(random_group(random, options.ranks));
  Graph g("step", world);
  GraphMaker maker(random, g, false, groups_of(*world), options.largest);
  maker.inputs();
  if (options.loop) maker.loop_inputs();
  while (g.size() < static_cast<std::size_t>(options.nodes)) maker.node();
  maker.outputs();
  if (options.loop) maker.loop_updates();
  return Program(std::move(g));
}

std::vector<std::vector<Tensor>> random_inputs(Random& random, const Program& program) {
  std::vector<std::vector<Tensor>> inputs(static_cast<std::size_t>(program.world->ranks()));
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    const Graph& g = program.graph_of(static_cast<int>(r));
    auto first = static_cast<std::size_t>(g.ranks().empty() ? 0 : g.ranks().front());
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      bool shared = in.state && first < r;
      inputs[r].push_back(shared ? inputs[first][i] : random_tensor(random, g.type(in.value), 2));
    }
  }
  return inputs;
}

}  // namespace hocket::testing

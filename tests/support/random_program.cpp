#include "support/random_program.h"

#include "support/graph_maker.h"

namespace hocket::testing {
namespace {

/// From one stage to the other.
struct Transfer {
  std::size_t from = 0;
  Value value, arriving;
  std::int64_t channel = 0;
};

/// Two stages: what the first one computes goes to the second, and something comes back.
Program random_pipeline(Random& random, const RandomProgram& options) {
  auto world =
      std::make_shared<const World>(std::vector<Axis>{{"pp", 2}, {"dp", options.ranks / 2}});
  Program program;
  program.world = world;
  std::vector<GraphMaker> makers;
  for (const char* name : {"first", "second"}) program.graphs.emplace_back(name, world);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<int> mine;
    for (int r = 0; r < options.ranks / 2; ++r)
      mine.push_back(static_cast<int>(i) * options.ranks / 2 + r);
    program.graphs[i].set_ranks(mine);
    makers.emplace_back(random, program.graphs[i], false, "dp");
    makers[i].inputs();
  }
  // Some are ready to receive before the transfer in front of it is made.
  std::vector<Transfer> transfers(1 + below(random, 3));
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    auto plan = [&](std::size_t at) {
      Transfer& transfer = transfers[at];
      if (transfer.arriving) return;
      std::size_t from = below(random, 2);
      transfer = {from, makers[from].offer(), {}, 1000 * (1 + static_cast<std::int64_t>(at))};
      transfer.arriving =
          makers[1 - from].receive(static_cast<std::int64_t>(from),
                                   program.graphs[from].type(transfer.value), transfer.channel);
    };
    if (t + 1 < transfers.size() && chance(random, 50)) {
      plan(t);
      plan(t + 1);
    }
    for (GraphMaker& m : makers)
      for (int i = 0; i < options.nodes / 8; ++i) m.node();
    plan(t);
    const Transfer& now = transfers[t];
    makers[now.from].send(now.value, static_cast<std::int64_t>(1 - now.from), now.channel);
    makers[1 - now.from].take(now.arriving);
    if (chance(random, 50))
      for (GraphMaker& m : makers) m.meet({DType::f32, false, {2}}, 500 + now.channel);
  }
  for (GraphMaker& m : makers) m.outputs();
  return program;
}

}  // namespace

Program random_program(Random& random, const RandomProgram& options) {
  if (options.stages) return random_pipeline(random, options);
  auto world =
      options.ranks == 1
          ? std::make_shared<const World>()
          : std::make_shared<const World>(
                options.ranks % 4 == 0 ? std::vector<Axis>{{"dp", options.ranks / 2}, {"tp", 2}}
                                       : std::vector<Axis>{{"dp", options.ranks}});
  Graph g("step", world);
  GraphMaker maker(random, g, false);
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

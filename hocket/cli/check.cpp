#include <fmt/core.h>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/load.h"

namespace hocket::cli {
int check(const CheckVerb& verb) {
  int status = 0;
  for (const std::string& source : verb.sources) {
    try {
      Program program = load(source);
      std::int64_t nodes = 0, collectives = 0;
      for (const Graph& g : program.graphs)
        for (NodeId n : g.nodes()) {
          ++nodes;
          collectives += g[n].op->is_collective ? 1 : 0;
        }
      print(fmt::format("{}: ok, {}, {}, {}\n", source, count_of(program.world->ranks(), "rank"),
                        count_of(nodes, "node"), count_of(collectives, "collective")));
    } catch (const Error& e) {
      fmt::print(stderr, "hocket: {}\n", e.what());
      status = 2;
    }
  }
  return status;
}

}  // namespace hocket::cli

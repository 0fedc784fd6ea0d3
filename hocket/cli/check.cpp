#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/load.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"

namespace hocket::cli {
namespace {

void check_phases(const std::string& source, const Program& program) {
  try {
    check_seams(program);
  } catch (const Error& e) {
    fail("{}: {}", source, e.what());
  }
}

}  // namespace

int check(const CheckVerb& verb) {
  int status = 0;
  for (const std::string& source : verb.sources) {
    try {
      Program program = load(source);
      // Delays are right when the phases that follow from them fit together.
      if (std::ranges::any_of(program.graphs, is_rotated)) check_phases(source, program);
      std::int64_t nodes = 0, collectives = 0;
      for (const Graph& g : program.graphs)
        for (NodeId n : g.nodes()) {
          ++nodes;
          collectives += g[n].op->starts ? 1 : 0;
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

#include "support/two_graphs.h"

#include <fmt/core.h>

#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

Program beside_an_empty_graph(int rank, std::string_view graph) {
  return parse(fmt::format("mesh(dp=2)\ngraph rank{} on [{}] {}\ngraph other on [{}] () {{\n}}\n",
                           rank, rank, graph, 1 - rank),
               ops::all());
}

}  // namespace

Program two_graphs(std::string_view first, std::string_view second) {
  Program program = beside_an_empty_graph(0, first);
  program.graphs[1] = beside_an_empty_graph(1, second).graphs[0];
  program.graphs[1].set_world(program.world);
  return program;
}

}  // namespace hocket::testing

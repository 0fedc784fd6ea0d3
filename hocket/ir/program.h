#pragma once
// A program: the ranks and the graph that each of them runs.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/tensor.h"
#include "hocket/ir/world.h"

namespace hocket {

struct Program {
  std::shared_ptr<const World> world = std::make_shared<const World>();
  /// One per class of ranks; a single graph serves all.
  std::vector<Graph> graphs;
  /// Values of `constant {ref="..."}`, by name.
  std::map<std::string, Tensor, std::less<>> constants;
  /// Passes applied so far, in order: some passes must not follow others.
  std::vector<std::string> applied;

  Program() = default;
  /// One graph for all ranks of its world.
  explicit Program(Graph graph);

  /// The rank of the program whose part a running rank takes: its own number, or 0 for a program
  /// for one rank, of which any number of copies may run side by side.
  int role_of(int rank) const { return world->ranks() == 1 ? 0 : rank; }
  /// Which graph a running rank runs.
  std::size_t graph_index(int rank) const;
  const Graph& graph_of(int rank) const { return graphs[graph_index(rank)]; }

  /// Equal texts, except for channels.
  friend bool operator==(const Program& a, const Program& b);
};

/// Values by running rank and by input of the graph that it runs; empty tensors where there are
/// none.
using InputTables = std::vector<std::vector<Tensor>>;

/// The name under which the program's table holds the value of a constant; none for a constant that
/// is written out, and for any other node.
const std::string* constant_ref(const Node& node);

/// The ranks that run a graph, listed.
std::vector<int> ranks_of(const Graph& graph);

/// True when all ranks that share a set of the group with a rank of this graph run this graph, too:
/// then a collective that is removed here is removed on all of them.
bool keeps_to_itself(const Graph& graph, std::string_view group);

}  // namespace hocket

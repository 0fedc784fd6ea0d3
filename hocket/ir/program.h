#pragma once
// A program: the ranks, and the graph that each rank runs.

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
  /// Passes applied so far, in order; used to check the order rules of passes.
  std::vector<std::string> applied;

  Program() = default;
  /// One graph for all ranks of its world.
  explicit Program(Graph graph);

  /// The rank of the program that a running rank executes: its own number, or 0 in a program for
  /// one rank, which any number of ranks may run as copies.
  int role_of(int rank) const { return world->ranks() == 1 ? 0 : rank; }
  /// The index of the graph that a running rank executes.
  std::size_t graph_index(int rank) const;
  const Graph& graph_of(int rank) const { return graphs[graph_index(rank)]; }

  /// Equal texts, except for channels.
  friend bool operator==(const Program& a, const Program& b);
};

/// Values by running rank and by input of the graph that it runs; empty tensors where there are
/// none.
using InputTables = std::vector<std::vector<Tensor>>;

/// The name of a constant's value in the table of the program; null for a constant that is written
/// out and for other nodes.
const std::string* constant_ref(const Node& node);

/// The ranks that run a graph, listed.
std::vector<int> ranks_of(const Graph& graph);

/// True if all ranks that share a set of the group with a rank of this graph run this graph, too.
/// Then a collective that is removed here is removed on all its ranks.
bool keeps_to_itself(const Graph& graph, std::string_view group);

}  // namespace hocket

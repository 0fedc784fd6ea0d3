#pragma once
// The inputs and outputs that the tensors of a recording belong to, for reading and writing
// recordings.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/recording.h"

namespace hocket::frontend {

using Table = std::vector<std::vector<Tensor>>;  // by rank and input or output

/// `out0`, `out1`, ... by position. If all outputs have such names, these are used, since a source
/// may skip positions.
inline std::vector<std::string> recorded_names(const std::vector<Output>& outputs) {
  auto numbered = [](const Output& o) {
    return o.name.size() > 3 && o.name.starts_with("out") &&
           o.name.find_first_not_of("0123456789", 3) == o.name.npos;
  };
  bool by_name = std::ranges::all_of(outputs, numbered);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    names.push_back(by_name ? outputs[i].name : fmt::format("out{}", i));
  return names;
}

/// Inputs and outputs by rank. Ranks of one class share a table.
class Interface {
 public:
  struct Class {
    const Graph* graph;
    std::vector<std::string> names;  // of the inputs
    std::map<std::string, std::size_t, std::less<>> index;
    std::vector<Output> outputs;
    std::vector<std::string> output_names;  // in the files
  };

  explicit Interface(const Program& program) : of_rank_(program.world->ranks()) {
    constexpr std::size_t most = std::size_t{1} << 24;
    std::size_t tensors = 0;
    for (const Graph& g : program.graphs) {
      Class& c = classes_.emplace_back(Class{.graph = &g, .outputs = g.outputs()});
      c.output_names = recorded_names(c.outputs);
      for (const Input& input : g.inputs()) {
        c.index[g.name(input.value)] = c.names.size();
        c.names.push_back(g.name(input.value));
      }
      for (int r : ranks_of(g)) of_rank_[static_cast<std::size_t>(r)] = classes_.size() - 1;
      tensors += ranks_of(g).size() * c.names.size();
    }
    if (tensors > most)
      fail("a recording for {}, {} inputs in all; wanted at most {}", count_of(ranks(), "rank"),
           tensors, most);
  }

  int ranks() const { return static_cast<int>(of_rank_.size()); }
  const std::vector<Class>& classes() const { return classes_; }
  const Class& of(int rank) const { return classes_[of_rank_[static_cast<std::size_t>(rank)]]; }
  std::span<const Input> inputs(int rank) const { return of(rank).graph->inputs(); }

 private:
  std::vector<Class> classes_;
  std::vector<std::size_t> of_rank_;
};

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a && b && a.bytes().data() == b.bytes().data();
}

/// True when the final state of rank 0 is expected on this rank, too: the initial state is the
/// same, and steps keep it the same. This does not hold for buffers, which may depend on the inputs
/// of each rank. `state` is the initial state by rank and input; without it the answer is false.
inline bool follows_rank_0(const Interface& interface, const Table& state, int rank,
                           std::size_t input) {
  if (rank == 0 || state.empty() || interface.of(rank).graph != interface.of(0).graph) return false;
  StateKind kind = interface.inputs(0)[input].kind;
  return (kind == StateKind::parameter || kind == StateKind::optimizer) &&
         same_bytes(state[static_cast<std::size_t>(rank)][input], state[0][input]);
}

}  // namespace hocket::frontend

#include "hocket/frontend/replicas.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>

#include "hocket/ops/ops.h"

namespace hocket::frontend {
namespace {

/// For each value, the groups of the all-reduces that it has passed through.
class Updates {
 public:
  explicit Updates(const Graph& g) : graph_(g), groups_(g.value_bound()) {
    for (NodeId n : g.nodes()) visit(n);
  }
  const std::set<std::string>& of(Value v) const { return groups_[v.index]; }

 private:
  void visit(NodeId n) {
    const Node& node = graph_[n];
    bool reduces = node.op == &ops::all_reduce;
    bool lists = node.op == &ops::adam || node.op == &ops::adamw || node.op == &ops::sgd;
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      std::set<std::string>& mine = groups_[graph_.result(n, i).index];
      if (reduces) mine.insert(node.attr<std::string>("group"));
      if (lists) {
        // Every result belongs to the parameter at the same position in the list.
        std::size_t count = node.slot(0).size();
        mine = of(node.slot(1)[i % count]);
      } else if (node.op->body != nullptr || node.op->moves_data) {
        // A reduced scalar, such as a norm to clip by, does not make the tensor that it scales
        // equal on all ranks.
        const bool number = graph_.type(graph_.result(n, i)).shape.empty();
        for (Value v : node.inputs)
          if (number || !graph_.type(v).shape.empty()) mine.insert(of(v).begin(), of(v).end());
      } else if ((node.op->is_wait || node.op->is_collective) && i < node.inputs.size()) {
        mine.insert(of(node.inputs[i]).begin(), of(node.inputs[i]).end());
      }
    }
  }

  const Graph& graph_;
  std::vector<std::set<std::string>> groups_;
};

}  // namespace

std::vector<Remark> differing_replicas(const Program& program, const Recording& recording) {
  std::vector<Remark> remarks;
  if (recording.state.empty()) return remarks;
  for (const Graph& g : program.graphs) {
    Updates updates(g);
    std::vector<int> ranks = ranks_of(g);
    auto inputs = g.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Value next = inputs[i].state ? g.next(inputs[i].value) : Value{};
      if (!next) continue;
      for (const std::string& group : updates.of(next)) {
        auto value = [&](int rank) -> const Tensor& {
          return recording.state[static_cast<std::size_t>(rank)][i];
        };
        auto differs = [&](int rank) {
          int first = g.world().members(group, rank)[0];
          return value(rank) && value(first) && !same_bits(value(rank), value(first));
        };
        auto other = std::ranges::find_if(ranks, differs);
        if (other == ranks.end()) continue;
        std::string name =
            inputs[i].names.empty() ? "%" + g.name(inputs[i].value) : inputs[i].names[0];
        remarks.push_back(
            {.where = name,
             .what = fmt::format("starts with other values on rank {} than on rank {}", *other,
                                 g.world().members(group, *other)[0]),
             .why = fmt::format("its update is reduced over group \"{}\", so that it is kept equal "
                                "there; broadcast it before the first step",
                                group)});
        break;
      }
    }
  }
  return remarks;
}

}  // namespace hocket::frontend

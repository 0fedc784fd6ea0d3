#pragma once
// A phase as a flat list of steps: kernels, views, collectives and waits. Composites that no
// backend runs whole, and regions, are replaced by the nodes that they consist of:
//
//     %y = softmax(%x) {dim=1}      max, broadcast, sub, exp, sum, broadcast, div

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hocket/codegen/backend.h"
#include "hocket/ir/program.h"

namespace hocket {

/// Values of a phase by number: those of its graph by Value::index, then those of expansions.
using ValueNumber = std::uint32_t;

struct Step {
  const Op* op = nullptr;
  const Attributes* attributes = nullptr;
  NodeId node;                 ///< of the phase's graph: the node that it comes from
  std::uint32_t operands = 0;  ///< the first one, in Steps::operand_numbers
  std::uint32_t operand_count = 0;
  ValueNumber results = 0;  ///< the first one; they are consecutive
  std::uint32_t result_count = 0;
  const Kernel* kernel = nullptr;  ///< of a view: makes a copy; none for a collective, a wait, a
                                   ///< named constant, and where no result has elements
  bool by_backend = false;         ///< the kernel is the backend's and not the reference's
};

struct Steps {
  std::vector<Step> steps;
  std::vector<ValueNumber> operand_numbers;
  std::vector<const Type*> types;    ///< by value
  std::vector<ValueNumber> numbers;  ///< by Value::index of the phase's graph

  std::span<const ValueNumber> operands(const Step& s) const {
    return std::span(operand_numbers).subspan(s.operands, s.operand_count);
  }
  ValueNumber number(Value v) const { return numbers[v.index]; }
};

/// Prepares kernels and expands composites, once for each kind of call. The steps refer to this
/// object and to their graph, which must outlive them.
class Expander {
 public:
  /// Without a backend: reference kernels. `rank` is one of those that run the graphs.
  Expander(const World& world, int rank, Backend* backend);
  ~Expander();
  /// O(nodes of the expansion).
  Steps expand(const Graph& phase);

 private:
  using Key = std::vector<std::int64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  /// How a kind of call is run: by a kernel, by the nodes of a body, or neither.
  struct Known {
    std::shared_ptr<const Kernel> kernel;
    bool by_backend = false;
    std::unique_ptr<const Graph> expansion;
    const Graph* body = nullptr;             // the expansion, or a region
    std::vector<Value> parameters, results;  // of the body
  };

  void write_key(const Graph& graph, NodeId n);
  const Known& lookup(const Graph& graph, NodeId n);
  Known prepare(const Graph& graph, NodeId n);
  void add(const Graph& graph, NodeId n, NodeId origin, std::vector<ValueNumber>& numbers,
           Steps& out);

  const World& world_;
  int rank_;
  Backend* backend_;
  Key key_;
  std::unordered_map<Key, Known, KeyHash> known_;
  std::unordered_map<std::string, std::int64_t> texts_;  // numbers for keys
};

}  // namespace hocket

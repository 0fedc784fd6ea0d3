#pragma once
// A phase as a flat list of steps: kernels, views, collectives and waits. Composites that no
// backend runs whole, and regions, are replaced by the nodes that they consist of:
//
//     %y = softmax(%x) {dim=1}      max, broadcast, sub, exp, sum, broadcast, div

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hocket/codegen/backend.h"
#include "hocket/ir/program.h"
#include "hocket/ops/expand.h"

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
  /// How a kind of call is run: by a kernel or by the nodes of an expansion.
  struct Known {
    std::shared_ptr<const Kernel> kernel;
    bool by_backend = false;
    Expansion expansion;
  };
  struct Body {
    const Graph& graph;
    std::span<const Value> parameters, results;
  };

  const Known& lookup(const Graph& graph, NodeId n);
  Known prepare(const KernelSpec& spec, const Graph& graph);
  void add_body(const Body& body, const Graph& graph, NodeId n, NodeId origin,
                std::vector<ValueNumber>& numbers, Steps& out);
  void add(const Graph& graph, NodeId n, NodeId origin, std::vector<ValueNumber>& numbers,
           Steps& out);

  const World& world_;
  int rank_;
  Backend* backend_;
  ByCall<Known> known_;
  CallKey key_;                           // of the call at hand
  std::vector<Type> operands_, results_;  // its types
};

}  // namespace hocket

#pragma once
// Runs of the program that a plan was made from, on values that are terms.

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "hocket/check/exchange.h"
#include "hocket/ir/program.h"

namespace hocket::check {

/// By graph and input.
using States = std::vector<std::vector<Elements>>;

/// Says who makes the terms from here on: nodes of the source, and instructions.
class Makers {
 public:
  explicit Makers(const Plan& plan, Terms& terms) : plan_(plan), terms_(terms) {}
  void node(const Graph& graph, NodeId node, std::int64_t iteration) {
    next({&graph, node, iteration, {}});
  }
  void instruction(Place place) { next({nullptr, {}, 0, place}); }
  /// `%y = matmul` of iteration 1, or the text of an instruction.
  std::string text_of(TermId t) const;

 private:
  struct Maker {
    const Graph* graph = nullptr;
    NodeId node;
    std::int64_t iteration = 0;  // in which the node runs
    Place place;
  };
  void next(Maker m) {
    makers_.push_back(m);
    terms_.maker = static_cast<std::uint32_t>(makers_.size() - 1);
  }
  const Plan& plan_;
  Terms& terms_;
  std::vector<Maker> makers_{{}};
};

class SourceRun {
 public:
  SourceRun(const Program& program, Evaluator& evaluator, Exchange& exchange, Makers& makers);

  struct Result {
    std::vector<States> outputs;  ///< by iteration; by graph and output
    States state;                 ///< when all of them have ended
  };
  /// Runs iterations from this state; their batches are those from number `first` on. Error when
  /// ranks wait for calls that never come.
  Result run(const States& state, std::int64_t first, int iterations);

 private:
  struct Walk;
  struct Kept {  // a value, or a result of a call in flight
    Elements value;
    Exchange::CallId call = 0;
    std::uint32_t result = 0;
    bool in_flight = false;
  };
  using Slots = std::map<std::pair<std::size_t, int>, Kept>;  // by input of the body, and slot

  void run_phase(Window window, std::int64_t iteration, std::vector<Slots>& kept,
                 std::vector<States>& outputs, std::int64_t first);
  bool advance(Walk& w);
  void evaluate(Walk& w, NodeId n);
  void evaluate_body(const Graph& body, std::span<const Value> parameters,
                     std::span<const Value> body_results, std::span<const Elements* const> operands,
                     std::span<Elements> results, std::size_t graph);
  void apply(const Graph& g, NodeId n, std::span<const Elements* const> operands,
             std::span<Elements> results, std::size_t graph);

  const Program& program_;
  Evaluator& e_;
  Exchange& exchange_;
  Makers& makers_;
  bool rotated_;
  LoopShape shape_;
  std::map<Window, std::vector<Graph>> phases_;
  std::int64_t next_iteration_ = 0;  // of all runs, so that their calls do not meet
};

}  // namespace hocket::check

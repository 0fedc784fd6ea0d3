#pragma once
// What collectives give, on values that are terms, once the ranks of all graphs that take part have
// called them.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "hocket/check/evaluate.h"

namespace hocket::check {

/// The calls of collectives in one run.
class Exchange {
 public:
  using CallId = std::uint32_t;

  explicit Exchange(Evaluator& evaluator, const Plan& plan) : e_(evaluator), plan_(plan) {}

  /// A call by the ranks of a graph. Calls of one iteration in one group with one channel meet.
  CallId post(std::size_t graph, std::int64_t iteration, const Op& op, const Attributes& attributes,
              std::vector<Elements> operands, std::vector<const Type*> operand_types,
              std::vector<const Type*> result_types);
  /// Whether all ranks that take part have called.
  bool arrived(CallId call);
  const std::vector<Elements>& results(CallId call);

 private:
  using Key = std::tuple<std::size_t, std::int64_t, std::string, std::int64_t>;
  struct Call {
    std::size_t graph;
    std::int64_t iteration;
    const Op* op;
    const Attributes* attributes;
    std::vector<Elements> operands;
    std::vector<const Type*> operand_types, result_types;
    std::string group;
    std::int64_t channel;
    bool done;
    std::vector<Elements> results;
  };

  const std::vector<std::size_t>& partners(const Call& call);
  const Call* call_of(const Call& call, std::size_t graph) const;
  void exchange(Call& call);
  void exchange_in_graph(Call& call);
  void exchange_member(Call& call, std::size_t i);
  void exchange_between(Call& call, const std::vector<std::size_t>& graphs);

  Evaluator& e_;
  const Plan& plan_;
  std::vector<Call> calls_;
  std::map<Key, CallId> known_;
  // By graph, group and index of the other end (-1: the whole set): graphs, ascending.
  std::map<std::tuple<std::size_t, std::string, std::int64_t>, std::vector<std::size_t>> partners_;
};

}  // namespace hocket::check

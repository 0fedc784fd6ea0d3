#pragma once
// What an op computes, on values that are terms.

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hocket/check/parts.h"
#include "hocket/check/values.h"

namespace hocket::check {

/// A call of an op on the ranks of a graph.
struct EvaluateCall {
  const Op& op;
  const Attributes& attributes;  ///< must outlive the evaluator
  std::span<const Type*const> operand_types, result_types;
  std::size_t graph = 0;
};

/// The nodes that a composite consists of.
struct Expansion {
  Graph graph;
  std::vector<Value> parameters, results;
};

class Evaluator {
 public:
  explicit Evaluator(const Plan& plan);

  Values values;

  /// Of an op that is neither a collective, a wait, a call nor a composite that the plan runs in
  /// parts.
  void apply(const EvaluateCall& call, std::span<const Elements* const> operands,
             std::span<Elements> results);
  /// Null for what is no composite, or one that the plan runs whole.
  const Expansion* expansion(const EvaluateCall& call);

  /// An input, by its index in the graph of the source: fed in this iteration, or the state that
  /// the first one starts from, which is equal on these ranks.
  Elements input(std::size_t graph, std::size_t index, const Type& type, std::int64_t iteration);
  /// A value of the table of constants.
  Elements constant(const std::string& name, const Type& type);
  Elements state(std::size_t graph, std::size_t index, const Type& type, Partition equal_on);

  /// `state %w at the start`: of a term that is a constant or one of the above.
  std::string source_text(TermId t) const;

  /// The number of a group among the ranks of a graph. Its sets have members if all of them run
  /// that graph.
  std::uint32_t group(std::size_t graph, const std::string& name);
  const std::vector<int>& ranks_of(std::size_t graph) const { return ranks_[graph]; }

  /// The piece, of so many elements, that each rank of a group has of a value. What is missing at
  /// its end is filled with the padding, of one element or as many as are missing.
  Elements piece_of(std::uint32_t group, const Elements& whole, const Elements& padding,
                    std::int64_t count);
  Elements zero(DType dtype);
  /// The inverse: `count` elements of all pieces.
  Elements whole_of(std::uint32_t group, const Elements& piece, std::int64_t count);
  /// What fills the pieces of an input: nothing is known of it. The ranks of a set have it
  /// together.
  Elements unknown(std::size_t graph, std::size_t index, std::uint32_t group, std::int64_t count);

  /// Types as a number.
  std::uint64_t number_of(std::span<const Type* const> operands,
                          std::span<const Type* const> results);
  std::uint64_t number_of(const std::string& text);

  /// A call that two backends run in one plan, if there is one.
  const std::string& two_backends() const { return two_backends_; }

 private:
  using Kind = std::tuple<const Op*, std::uint32_t, std::uint64_t>;
  struct KindHash {
    std::size_t operator()(const Kind& k) const;
  };

  Kind kind_of(const EvaluateCall& call);
  void note_kernels(const Plan& plan);
  bool fixed(const EvaluateCall& call, std::span<Elements> results);
  bool movement(const EvaluateCall& call, std::span<const Elements* const> operands,
                std::span<Elements> results);
  bool of_constants(const EvaluateCall& call, std::span<const Elements* const> operands,
                    std::span<Elements> results);
  bool by_index(const EvaluateCall& call, std::span<const Elements* const> operands,
                std::span<Elements> results);
  void kernel(const EvaluateCall& call, std::span<const Elements* const> operands,
              std::span<Elements> results);
  Elements elements_of(const Tensor& t);
  Tensor tensor_of(const Elements& x, const Type& type);

  const Plan& plan_;
  std::vector<std::vector<int>> ranks_;  // by graph
  std::map<std::pair<std::size_t, std::string>, std::uint32_t> groups_;
  std::unordered_map<Kind, std::uint8_t, KindHash> backends_;  // of the kernels of the plan
  std::unordered_map<Kind, std::unique_ptr<Expansion>, KindHash> expansions_;
  std::map<std::vector<std::int64_t>, std::uint64_t> types_;
  std::map<std::string, std::uint64_t> texts_;
  std::string two_backends_;
  std::vector<std::uint64_t> words_;
};

}  // namespace hocket::check

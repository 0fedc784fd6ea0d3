#pragma once
// The parser of the lines inside a graph of a plan: homes and instructions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hocket/base/texts.h"
#include "hocket/ir/parse_parts.h"
#include "hocket/plan/plan.h"
#include "hocket/plan/tables.h"

namespace hocket {

class InstructionParser {
 public:
  InstructionParser(Lexer& lex, std::span<const Op* const> ops, Plan& plan);

  /// What follows belongs to this graph.
  void enter(const Graph& body, PlanGraph& graph);
  Home home();
  /// Adds its locations and its transfer to the phase.
  Instruction instruction(PlanPhase& phase);

  /// `word=7`: at least `least`, at most 2^20.
  int field(std::string_view word, int least);
  std::int64_t wide_field(std::string_view word);
  std::uint32_t count_field(std::string_view word);
  int small_number(std::string_view wanted, int least);

 private:
  void expect_word(std::string_view word);
  std::uint32_t count(std::string_view wanted);
  Location location();
  Layout layout();
  void operand(PlanPhase& phase) { add(phase, location()); }
  static void add(PlanPhase& phase, const Location& l);
  void body_of(PlanPhase& phase, Instruction& i, std::size_t start);
  void call(PlanPhase& phase, Instruction& i, std::size_t start);
  void kernel_details(Instruction& i);
  std::uint32_t input();
  std::uint32_t output();
  std::uint32_t label(const Instruction& i);
  std::uint8_t backend();
  std::uint16_t lane(const Instruction& i, std::size_t start);
  Attributes shared(const Op& op, Attributes attributes, std::string_view text);

  Lexer& lex_;
  Plan& plan_;
  OpNames ops_;
  Tables tables_;
  // Equal attributes are kept once.
  std::unordered_multimap<std::uint64_t, std::pair<const Op*, Attributes>> attributes_;

  // Of the graph at hand.
  const Graph* body_ = nullptr;
  PlanGraph* graph_ = nullptr;
  std::optional<Labels> labels_;
  Texts groups_;
  std::map<std::string, std::uint32_t, std::less<>> inputs_, outputs_;
  std::uint32_t output_count_ = 0;
};

}  // namespace hocket

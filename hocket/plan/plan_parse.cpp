#include <fmt/core.h>

#include <limits>
#include <unordered_map>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/lexer.h"
#include "hocket/ir/parse.h"
#include "hocket/iter/seams.h"
#include "hocket/plan/instruction_parser.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"

namespace hocket {
namespace {

class PlanParser {
 public:
  PlanParser(std::string_view text, std::span<const Op* const> ops)
      : lex_(text), all_ops_(ops), parts_(lex_, ops, plan_) {}

  Plan plan() {
    if (!lex_.accept_word("plan")) lex_.unexpected("'plan'");
    header();
    plan_.source = program("before");
    plan_.program = program("after");
    if (changing_) {
      plan_.changed = std::move(plan_.program);
      plan_.program = program("after");
    }
    places_.resize(plan_.program.graphs.size());
    for (std::size_t g = 0; g < plan_.program.graphs.size(); ++g) graph(g);
    if (!lex_.at_end()) lex_.unexpected("the end of the plan");
    if (auto v = find_violation(plan_)) lex_.fail_at(place_of(*v), describe(plan_, *v));
    return std::move(plan_);
  }

 private:
  /// Offsets in the text, for messages of the verifier.
  struct Places {
    std::size_t start = 0;
    std::vector<std::size_t> homes, phases;
    std::vector<std::vector<std::size_t>> instructions;  // by phase
  };

  std::size_t place_of(const PlanViolation& v) const {
    if (!v.graph) return header_;
    const Places& at = places_[*v.graph];
    if (v.home) return at.homes[*v.home];
    if (!v.phase) return at.start;
    return v.instruction ? at.instructions[*v.phase][*v.instruction] : at.phases[*v.phase];
  }

  std::string header(std::string_view word) {
    if (!lex_.accept_word(word)) lex_.unexpected(fmt::format("'{}'", word));
    return lex_.string("a string in quotes");
  }

  void header() {
    PlanOrigin& origin = plan_.origin;
    origin.version = header("version");
    origin.source = header("source");
    origin.passes = header("passes");
    origin.cpu = header("cpu");
    origin.numerics = header("numerics");
    if (!lex_.accept_word("threads")) lex_.unexpected("'threads'");
    origin.threads = parts_.small_number("a number of threads", 1);
    header_ = lex_.position();
    if (!lex_.accept_word("loop")) lex_.unexpected("'loop'");
    plan_.shape.depth = parts_.field("depth", 0);
    plan_.shape.turns = parts_.field("turns", 1);
  }

  /// The text of a program, whose lines begin with `|`. It is parsed in a copy in which all else is
  /// blank, so that places in messages are right.
  Program program(std::string_view when) {
    if (!lex_.accept_word("program")) lex_.unexpected("'program'");
    if (!lex_.accept_word(when)) lex_.unexpected(fmt::format("'{}'", when));
    changing_ = when == "after" && !changing_ && lex_.accept_word("changing");
    if (!lex_.accept_word("passes")) lex_.unexpected("'passes'");
    if (lex_.peek() != '|') {
      if (when == "before" && lex_.peek_word() == "program") return {};  // it is not known
      lex_.unexpected("a program, each line of it behind a '|'");
    }
    std::string_view text = lex_.text();
    std::string copy;
    std::size_t copied = 0;
    while (lex_.peek() == '|') {
      std::size_t bar = lex_.position(), end = std::min(text.find('\n', bar), text.size());
      for (std::size_t i = copied; i <= bar; ++i) copy += text[i] == '\n' ? '\n' : ' ';
      copy += text.substr(bar + 1, end - bar - 1);
      copied = end;
      lex_.rewind(end);
    }
    return parse(copy, all_ops_, find_loop_violation);
  }

  void graph(std::size_t number) {
    const Graph& body = plan_.program.graphs[number];
    Places& places = places_[number];
    places.start = lex_.position();
    if (!lex_.accept_word("graph")) lex_.unexpected(fmt::format("'graph {}'", body.name()));
    if (!lex_.accept_word(body.name()))
      lex_.unexpected(fmt::format("'{}', as in the program after passes", body.name()));
    PlanGraph& g = plan_.graphs.emplace_back();
    parts_.enter(body, g);
    g.arena_bytes = parts_.wide_field("arena");
    if (lex_.peek_word() == "carried") g.carried_transfers = parts_.count_field("carried");
    lex_.expect('{', "before the homes and phases");
    while (lex_.peek_word() == "home") {
      places.homes.push_back(lex_.position());
      g.homes.push_back(parts_.home());
    }
    while (!lex_.accept('}')) {
      places.phases.push_back(lex_.position());
      if (!lex_.accept_word("phase"))
        lex_.unexpected(g.phases.empty() ? "'home', 'phase' or '}'" : "'phase' or '}'");
      phase(g, places.instructions.emplace_back());
    }
  }

  void phase(PlanGraph& g, std::vector<std::size_t>& places) {
    PlanPhase& phase = g.phases.emplace_back();
    std::size_t at = lex_.position();
    std::string name = lex_.string("the name of a phase, in quotes");
    phase.window.lo = parts_.field("lo", 0);
    phase.window.hi = parts_.field("hi", 0);
    phase.window.turn = parts_.field("turn", 0);
    if (std::string wanted = window_name(plan_.shape, phase.window); name != wanted)
      lex_.fail_at(
          at, fmt::format("found {}, wanted {} for this window", quoted(name), quoted(wanted)));
    lex_.expect('{', "before the instructions");
    phase.transfers = g.carried_transfers;
    while (!lex_.accept('}')) {
      places.push_back(lex_.position());
      phase.instructions.push_back(parts_.instruction(phase));
    }
    phase.instructions.shrink_to_fit();
    phase.locations.shrink_to_fit();
  }

  Lexer lex_;
  std::span<const Op* const> all_ops_;
  Plan plan_;
  InstructionParser parts_;
  std::size_t header_ = 0;
  bool changing_ = false;       // the program at hand is the one behind passes that change bits
  std::vector<Places> places_;  // by graph
};

}  // namespace

Plan parse_plan(std::string_view text, std::span<const Op* const> ops) {
  return PlanParser(text, ops).plan();
}

}  // namespace hocket

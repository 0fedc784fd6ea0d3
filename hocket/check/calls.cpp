#include "hocket/check/calls.h"

#include <algorithm>

#include "hocket/base/error.h"

namespace hocket::check {
namespace {

const Collective& facts_of(const Instruction& i) { return *i.op->collective; }

/// What both ends of a transfer have in common: what is sent, or received where nothing is.
std::span<const Location> members(const Plan& plan, Place p) {
  const PlanPhase& phase = plan.graphs[p.graph].phases[p.phase];
  const Instruction& i = at(plan, p);
  return facts_of(i).kind == CollectiveKind::recv ? phase.results(i) : phase.operands(i);
}

std::string list_of(const Plan& plan, std::span<const Location> members, bool by_rows) {
  std::string text;
  for (const Location& l : members) {
    const Type& type = plan.types[l.type];
    std::int64_t count = type.elements();
    if (by_rows) {  // ranks may have different numbers of rows
      count = 1;
      for (std::size_t d = 1; d < type.shape.size(); ++d) count *= type.shape[d];
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(type.dtype));
  }
  return text;
}

/// Everything that must agree, as one line.
std::string call_text(const Plan& plan, Place p) {
  const Instruction& i = at(plan, p);
  const Collective& facts = facts_of(i);
  std::string text = facts.point_to_point ? "a transfer" : std::string(facts.name);
  if (facts.reduces)
    text += fmt::format(" by {}", attribute<std::string>(*i.op, i.attributes, "reduce"));
  if (facts.rooted())
    text += fmt::format(" at {}", attribute<std::int64_t>(*i.op, i.attributes, facts.peer));
  std::string list = list_of(plan, members(plan, p), facts.kind == CollectiveKind::all_to_all);
  if (!list.empty()) text += " of " + list;
  return text +
         fmt::format(" on channel {}", attribute<std::int64_t>(*i.op, i.attributes, "channel"));
}

const Ints& rows(const Instruction& i, std::string_view which) {
  return attribute<Ints>(*i.op, i.attributes, which);
}

/// Rows of the first member for the rank with this index; equal shares where none are listed.
std::int64_t rows_for(const Plan& plan, Place p, std::string_view which, std::size_t index,
                      std::size_t ranks) {
  const Instruction& i = at(plan, p);
  if (const Ints& list = rows(i, which); !list.empty()) return list[index];
  const PlanPhase& phase = plan.graphs[p.graph].phases[p.phase];
  const Type& type = plan.types[phase.operands(i)[0].type];
  return type.shape[0] / static_cast<std::int64_t>(ranks);
}

}  // namespace

Difference difference(const Plan& plan, Place a, Place b) {
  if (a == b) return std::nullopt;
  std::string first = call_text(plan, a), second = call_text(plan, b);
  const Collective &x = facts_of(at(plan, a)), &y = facts_of(at(plan, b));
  bool pair = x.point_to_point && y.point_to_point && x.kind != y.kind;
  if (first == second && (pair || x.kind == y.kind)) return std::nullopt;
  return std::pair{std::move(first), std::move(second)};
}

std::optional<std::pair<std::size_t, std::size_t>> wrong_rows(const Plan& plan,
                                                              std::span<const Place> calls) {
  auto listed = [&](Place p) {
    const Instruction& i = at(plan, p);
    return facts_of(i).kind == CollectiveKind::all_to_all && i.operands > 0 &&
           !(rows(i, "send").empty() && rows(i, "receive").empty());
  };
  if (std::ranges::none_of(calls, listed)) return std::nullopt;
  for (std::size_t i = 0; i < calls.size(); ++i)
    for (std::size_t j = 0; j < calls.size(); ++j)
      if (rows_for(plan, calls[i], "send", j, calls.size()) !=
          rows_for(plan, calls[j], "receive", i, calls.size()))
        return std::pair{i, j};
  return std::nullopt;
}

}  // namespace hocket::check

// The rules without which a plan cannot be printed or read again.

#include <algorithm>
#include <numeric>
#include <set>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/names.h"
#include "hocket/plan/verify_parts.h"

namespace hocket {
namespace {

PlanFinding attributes_fit(const Instruction& i) {
  if (i.op == nullptr) return "it has no op";
  auto values = i.attributes.values();
  bool good = values.size() == i.op->attributes.size();
  for (std::size_t k = 0; k < values.size() && good; ++k)
    good = fits(values[k], i.op->attributes[k].kind);
  if (!good) return fmt::format("its attributes are not those of {}", i.op->name);
  auto sizes = i.attributes.list_sizes();
  std::uint64_t total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  if (i.op->writes_lists() ? sizes.size() != i.op->operands.size() || total != i.operands
                           : !sizes.empty())
    return fmt::format("the operand lists of {} do not add up to {}", i.op->name,
                       count_of(i.operands, "operand"));
  return std::nullopt;
}

class FormCheck {
 public:
  explicit FormCheck(const Plan& plan) : plan_(plan) {}

  std::optional<PlanViolation> check() {
    if (plan_.graphs.size() != plan_.program.graphs.size())
      return PlanViolation{
          "form", fmt::format("{} for a program of {}", count_of(std::ssize(plan_.graphs), "graph"),
                              plan_.program.graphs.size())};
    if (plan_.backends.empty()) return PlanViolation{"form", "no backends, wanted the reference"};
    for (std::size_t g = 0; g < plan_.graphs.size(); ++g)
      if (auto v = graph(g)) return v;
    return std::nullopt;
  }

 private:
  std::optional<PlanViolation> graph(std::size_t g) {
    graph_ = &plan_.graphs[g];
    inputs_ = plan_.program.graphs[g].inputs().size();
    outputs_ = plan_.program.graphs[g].outputs().size();
    auto violation = [&](std::string message) {
      return PlanViolation{"form", std::move(message), g};
    };
    for (std::size_t h = 0; h < graph_->homes.size(); ++h) {
      const Home& home = graph_->homes[h];
      if (home.kind == HomeKind::state && home.input >= inputs_)
        return violation(outside("home", home.input, inputs_, "input"));
      if (auto finding = location(home.location)) return violation(std::move(*finding));
    }
    for (std::size_t p = 0; p < graph_->phases.size(); ++p) {
      phase_ = &graph_->phases[p];
      for (const Location& l : phase_->locations)
        if (auto finding = location(l)) return violation(std::move(*finding));
      for (std::size_t n = 0; n < phase_->instructions.size(); ++n)
        if (auto finding = instruction(phase_->instructions[n])) {
          PlanViolation v = violation(std::move(*finding));
          v.phase = p;
          v.instruction = n;
          return v;
        }
    }
    return std::nullopt;
  }

  static std::string outside(std::string_view what, std::size_t index, std::size_t count,
                             std::string_view noun) {
    return fmt::format("{} {} of {}", what, index,
                       count_of(static_cast<std::int64_t>(count), noun));
  }

  PlanFinding location(const Location& l) const {
    if (l.type >= plan_.types.size()) return outside("type", l.type, plan_.types.size(), "type");
    if (l.layout >= plan_.layouts.size())
      return outside("layout", l.layout, plan_.layouts.size(), "layout");
    return std::nullopt;
  }

  PlanFinding instruction(const Instruction& i) const {
    std::uint64_t end = std::uint64_t{i.locations} + i.operands + i.results;
    if (end > phase_->locations.size())
      return outside("location", end - 1, phase_->locations.size(), "location");
    if (i.label >= graph_->labels.size())
      return outside("label", i.label, graph_->labels.size(), "label");
    if (i.kind == InstructionKind::start ? i.lane == 0 || i.lane > graph_->groups.size()
                                         : i.lane != 0)
      return fmt::format("lane {}, wanted {}", i.lane,
                         i.kind == InstructionKind::start ? "that of its group" : "0");
    auto counts = [&](std::uint32_t operands, std::uint32_t results) -> PlanFinding {
      if (i.operands == operands && i.results == results) return std::nullopt;
      return fmt::format("found {} and {}, wanted {} and {}", count_of(i.operands, "operand"),
                         count_of(i.results, "result"), operands, results);
    };
    switch (i.kind) {
      case InstructionKind::kernel:
        if (i.backend >= plan_.backends.size())
          return outside("backend", i.backend, plan_.backends.size(), "backend");
        return attributes_fit(i);
      case InstructionKind::copy:
        if (i.index >= plan_.reasons.size())
          return outside("reason", i.index, plan_.reasons.size(), "reason");
        return counts(1, 1);
      case InstructionKind::start:
        if (i.index >= phase_->transfers)
          return outside("transfer", i.index, phase_->transfers, "transfer");
        return attributes_fit(i);
      case InstructionKind::wait:
        if (i.index >= phase_->transfers)
          return outside("transfer", i.index, phase_->transfers, "transfer");
        return counts(0, i.results);
      case InstructionKind::input:
        if (i.index >= inputs_) return outside("input", i.index, inputs_, "input");
        return counts(0, 1);
      case InstructionKind::output:
        if (i.index >= outputs_) return outside("output", i.index, outputs_, "output");
        return counts(1, 0);
    }
    return "it is of no kind";
  }

  const Plan& plan_;
  const PlanGraph* graph_ = nullptr;
  const PlanPhase* phase_ = nullptr;
  std::size_t inputs_ = 0, outputs_ = 0;
};

}  // namespace

std::optional<PlanViolation> find_form_violation(const Plan& plan) {
  return FormCheck(plan).check();
}

std::optional<PlanViolation> find_in_words(const Plan& plan) {
  std::set<std::string_view> seen;
  for (const std::string& name : plan.backends) {
    if (!is_identifier(name))
      return PlanViolation{"words", fmt::format("backend {}, wanted a word", quoted(name))};
    if (!seen.insert(name).second)
      return PlanViolation{"words", fmt::format("backend {} twice", name)};
  }
  if (plan.backends.front() != "reference")
    return PlanViolation{
        "words", fmt::format("the first backend is {}, wanted reference", plan.backends.front())};
  for (std::size_t g = 0; g < plan.graphs.size(); ++g)
    for (const TraceLabel& label : plan.graphs[g].labels) {
      std::string_view name = label.name;
      if (!name.empty() && (name.front() != '%' || !is_identifier(name.substr(1))))
        return PlanViolation{"words",
                             fmt::format("label {}, wanted the name of a value", quoted(name)), g};
      if (!is_identifier(label.op))
        return PlanViolation{"words", fmt::format("label of {}, wanted an op", quoted(label.op)),
                             g};
    }
  return std::nullopt;
}

}  // namespace hocket

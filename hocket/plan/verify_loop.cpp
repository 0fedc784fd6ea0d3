// The rules about what a plan and its program have in common: phases, inputs, outputs, homes.

#include <algorithm>
#include <map>
#include <set>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/iter/lags.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_parts.h"

namespace hocket {
namespace {

std::string shown(Window w) { return fmt::format("lo={} hi={} turn={}", w.lo, w.hi, w.turn); }

PlanFinding shape_of_program(const Plan& plan) {
  try {
    if (LoopShape wanted = loop_shape(plan.program); plan.shape != wanted)
      return fmt::format("found depth={} turns={}, but the program has depth={} turns={}",
                         plan.shape.depth, plan.shape.turns, wanted.depth, wanted.turns);
  } catch (const Error& e) {
    return e.what();
  }
  return std::nullopt;
}

/// Types of the constants that a graph names, by name.
using ConstantTypes = std::map<std::string_view, std::vector<const Type*>>;

void add_constants(const Graph& g, ConstantTypes& types) {
  for (NodeId n : g.nodes()) {
    if (const std::string* ref = constant_ref(g[n])) types[*ref].push_back(&g.type(g.result(n)));
    if (g[n].region) add_constants(*g[n].region, types);
  }
}

class HomesCheck {
 public:
  explicit HomesCheck(const PlanScope& s) : s_(s), inputs_(s.body.inputs()) {
    for (const Input& in : inputs_)
      slots_.emplace_back(is_forwarded(s.body, in.value) ? in.slots : in.state ? 1 : 0);
    add_constants(s.body, constants_);
  }

  std::optional<PlanViolation> check() {
    const std::vector<Home>& homes = s_.graph.homes;
    auto violation = [&](std::size_t h, std::string_view rule, std::string message) {
      return PlanViolation{rule, std::move(message), s_.number, h};
    };
    for (std::size_t h = 0; h < homes.size(); ++h) {
      if (auto finding = find_in_location(s_.plan, s_.graph, homes[h].location, true))
        return violation(h, finding->rule, std::move(finding->message));
      PlanFinding finding =
          homes[h].kind == HomeKind::constant ? constant(homes[h]) : state(homes[h]);
      if (finding) return violation(h, "homes", std::move(*finding));
      const Layout& layout = s_.plan.layouts[homes[h].location.layout];
      if (!layout.is_dense())
        return violation(h, "layouts",
                         fmt::format("layout {}, wanted a dense one", to_text(layout)));
    }
    if (auto v = overlap()) return v;
    if (PlanFinding finding = missing())
      return PlanViolation{"homes", std::move(*finding), s_.number};
    return std::nullopt;
  }

 private:
  PlanFinding constant(const Home& home) const {
    auto found = constants_.find(home.constant);
    if (found == constants_.end()) return "the program has no constant of this name";
    const Type& type = s_.plan.types[home.location.type];
    for (const Type* wanted : found->second)
      if (type == *wanted) return std::nullopt;
    return fmt::format("found {}, but the constant is {}", to_text(type),
                       to_text(*found->second.front()));
  }

  PlanFinding state(const Home& home) {
    int slots = slots_[home.input];
    if (slots == 0) return "a fed input has no home";
    if (home.slot >= static_cast<std::uint32_t>(slots))
      return fmt::format("slot {} of {}", home.slot, slots);
    const Type& type = s_.plan.types[home.location.type];
    Type wanted = s_.body.type(inputs_[home.input].value).ready();
    if (type != wanted)
      return fmt::format("found {}, but the state is {}", to_text(type), to_text(wanted));
    if (!seen_.emplace(home.input, home.slot).second) return "it has a home already";
    return std::nullopt;
  }

  std::optional<PlanViolation> overlap() const {
    std::vector<std::pair<ByteRange, std::size_t>> ranges;
    for (std::size_t h = 0; h < s_.graph.homes.size(); ++h)
      if (ByteRange range = bytes_of(s_.plan, s_.graph.homes[h].location); !range.empty())
        ranges.emplace_back(range, h);
    std::ranges::sort(ranges, {}, [](const auto& r) { return r.first.begin; });
    for (std::size_t k = 1; k < ranges.size(); ++k)
      if (ranges[k - 1].first.overlaps(ranges[k].first))
        return PlanViolation{
            "homes",
            fmt::format("overlaps the home of {}",
                        home_text(s_.plan, s_.number, s_.graph.homes[ranges[k - 1].second])),
            s_.number, ranges[k].second};
    return std::nullopt;
  }

  /// A state in flight has the bytes of its transfer, so that it needs no home.
  PlanFinding missing() const {
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      if (s_.body.type(inputs_[i].value).pending) continue;
      for (std::uint32_t slot = 0; slot < static_cast<std::uint32_t>(slots_[i]); ++slot)
        if (!seen_.contains({i, slot}))
          return fmt::format("no home for slot {} of %{}", slot, s_.body.name(inputs_[i].value));
    }
    return std::nullopt;
  }

  const PlanScope& s_;
  std::span<const Input> inputs_;
  std::vector<int> slots_;  // by input; 0 for one that is fed
  ConstantTypes constants_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;  // input and slot
};

}  // namespace

std::optional<PlanViolation> find_in_loop(const Plan& plan) {
  if (PlanFinding finding = shape_of_program(plan)) return PlanViolation{"loop", *finding};
  std::vector<Window> needed = all_windows(plan.shape);
  for (std::size_t g = 0; g < plan.graphs.size(); ++g) {
    std::set<Window> missing(needed.begin(), needed.end());
    const std::vector<PlanPhase>& phases = plan.graphs[g].phases;
    for (std::size_t p = 0; p < phases.size(); ++p) {
      Window w = phases[p].window;
      auto violation = [&](std::string message) {
        return PlanViolation{"loop", std::move(message), g, {}, p};
      };
      if (missing.erase(w) == 0)
        return violation(fmt::format("{} is {}", shown(w),
                                     std::ranges::find(needed, w) == needed.end()
                                         ? "in no run"
                                         : "the window of another phase, too"));
      const std::vector<PlanPhase>& first = plan.graphs[0].phases;
      if (p < first.size() && first[p].window != w)
        return violation(fmt::format("graph {} has {} at this place", plan.program.graphs[0].name(),
                                     shown(first[p].window)));
    }
    if (!missing.empty())
      return PlanViolation{
          "loop",
          fmt::format("no phase \"{}\" with {}", window_name(plan.shape, *missing.begin()),
                      shown(*missing.begin())),
          g};
  }
  return std::nullopt;
}

std::optional<PlanViolation> find_in_interface(const PlanScope& s) {
  std::vector<int> lags = output_lags(s.body);
  std::vector<Output> outputs = s.body.outputs();
  for (std::size_t p = 0; p < s.graph.phases.size(); ++p) {
    const PlanPhase& phase = s.graph.phases[p];
    Window w = phase.window;
    std::vector<bool> fed(s.body.inputs().size()), given(outputs.size());
    auto due = [&](std::size_t o) { return w.lo <= lags[o] && lags[o] <= w.hi; };
    for (std::size_t n = 0; n < phase.instructions.size(); ++n) {
      const Instruction& i = phase.instructions[n];
      auto violation = [&](std::string_view rule, std::string message) {
        return PlanViolation{rule, std::move(message), s.number, {}, p, n};
      };
      auto check_type = [&](std::string_view rule, const Location& l,
                            Value v) -> std::optional<PlanViolation> {
        const Type &found = s.plan.types[l.type], &wanted = s.body.type(v);
        if (found == wanted) return std::nullopt;
        return violation(rule,
                         fmt::format("found {}, but it is {}", to_text(found), to_text(wanted)));
      };
      if (i.kind == InstructionKind::input) {
        const Input& in = s.body.inputs()[i.index];
        if (in.state) return violation("inputs", "a state is not fed");
        if (w.lo > 0) return violation("inputs", "nothing is fed in a drain");
        if (fed[i.index]) return violation("inputs", "it is fed twice");
        fed[i.index] = true;
        if (auto v = check_type("inputs", phase.results(i)[0], in.value)) return v;
      } else if (i.kind == InstructionKind::output) {
        if (!due(i.index))
          return violation("outputs",
                           fmt::format("it lags by {}, which is not in the window", lags[i.index]));
        if (given[i.index]) return violation("outputs", "it is handed out twice");
        given[i.index] = true;
        if (auto v = check_type("outputs", phase.operands(i)[0], outputs[i.index].value)) return v;
      }
    }
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (due(o) && !given[o])
        return PlanViolation{
            "outputs",
            fmt::format("output {} is not handed out",
                        outputs[o].name.empty() ? fmt::format("{}", o) : quoted(outputs[o].name)),
            s.number,
            {},
            p};
  }
  return std::nullopt;
}

std::optional<PlanViolation> find_in_homes(const PlanScope& s) { return HomesCheck(s).check(); }

}  // namespace hocket

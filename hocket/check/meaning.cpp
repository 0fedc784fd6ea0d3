// How a few iterations stand for runs of any length. Let the loop have depth d and turns that
// repeat after p iterations. The state S(0) and all batches are symbols, so what holds for them
// holds for all values:
//
//     source          S(0) -> S(1) -> ... -> S(d+p)
//     plan            d + p kernel iterations from S(0), and a drain after each: as the source
//     plan again      d kernel iterations behind the drain after p: holds what the first run holds
//                     after d + p
//
// By the last line a run of n > d + p iterations from S(0) goes on like one of n - p from S(p).

#include "hocket/check/meaning.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "hocket/base/error.h"
#include "hocket/check/plan_run.h"
#include "hocket/iter/lags.h"
#include "hocket/plan/plan_text.h"

namespace hocket {
namespace check {
namespace {

class Comparison {
 public:
  explicit Comparison(const Plan& plan)
      : plan_(plan),
        evaluator_(plan),
        exchange_(evaluator_, plan),
        makers_(plan, evaluator_.values.terms),
        source_(plan.exact(), evaluator_, exchange_, makers_) {}

  MeaningReport run() {
    if (std::string problem = other_ranks(); !problem.empty())
      return {Verdict::different, problem, {}};
    inputs_ = source_inputs(plan_);
    if (std::string problem = other_interface(); !problem.empty())
      return {Verdict::different, problem, {}};
    if (!evaluator_.two_backends().empty())
      return {Verdict::different, evaluator_.two_backends(), {}};
    begin();
    follow_source();
    follow_plan();
    if (!report_.message.empty()) return std::move(report_);
    report_.verdict = Verdict::same;
    return std::move(report_);
  }

 private:
  Values& values() { return evaluator_.values; }

  /// What the two programs must have in common to be compared at all.
  std::string other_ranks() const {
    const Program &a = plan_.exact(), &b = plan_.program;
    if (!(*a.world == *b.world)) return "the program before passes is for other ranks";
    if (a.graphs.size() != b.graphs.size())
      return "the program before passes has another number of graphs";
    for (std::size_t g = 0; g < a.graphs.size(); ++g)
      if (ranks_of(a.graphs[g]) != ranks_of(b.graphs[g]))
        return fmt::format("graph {} is for other ranks than before passes", b.graphs[g].name());
    return "";
  }

  /// A shard has a piece of the whole, which says what the whole is.
  bool other_type(const Graph& before, const Input& was, const Graph& now, const Input& in) const {
    const Type &type = now.type(in.value), &whole = before.type(was.value);
    if (!in.shard || was.shard) return type != whole;
    auto size = plan_.program.world->group_size(in.shard->group);
    return in.shard->type != whole || type.dtype != whole.dtype || !size ||
           type.elements() != (whole.elements() + *size - 1) / *size;
  }

  std::string other_interface() const {
    const Program &a = plan_.exact(), &b = plan_.program;
    for (std::size_t g = 0; g < a.graphs.size(); ++g) {
      std::string problem = other_outputs(a.graphs[g], b.graphs[g]);
      if (problem.empty()) problem = other_inputs(a.graphs[g], b.graphs[g], inputs_[g]);
      if (!problem.empty()) return fmt::format("graph {}: {}", b.graphs[g].name(), problem);
    }
    for (const auto& [name, value] : plan_.program.constants)
      if (auto known = a.constants.find(name);
          known != a.constants.end() && value && known->second && !same_bits(value, known->second))
        return fmt::format("constant {} has another value than before passes", name);
    return "";
  }

  static std::string other_outputs(const Graph& before, const Graph& now) {
    std::vector<Output> x = before.outputs(), y = now.outputs();
    if (x.size() != y.size()) return "another number of outputs than before passes";
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i].name != y[i].name || !(before.type(x[i].value) == now.type(y[i].value)))
        return fmt::format("output {} is {}{}, but {}{} before passes", i,
                           to_text(now.type(y[i].value)), y[i].name.empty() ? "" : " " + y[i].name,
                           to_text(before.type(x[i].value)),
                           x[i].name.empty() ? "" : " " + x[i].name);
    return "";
  }

  std::string other_inputs(const Graph& before, const Graph& now,
                           const std::vector<std::size_t>& source) const {
    std::vector<char> found(before.inputs().size());
    for (std::size_t i = 0; i < now.inputs().size(); ++i) {
      const Input& in = now.inputs()[i];
      std::string name = now.name(in.value);
      if (source[i] == no_input) {
        if (!is_forwarded(now, in.value))
          return fmt::format("%{} is no input of the program before passes", name);
        continue;
      }
      found[source[i]] = 1;
      const Input& was = before.inputs()[source[i]];
      if (in.state != was.state || is_forwarded(now, in.value) != is_forwarded(before, was.value))
        return fmt::format("%{} is carried in another way than before passes", name);
      if (was.shard && in.shard != was.shard)
        return fmt::format("%{} is divided in another way than before passes", name);
      if (other_type(before, was, now, in))
        return fmt::format("%{} is {}, but {} before passes", name,
                           to_text(in.shard ? in.shard->type : now.type(in.value)),
                           to_text(before.type(was.value)));
    }
    for (std::size_t i = 0; i < before.inputs().size(); ++i)
      if (const Input& in = before.inputs()[i];
          found[i] == 0 && in.state && !is_forwarded(before, in.value))
        return fmt::format("state %{} is gone", before.name(in.value));
    return "";
  }

  /// For each input of the source: the groups in which all ranks are assumed to start with the same
  /// value of this state.
  std::vector<std::set<std::string>> equal_groups(std::size_t graph) const {
    const Graph &now = plan_.program.graphs[graph], &before = plan_.exact().graphs[graph];
    std::vector<std::set<std::string>> groups(before.inputs().size());
    for (std::size_t i = 0; i < now.inputs().size(); ++i) {
      std::size_t of = inputs_[graph][i];
      if (of == no_input) continue;
      const Input& in = now.inputs()[i];
      groups[of].insert(in.equal.begin(), in.equal.end());
      if (in.shard && !before.inputs()[of].shard) groups[of].insert(in.shard->group);
    }
    return groups;
  }

  Partition equal_on(std::size_t graph, const std::set<std::string>& groups) {
    std::size_t ranks = evaluator_.ranks_of(graph).size();
    std::vector<std::uint32_t> label(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) label[r] = r;
    for (const std::string& name : groups) {
      const Sets sets = values().groups[evaluator_.group(graph, name)];
      if (sets.members.empty()) continue;  // some of its ranks run another graph
      for (std::size_t r = 0; r < ranks; ++r) {
        std::uint32_t from = label[r], to = label[sets.member(r, 0)];
        std::ranges::replace(label, std::max(from, to), std::min(from, to));
      }
    }
    return values().ranks.partition(label);
  }

  void begin() {
    States all;
    for (std::size_t g = 0; g < plan_.exact().graphs.size(); ++g) {
      const Graph& graph = plan_.exact().graphs[g];
      auto& row = all.emplace_back(graph.inputs().size());
      std::vector<std::set<std::string>> groups = equal_groups(g);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const Input& in = graph.inputs()[i];
        if (!in.state || is_forwarded(graph, in.value)) continue;
        for (const std::string& name : groups[i])
          if (plan_.exact().world->ranks() > 1)
            report_.assumptions.push_back(fmt::format(
                "state %{} starts equal on the ranks of group \"{}\"", graph.name(in.value), name));
        row[i] = evaluator_.state(g, i, graph.type(in.value), equal_on(g, groups[i]));
      }
    }
    states_.push_back(std::move(all));
  }

  /// S(0) to S(d+p), and the outputs between them.
  void follow_source() {
    int last = plan_.shape.depth + plan_.shape.turns;
    if (std::ranges::none_of(plan_.exact().graphs, is_rotated)) {
      for (int k = 0; k < last; ++k) {
        SourceRun::Result next = source_.run(states_.back(), k, 1);
        outputs_.push_back(std::move(next.outputs[0]));
        states_.push_back(std::move(next.state));
      }
      return;
    }
    States first = states_[0];
    for (int k = 1; k <= last; ++k) {
      SourceRun::Result run = source_.run(first, 0, k);
      states_.push_back(std::move(run.state));
      outputs_ = std::move(run.outputs);
    }
  }

  /// The group of an input that passes have sharded, and the source's input.
  struct Shard {
    std::uint32_t group;
    std::size_t input;
  };
  std::optional<Shard> shard_of(std::size_t graph, std::size_t input) {
    const Input& in = plan_.program.graphs[graph].inputs()[input];
    std::size_t of = inputs_[graph][input];
    if (!in.shard || plan_.exact().graphs[graph].inputs()[of].shard) return std::nullopt;
    return Shard{evaluator_.group(graph, in.shard->group), of};
  }

  /// What homes hold of a state of the source. What pads a shard must not matter.
  Elements held_of(std::size_t graph, std::size_t input, const States& source) {
    const Elements& whole = source[graph][inputs_[graph][input]];
    std::optional<Shard> shard = shard_of(graph, input);
    if (!shard || values().groups[shard->group].members.empty()) return whole;
    const Graph& now = plan_.program.graphs[graph];
    std::int64_t count = now.type(now.inputs()[input].value).elements();
    std::int64_t all = count * static_cast<std::int64_t>(values().groups[shard->group].size);
    Elements padding = evaluator_.unknown(graph, input, shard->group, all - elements_in(whole));
    return evaluator_.piece_of(shard->group, whole, padding, count);
  }

  States held(const States& source) {
    States all;
    for (std::size_t g = 0; g < plan_.program.graphs.size(); ++g) {
      const Graph& graph = plan_.program.graphs[g];
      auto& row = all.emplace_back(graph.inputs().size());
      for (std::size_t i = 0; i < row.size(); ++i)
        if (graph.inputs()[i].state && !is_forwarded(graph, graph.inputs()[i].value))
          row[i] = held_of(g, i, source);
    }
    return all;
  }

  bool failed() const { return !report_.message.empty(); }

  void follow_plan() {
    LoopShape shape = plan_.shape;
    for (const Graph& g : plan_.program.graphs)
      lags_.push_back(is_rotated(g) ? output_lags(g) : std::vector<int>(g.outputs().size()));
    PlanRun run(plan_, inputs_, evaluator_, exchange_, makers_);
    run.load(held(states_[0]));
    std::optional<PlanRun> again;
    for (int t = 0; t < shape.depth + shape.turns && !failed(); ++t) {
      step(run, step_window(shape, t), t, t);
      PlanRun drained = run;
      for (int j = 1; j <= shape.depth && !failed(); ++j)
        if (Window w = drain_window(shape, t + 1, j); w.lo <= w.hi) step(drained, w, t + j, t + j);
      if (!failed()) compare_states(drained, t + 1);
      if (t + 1 == shape.turns) again = std::move(drained);
    }
    compares_outputs_ = false;  // those of the first run were
    for (int t = 0; t < shape.depth && !failed(); ++t)
      step(*again, step_window(shape, t), t, shape.turns + t);
    if (failed()) return;
    if (auto other = run.find_other_content(*again)) differ(*other, {}, {});
  }

  void step(PlanRun& run, Window window, int t, int batch) {
    auto problem = run.step(window, batch, runs_++,
                            [&](std::size_t g, std::size_t output, const Elements& value) {
                              if (compares_outputs_) compare_output(g, output, t, value);
                            });
    if (problem && !failed()) differ(*problem, {}, {});
  }

  bool equal(const Elements& a, const Elements& b) {
    return a == b || values().direct(a) == values().direct(b);
  }

  void compare_output(std::size_t g, std::size_t output, int t, const Elements& value) {
    auto k = static_cast<std::size_t>(t - lags_[g][output]);
    if (k >= outputs_.size() || failed()) return;
    const Elements& wanted = outputs_[k][g][output];
    if (equal(value, wanted)) return;
    std::string name = plan_.exact().graphs[g].outputs()[output].name;
    differ(fmt::format("{}: output {} of iteration {}", graph_text(plan_, g),
                       name.empty() ? fmt::format("{}", output) : name, k),
           value, wanted);
  }

  void compare_states(const PlanRun& run, int steps) {
    const States& source = states_[static_cast<std::size_t>(steps)];
    for (std::size_t g = 0; g < plan_.graphs.size() && !failed(); ++g) {
      const Graph& body = plan_.program.graphs[g];
      for (const Home& home : plan_.graphs[g].homes) {
        if (home.kind == HomeKind::constant) {
          if (run.in_home(g, home) !=
              evaluator_.constant(home.constant, plan_.types[home.location.type]))
            return differ(
                fmt::format("{}: constant {} is overwritten", graph_text(plan_, g), home.constant),
                {}, {});
          continue;
        }
        if (is_forwarded(body, body.inputs()[home.input].value)) continue;
        std::string what =
            fmt::format("{}: state %{} after {} iteration{}", graph_text(plan_, g),
                        body.name(body.inputs()[home.input].value), steps, steps == 1 ? "" : "s");
        std::optional<Elements> found = run.in_home(g, home);
        if (!found) return differ(what + " is not in its home", {}, {});
        const Elements& wanted = source[g][inputs_[g][home.input]];
        if (std::optional<Shard> shard = shard_of(g, home.input)) {
          if (values().groups[shard->group].members.empty() ||
              !values().equal_in(shard->group, wanted))
            return differ(what + " differs between ranks that share it", {}, {});
          found = evaluator_.whole_of(shard->group, *found, elements_in(wanted));
        }
        if (!equal(*found, wanted)) return differ(what, *found, wanted);
      }
    }
  }

  void differ(const std::string& what, const Elements& found, const Elements& wanted) {
    bool doubtful = values().facts_of(found).doubtful || values().facts_of(wanted).doubtful;
    report_.message = what;
    if (!found.empty() && !wanted.empty()) {
      auto [a, b] = first_difference(found, wanted);
      doubtful |= values().is_odd_part(a) || values().is_odd_part(b);
      report_.message += fmt::format(": found {}, wanted {}", text_of(a), text_of(b));
    }
    report_.verdict = doubtful ? Verdict::undecided : Verdict::different;
  }

  std::string text_of(const Piece& p) {
    TermKind kind = values().terms.kind(p.term);
    if (kind == TermKind::constant) return evaluator_.source_text(p.term);
    std::string text =
        kind == TermKind::source ? evaluator_.source_text(p.term) : makers_.text_of(p.term);
    if (kind == TermKind::view) return "elements of " + text;
    std::string more = p.offset == 0 ? "" : " on the first rank, other ones elsewhere";
    if (p.repeated) return fmt::format("element {} of {}{}", p.first, text, more);
    if (p.count == 0)  // an operand, where it stands to the first one
      return p.first == 0 && p.offset == 0 ? text
                                           : fmt::format("{} {:+} elements{}", text, p.first, more);
    return fmt::format("elements {} to {} of {}{}", p.first, p.first + p.count - 1, text, more);
  }

  /// Goes down into the first operands that differ, as long as both are computed alike.
  std::pair<Piece, Piece> first_difference(Elements found, Elements wanted) {
    constexpr int deep = 10'000;
    for (int depth = 0;; ++depth) {
      std::size_t i = 0;
      while (i + 1 < std::min(found.size(), wanted.size()) && found[i] == wanted[i]) ++i;
      const Piece a = found[i], b = wanted[i];
      std::vector<Piece> x = values().operands_of(a.term), y = values().operands_of(b.term);
      auto head = [&](TermId t) {
        auto words = values().terms.words(t);
        return words.empty() ? 0 : words[0];
      };
      bool alike = a.term != b.term && values().terms.kind(a.term) == values().terms.kind(b.term) &&
                   head(a.term) == head(b.term) && x.size() == y.size();
      std::size_t k = 0;
      while (alike && k < x.size() && x[k].term == y[k].term) ++k;
      if (!alike || k == x.size() || depth == deep) return {a, b};
      found.clear();
      wanted.clear();
      found.push_back(x[k]);
      wanted.push_back(y[k]);
    }
  }

  const Plan& plan_;
  Evaluator evaluator_;
  Exchange exchange_;
  Makers makers_;
  SourceRun source_;
  SourceInputs inputs_;
  std::vector<States> states_;                 // of the source, by iteration
  std::vector<States> outputs_;                // of the source: by iteration, graph, output
  std::vector<std::vector<int>> lags_;         // by graph and output
  std::int64_t runs_ = std::int64_t{1} << 32;  // kernel iterations of plans, behind the source's
  bool compares_outputs_ = true;
  MeaningReport report_;
};

}  // namespace
}  // namespace check

std::string_view name(Verdict verdict) {
  constexpr std::string_view names[] = {"same", "different", "undecided"};
  return names[static_cast<std::size_t>(verdict)];
}

MeaningReport compare_meaning(const Plan& plan) {
  if (plan.exact().graphs.empty())
    return {Verdict::undecided, "the plan does not say what it was made from", {}};
  try {
    return check::Comparison(plan).run();
  } catch (const Error& e) {
    return {Verdict::undecided, e.what(), {}};
  }
}

}  // namespace hocket

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/print.h"
#include "hocket/plan/plan_label.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"

namespace hocket {
namespace {

class PlanPrinter {
 public:
  explicit PlanPrinter(const Plan& plan) : plan_(plan) {}
  std::string take() { return std::move(out_); }

  void plan() {
    const PlanOrigin& origin = plan_.origin;
    out_ += "plan\n";
    header("version", origin.version);
    header("source", origin.source);
    header("passes", origin.passes);
    header("cpu", origin.cpu);
    header("numerics", origin.numerics);
    out_ += fmt::format("threads {}\nloop depth={} turns={}\n", origin.threads, plan_.shape.depth,
                        plan_.shape.turns);
    program("before", plan_.source);
    if (!plan_.changed.graphs.empty()) program("after changing", plan_.changed);
    program("after", plan_.program);
    for (std::size_t g = 0; g < plan_.graphs.size(); ++g) graph(g);
  }

  void enter(std::size_t graph) {
    graph_ = &plan_.graphs[graph];
    body_ = &plan_.program.graphs[graph];
    output_names_.clear();
    for (Output& o : body_->outputs()) output_names_.push_back(std::move(o.name));
  }

  void home_name(const Home& home) {
    if (home.kind == HomeKind::constant) {
      out_ += "constant ";
      append_quoted(out_, home.constant);
      return;
    }
    input_name(home.input);
    if (home.slot != 0) out_ += fmt::format(" slot={}", home.slot);
  }

  void instruction(const PlanPhase& phase, const Instruction& i) {
    auto operands = phase.operands(i), results = phase.results(i);
    if (i.kind != InstructionKind::output) {
      locations(results);
      if (!results.empty()) out_ += " = ";
    }
    switch (i.kind) {
      case InstructionKind::kernel:
        call(i, operands);
        if (i.backend != 0) out_ += fmt::format(" by {}", plan_.backends[i.backend]);
        if (i.workspace_bytes != 0) {
          out_ += " workspace ";
          append_number(out_, i.workspace_bytes);
          out_ += " @";
          append_number(out_, i.workspace);
        }
        break;
      case InstructionKind::copy:
        out_ += "copy(";
        locations(operands);
        out_ += ") because ";
        append_quoted(out_, plan_.reasons[i.index]);
        break;
      case InstructionKind::start:
        out_ += "start ";
        append_number(out_, std::int64_t{i.index});
        out_ += ' ';
        call(i, operands);
        break;
      case InstructionKind::wait:
        out_ += "wait ";
        append_number(out_, std::int64_t{i.index});
        break;
      case InstructionKind::input:
        out_ += "input ";
        input_name(i.index);
        break;
      case InstructionKind::output:
        out_ += "output ";
        if (output_names_[i.index].empty())
          append_number(out_, std::int64_t{i.index});
        else
          append_output_name(out_, output_names_[i.index]);
        out_ += " = ";
        locations(operands);
        break;
    }
    label(i);
  }

 private:
  void header(std::string_view word, std::string_view text) {
    out_ += word;
    out_ += ' ';
    append_quoted(out_, text);
    out_ += '\n';
  }

  void program(std::string_view when, const Program& program) {
    out_ += fmt::format("\nprogram {} passes\n", when);
    std::string text = to_text(program);
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find('\n', at);
      out_ += end > at ? "| " : "|";
      out_.append(text, at, end + 1 - at);
      at = end + 1;
    }
  }

  void graph(std::size_t number) {
    enter(number);
    out_ += fmt::format("\ngraph {} arena={}", body_->name(), graph_->arena_bytes);
    if (graph_->carried_transfers != 0)
      out_ += fmt::format(" carried={}", graph_->carried_transfers);
    out_ += " {\n";
    for (const Home& home : graph_->homes) {
      out_ += "  home ";
      home_name(home);
      out_ += ": ";
      location(home.location);
      out_ += '\n';
    }
    for (const PlanPhase& phase : graph_->phases) {
      Window w = phase.window;
      out_ += "  phase ";
      append_quoted(out_, window_name(plan_.shape, w));
      out_ += fmt::format(" lo={} hi={} turn={} {{\n", w.lo, w.hi, w.turn);
      for (const Instruction& i : phase.instructions) {
        out_ += "    ";
        instruction(phase, i);
        out_ += '\n';
      }
      out_ += "  }\n";
    }
    out_ += "}\n";
  }

  void input_name(std::uint32_t index) {
    out_ += '%';
    body_->append_name(out_, body_->inputs()[index].value);
  }

  void location(const Location& l) {
    append(out_, plan_.types[l.type]);
    out_ += " @";
    append_number(out_, l.offset);
    const Layout& layout = plan_.layouts[l.layout];
    if (layout.is_row_major()) return;
    out_ += ' ';
    out_ += to_text(layout);
  }

  void locations(std::span<const Location> list) {
    for (const Location& l : list) {
      if (&l != list.data()) out_ += ", ";
      location(l);
    }
  }

  /// Op, operands and attributes.
  void call(const Instruction& i, std::span<const Location> operands) {
    out_ += i.op->name;
    if (i.op->writes_lists()) {
      out_ += '(';
      auto sizes = i.attributes.list_sizes();
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        if (s > 0) out_ += ", ";
        bool listed = i.op->operands[s].count != Count::one;
        if (listed) out_ += '[';
        locations(operands.first(sizes[s]));
        if (listed) out_ += ']';
        operands = operands.subspan(sizes[s]);
      }
      out_ += ')';
    } else if (!operands.empty()) {
      out_ += '(';
      locations(operands);
      out_ += ')';
    }
    append(out_, *i.op, i.attributes);
  }

  void label(const Instruction& i) {
    const TraceLabel& label = graph_->labels[i.label];
    TraceLabel usual = default_label(*body_, i);
    if (label == usual) return;
    out_ += " as";
    if (label.op != usual.op || (label.name.empty() && label.path.empty())) {
      out_ += ' ';
      out_ += label.op;
    }
    if (!label.name.empty()) {
      out_ += ' ';
      out_ += label.name;
    }
    if (!label.path.empty()) {
      out_ += " @";
      append_quoted(out_, label.path);
    }
  }

  const Plan& plan_;
  const PlanGraph* graph_ = nullptr;
  const Graph* body_ = nullptr;
  std::vector<std::string> output_names_;
  std::string out_;
};

}  // namespace

std::string to_text(const Plan& plan) {
  if (auto v = find_form_violation(plan)) internal_fail("{}", describe(plan, *v));
  PlanPrinter printer(plan);
  printer.plan();
  return printer.take();
}

std::string instruction_text(const Plan& plan, std::size_t graph, std::size_t phase,
                             const Instruction& instruction) {
  PlanPrinter printer(plan);
  printer.enter(graph);
  printer.instruction(plan.graphs[graph].phases[phase], instruction);
  return printer.take();
}

std::string home_text(const Plan& plan, std::size_t graph, const Home& home) {
  PlanPrinter printer(plan);
  printer.enter(graph);
  printer.home_name(home);
  return printer.take();
}

}  // namespace hocket

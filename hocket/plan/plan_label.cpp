#include "hocket/plan/plan_label.h"

namespace hocket {

std::string_view word_of(const Instruction& i) {
  switch (i.kind) {
    case InstructionKind::kernel:
    case InstructionKind::start:
      return i.op->name;
    case InstructionKind::copy:
      return "copy";
    case InstructionKind::wait:
      return "wait";
    case InstructionKind::input:
      return "input";
    case InstructionKind::output:
      return "output";
  }
  return {};
}

TraceLabel default_label(const Graph& graph, const Instruction& i) {
  TraceLabel label{"", std::string(word_of(i)), ""};
  if (i.kind == InstructionKind::input)
    label.name = "%" + graph.name(graph.inputs()[i.index].value);
  return label;
}

}  // namespace hocket

#pragma once
// What the text of an instruction says when it says nothing about its node.

#include <string>
#include <string_view>

#include "hocket/ir/graph.h"
#include "hocket/plan/plan.h"

namespace hocket {

/// The op of a kernel or start, else the kind: `wait`.
std::string_view word_of(const Instruction& instruction);

/// The label that is not printed: no name, no path, and the word of the instruction as op; an input
/// has its own name.
TraceLabel default_label(const Graph& graph, const Instruction& instruction);

}  // namespace hocket

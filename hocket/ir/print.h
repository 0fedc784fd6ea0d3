#pragma once
// The printer of the language.

#include <string>

#include "hocket/ir/program.h"

namespace hocket {

/// Canonical text: `parse(to_text(p)) == p`, and `to_text(parse(s)) == s` for canonical s.
std::string to_text(const Program& program);
/// The graph after the header of its world. This is a complete program if the graph is the only
/// one.
std::string to_text(const Graph& graph);
/// One statement without its line break; a region is printed whole.
std::string to_text(const Graph& graph, NodeId node);

}  // namespace hocket

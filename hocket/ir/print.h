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

/// ` {key=value, key=value}` with a space in front, or nothing when all have their defaults.
void append(std::string& out, const Op& op, const Attributes& attributes);
/// A dotted word as it is, any other name in quotes.
void append_output_name(std::string& out, std::string_view name);

}  // namespace hocket

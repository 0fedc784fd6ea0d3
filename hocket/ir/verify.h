#pragma once
// The verifier: rules that every graph must satisfy. A message ends with the name of its rule.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

struct Rule {
  std::string_view name;
  std::string_view doc;
};

/// All rules, for documents and for the check that each rule has a test.
std::span<const Rule> verifier_rules();

struct Violation {
  std::string_view rule;
  NodeId node;  ///< none when no single node is at fault
  std::string message;
};

/// The first broken rule in execution order, checking only `nodes` and the rules about the graph as
/// a whole. O(nodes and their uses), and one walk along names and channels.
std::optional<Violation> find_violation(const Graph& graph, std::span<const NodeId> nodes);
std::optional<Violation> find_violation(const Graph& graph);

/// `%y = matmul: what is wrong [rule]`.
std::string describe(const Graph& graph, const Violation& violation);

/// Throws Error for the first violation.
void verify(const Graph& graph);
void verify(const Program& program);

struct ProgramViolation {
  std::size_t graph;  ///< index of the graph at fault
  NodeId node;        ///< none when no single node is
  std::string message;
};

/// Checks only the rules between graphs, `ranks` and `matching`.
std::optional<ProgramViolation> find_class_violation(const Program& program);

}  // namespace hocket

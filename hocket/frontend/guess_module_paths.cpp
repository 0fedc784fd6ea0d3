#include "hocket/frontend/guess_module_paths.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "hocket/ops/ops.h"

namespace hocket::frontend {
namespace {

using Path = std::optional<std::string_view>;

std::string_view module_of(std::string_view parameter) {
  std::size_t dot = parameter.rfind('.');
  return dot == parameter.npos ? std::string_view() : parameter.substr(0, dot);
}

/// The longest common prefix of whole words.
std::string_view common(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  bool a_ends = n == a.size() || a[n] == '.', b_ends = n == b.size() || b[n] == '.';
  if (a_ends && b_ends) return a.substr(0, n);
  std::size_t dot = a.substr(0, n).rfind('.');
  return dot == a.npos ? std::string_view() : a.substr(0, dot);
}

void join(Path& path, Path more) {
  if (more) path = path ? common(*path, *more) : *more;
}

/// True for an op whose result contains elements of its operand, so that it belongs to the same
/// parameter.
bool hands_on(const Op& op) {
  return op.moves_data || op.is_wait || op.is_collective || &op == &ops::cast ||
         &op == &ops::div_each;
}

}  // namespace

void guess_paths(Graph& g) {
  // Forward: values that are a parameter in another shape or dtype, or after a gather.
  std::vector<Path> is_parameter(g.value_bound()), path(g.node_bound());
  for (const Input& in : g.inputs())
    if (in.state && in.kind == StateKind::parameter && !in.names.empty())
      is_parameter[in.value.index] = module_of(in.names[0]);
  for (NodeId n : std::as_const(g).nodes()) {
    Path read;
    for (Value v : g[n].inputs) join(read, is_parameter[v.index]);
    path[n.index] = read;
    if (read && hands_on(*g[n].op) && g[n].inputs.size() == g[n].result_count)
      for (std::uint32_t i = 0; i < g[n].result_count; ++i)
        is_parameter[g.result(n, i).index] = is_parameter[g[n].inputs[i].index];
  }
  // Backward: values that become the new value of a parameter through elementwise ops, data
  // movement and transfers. The first node of another kind makes the gradient.
  std::vector<Path> becomes(g.value_bound());
  for (const Input& in : g.inputs())
    if (Value next = in.state && in.kind == StateKind::parameter ? g.next(in.value) : Value{})
      if (!in.names.empty()) join(becomes[next.index], module_of(in.names[0]));
  for (NodeId n : reversed(std::as_const(g).nodes())) {
    const Node& node = g[n];
    Path made;
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      Path mine = becomes[g.result(n, i).index];
      join(made, mine);
      // With several results, result i corresponds to operand i: optimizers, buckets.
      bool lists = node.op == &ops::adam || node.op == &ops::adamw || node.op == &ops::sgd;
      if (lists && mine && i < node.slot(0).size()) join(becomes[node.slot(1)[i].index], mine);
      if (hands_on(*node.op) && i < node.inputs.size()) join(becomes[node.inputs[i].index], mine);
      if (node.op->body != nullptr)
        for (Value v : node.inputs)
          if (!is_parameter[v.index]) join(becomes[v.index], mine);
    }
    if (made) join(path[n.index], made);
  }
  for (NodeId n : std::as_const(g).nodes())
    if (path[n.index] && !path[n.index]->empty()) g.set_path(n, std::string(*path[n.index]));
}

}  // namespace hocket::frontend

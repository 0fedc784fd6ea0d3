// Equality of graphs: equal texts, except for channels.

#include <algorithm>

#include "hocket/ir/graph.h"

namespace hocket {

namespace {

bool same_attributes(const Node& a, const Node& b) {
  auto x = a.attributes.values(), y = b.attributes.values();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (a.op->attributes[i].name != "channel" && !same(x[i], y[i])) return false;
  return std::ranges::equal(a.attributes.list_sizes(), b.attributes.list_sizes());
}

}  // namespace

namespace {

/// With `names`: equal texts, except for channels. Without: names of values, graphs and modules are
/// not compared either.
bool equal(const Graph& a, const Graph& b, bool names) {
  if ((names && a.name() != b.name()) ||
      (a.shared_world() != b.shared_world() && a.world() != b.world()) || a.ranks() != b.ranks() ||
      a.size() != b.size() || a.inputs().size() != b.inputs().size())
    return false;
  std::vector<Value> partner(a.value_bound());
  auto same_value = [&](Value x, Value y) {
    partner[x.index] = y;
    return (!names || a.name(x) == b.name(y)) && a.type(x) == b.type(y);
  };
  for (std::size_t i = 0; i < a.inputs().size(); ++i) {
    const Input &x = a.inputs()[i], &y = b.inputs()[i];
    if (static_cast<const InputInfo&>(x) != y || !same_value(x.value, y.value)) return false;
  }
  NodeId m = b.first_node();
  for (NodeId n : a.nodes()) {
    const Node &x = a[n], &y = b[m];
    if (x.op != y.op || x.inputs.size() != y.inputs.size() || x.result_count != y.result_count ||
        x.delay != y.delay || x.stage != y.stage || (names && a.path(n) != b.path(m)) ||
        !same_attributes(x, y))
      return false;
    if (!x.region != !y.region || (x.region && !equal(*x.region, *y.region, names))) return false;
    for (std::uint32_t i = 0; i < x.inputs.size(); ++i)
      if (partner[x.inputs[i].index] != y.inputs[i]) return false;
    for (std::uint32_t i = 0; i < x.result_count; ++i)
      if (!same_value(a.result(n, i), b.result(m, i))) return false;
    m = b.following(m);
  }
  auto x = a.outputs(), y = b.outputs();
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if ((names && x[i].name != y[i].name) || partner[x[i].value.index] != y[i].value) return false;
  for (std::size_t i = 0; i < a.inputs().size(); ++i) {
    Value p = a.next(a.inputs()[i].value), q = b.next(b.inputs()[i].value);
    if (!p != !q || (p && partner[p.index] != q)) return false;
  }
  return true;
}

}  // namespace

bool operator==(const Graph& a, const Graph& b) { return equal(a, b, true); }

bool equal_but_for_names(const Graph& a, const Graph& b) { return equal(a, b, false); }

}  // namespace hocket

#include "hocket/ops/expand.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

void require_types(const Graph& body, std::span<const Value> results, std::span<const Type> types,
                   std::string_view what) {
  bool same =
      std::ranges::equal(results, types, [&](Value v, const Type& t) { return body.type(v) == t; });
  if (!same) internal_fail("{}: its expansion gives other types", what);
}

}  // namespace

std::span<const Value> ExpandCall::slot(std::size_t i) const {
  if (op.operands.size() == 1) return inputs;
  if (!op.writes_lists()) return inputs.subspan(i, 1);
  auto sizes = attributes.list_sizes();
  std::size_t start = 0;
  for (std::size_t k = 0; k < i; ++k) start += sizes[k];
  return inputs.subspan(start, sizes[i]);
}

std::vector<Value> expand(const Graph& graph, NodeId n, At at) {
  const Node& node = graph[n];
  std::vector<Type> types;
  for (Value v : graph.results(n)) types.push_back(graph.type(v));
  ExpandCall call{at, *node.op, node.attributes, {node.inputs.data(), node.inputs.size()}, types};
  std::vector<Value> results = node.op->expand(call);
  require_types(*at.graph, results, types, graph.describe(n));
  return results;
}

Expansion expand(const KernelSpec& spec, std::shared_ptr<const World> world) {
  auto body = std::make_unique<Graph>("expansion", std::move(world));
  std::vector<Value> parameters;
  for (const Type& t : spec.operands) parameters.push_back(body->add_input(t, "x"));
  ExpandCall call{At(*body), spec.op, spec.attributes, parameters, spec.results};
  std::vector<Value> results = spec.op.expand(call);
  require_types(*body, results, spec.results, spec.op.name);
  return {std::move(body), std::move(parameters), std::move(results)};
}

namespace expansion {

Value scalar(ExpandCall& c, DType dtype, double value) {
  Attribute number = is_float(dtype)     ? Attribute(value)
                     : is_integer(dtype) ? Attribute(static_cast<std::int64_t>(value))
                                         : Attribute(value != 0);
  Type types[] = {{dtype, false, {}}};
  NodeId n = c.at.graph->add(
      c.at,
      {.op = &ops::full, .attributes = Attributes(ops::full, {{"value", number}}), .types = types});
  return c.at.graph->result(n);
}

Value spread(ExpandCall& c, Value v, const Shape& shape) {
  if (c.type(v).shape == shape || c.type(v).shape.empty()) return v;
  return ops::broadcast(c.at, {v}, {{"shape", Ints(shape.begin(), shape.end())}});
}

Value cast_to(ExpandCall& c, Value v, DType dtype) {
  return c.type(v).dtype == dtype ? v : ops::cast(c.at, {v}, {{"dtype", dtype}});
}

Value widened(ExpandCall& c, Value v) { return cast_to(c, v, row(c.type(v).dtype).accumulate); }

Value narrowed(ExpandCall& c, Value v, std::size_t result) {
  return cast_to(c, v, c.types[result].dtype);
}

/// Applies op to both, broadcast to the common shape: of two dimensions the one that is not 1,
/// which may be 0.
Value both(ExpandCall& c, const Op& op, Value a, Value b) {
  bool first = c.type(a).shape.size() >= c.type(b).shape.size();
  Shape shape = c.type(first ? a : b).shape, other = c.type(first ? b : a).shape;
  for (std::size_t i = 0, lead = shape.size() - other.size(); i < other.size(); ++i)
    if (shape[lead + i] == 1) shape[lead + i] = other[i];
  return op(c.at, spread(c, a, shape), spread(c, b, shape));
}

Value both(ExpandCall& c, const Op& op, Value a, double b) {
  return op(c.at, a, scalar(c, c.type(a).dtype, b));
}

Value reduced(ExpandCall& c, const Op& op, Value v, Ints dims, bool keep) {
  return op(c.at, {v}, {{"dims", std::move(dims)}, {"keep", keep}});
}

Value reshaped(ExpandCall& c, Value v, const Shape& shape) {
  if (c.type(v).shape == shape) return v;
  return ops::reshape(c.at, {v}, {{"shape", Ints(shape.begin(), shape.end())}});
}

}  // namespace expansion
}  // namespace hocket

// Ops for ordering and nesting.

#include "hocket/base/error.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket::ops {
namespace {

std::vector<Type> infer_after(const InferCall& c) { return {*c.inputs[0]}; }
std::optional<ViewOf> view_first(const InferCall&, const Layout& x) { return ViewOf{0, x}; }

std::vector<Type> infer_stop(const InferCall& c) { return {*c.inputs[0]}; }

std::vector<Type> infer_call(const InferCall& c) {
  auto parameters = c.region->inputs();
  if (parameters.size() != c.inputs.size())
    fail("call: {} operands for {} parameters of its region", c.inputs.size(), parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Type& wanted = c.region->type(parameters[i].value);
    if (*c.inputs[i] != wanted)
      fail("call: operand {} is {}, parameter %{} is {}", i, to_text(*c.inputs[i]),
           c.region->name(parameters[i].value), to_text(wanted));
  }
  std::vector<Type> types;
  for (const Output& o : c.region->outputs()) types.push_back(c.region->type(o.value));
  return types;
}

}  // namespace

constinit const Op after{.name = "after",
                         .doc =
                             "its first operand, not to be computed, merged "
                             "or placed before the others exist",
                         .operands = {{"xs", Count::many, 1}},
                         .infer = infer_after,
                         .view = view_first,
                         .is_ordering = true,
                         .is_view = true};

constinit const Op stop_gradient{.name = "stop_gradient",
                                 .doc = "x, but no gradient flows back through it",
                                 .operands = {{"x"}},
                                 .infer = infer_stop,
                                 .view = view_first,
                                 .moves_data = true,
                                 .is_view = true};

constinit const Op call{
    .name = "call",
    .doc = "runs its region, which is compiled as one piece",
    .operands = {{"xs", Count::many}},
    .attributes = {{"backend", AttributeKind::string, "which backend compiles it", ""}},
    .infer = infer_call,
    .has_region = true};

}  // namespace hocket::ops

// Weight normalization: w = v * (g / norm of v).

#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

Ints all_but(OperatorCall& c, const Expr& v) {
  std::size_t rank = c.type(v.value).shape.size();
  if (rank == 0) c.refuse("a weight without dimensions");
  return dims_but(rank, static_cast<std::size_t>(c.dim("dim", rank, 0)));
}

Returned weight_norm(OperatorCall& c) {
  Expr v = wide(c, "v"), g = wide(c, "g");
  Expr norms = apply(ops::sqrt, reduce(ops::sum, v * v, all_but(c, v), true));
  return std::vector{as_result(c, (v * (g / norms)).value, 0, c.type("v").dtype),
                     as_result(c, norms.value, 1, c.type("g").dtype)};
}

/// The gradient of v is orthogonal to v.
Returned weight_norm_backward(OperatorCall& c) {
  Expr dw = wide(c, "grad_w"), v = wide(c, "saved_v"), g = wide(c, "saved_g");
  Expr norms = wide(c, "saved_norms"),
       along = reduce(ops::sum, dw * v, all_but(c, v), true) / norms;
  Expr dv = (g / norms) * (dw - v * (along / norms));
  return std::vector{as_result(c, dv.value, 0, c.type("saved_v").dtype),
                     as_result(c, along.value, 1, c.type("saved_g").dtype)};
}

constexpr Row weight_norm_table[] = {
    {"aten._weight_norm_interface.default", "v g dim", weight_norm},
    {"aten._weight_norm_interface_backward.default", "grad_w saved_v saved_g saved_norms dim",
     weight_norm_backward},
};

}  // namespace

std::span<const Row> weight_norm_rows() { return weight_norm_table; }

}  // namespace hocket::frontend::nn

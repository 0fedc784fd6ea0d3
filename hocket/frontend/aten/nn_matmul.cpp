// Matrix products of every rank, with addends.

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

Value matmul(OperatorCall& c, Value a, Value b, bool transpose_b = false) {
  return c.build(ops::matmul, {a, b}, {{"transpose_b", transpose_b}});
}

/// A stack of rows times one matrix: the stack is flattened to get a single product.
Value by_matrix(OperatorCall& c, Value a, Value b, bool transpose_b) {
  Shape shape = c.type(a).shape;
  std::int64_t width = shape.back(), rows = 1;
  shape.pop_back();
  for (std::int64_t size : shape) rows *= size;
  Value y = matmul(c, c.reshape(a, {rows, width}), b, transpose_b);
  shape.push_back(c.type(y).shape[1]);
  return c.reshape(y, shape);
}

/// Two stacks of matrices, with broadcast leading dimensions.
Value by_stack(OperatorCall& c, Value a, Value b) {
  auto split = [&](Value v) {
    Shape lead = c.type(v).shape, matrix;
    matrix = {lead[lead.size() - 2], lead.back()};
    lead.pop_back();
    lead.pop_back();
    return std::pair(lead, matrix);
  };
  auto [lead_a, matrix_a] = split(a);
  auto [lead_b, matrix_b] = split(b);
  Shape lead = c.joined(lead_a, lead_b);
  auto spread = [&](Value v, const Shape& matrix) {
    Shape shape = lead;
    for (std::int64_t size : matrix) shape.push_back(size);
    return c.broadcast(v, shape);
  };
  return matmul(c, spread(a, matrix_a), spread(b, matrix_b));
}

}  // namespace

Value product(OperatorCall& c, Value a, Value b, bool transpose_b) {
  Shape left = c.type(a).shape, right = c.type(b).shape;
  if (left.empty() || right.empty()) c.refuse("a product needs at least one dimension");
  if (left.size() == 1) a = c.reshape(a, {1, left[0]});
  if (right.size() == 1) b = c.reshape(b, {right[0], 1});
  Value y = right.size() <= 2 ? by_matrix(c, a, b, transpose_b) : by_stack(c, a, b);
  Shape shape = c.type(y).shape;
  if (right.size() == 1) shape.pop_back();
  if (left.size() == 1) shape.erase(shape.end() - (right.size() == 1 ? 1 : 2));
  return c.reshape(y, shape);
}

namespace {

Returned two_factors(OperatorCall& c) {
  std::string_view second = "mat2";
  for (std::string_view name : {"vec", "tensor", "other"})
    if (c.has(name)) second = name;
  Value a = c.value("self"), b = c.value(second);
  DType dtype = c.dtype("out_dtype", c.type(a).dtype);
  return product(c, c.cast(a, dtype), c.cast(b, dtype));
}

/// beta self + alpha y, rounded once; self is not read where beta is 0.
Value plus_self(OperatorCall& c, Expr y, DType dtype) {
  Number alpha = c.number("alpha", std::int64_t{1}), beta = c.number("beta", std::int64_t{1});
  if (as_double(alpha) != 1) y = y * alpha;
  if (as_double(beta) != 0) {
    Expr added{&c, c.cast(c.value("self"), wide_dtype(dtype))};
    if (as_double(beta) != 1) added = added * beta;
    y = added + y;
  }
  return c.cast(y.value, dtype);
}

Value plus_product(OperatorCall& c, Value a, Value b) {
  DType dtype = c.dtype("out_dtype", c.type(a).dtype), compute = wide_dtype(dtype);
  return plus_self(c, {&c, product(c, c.cast(a, compute), c.cast(b, compute))}, dtype);
}

Returned addmm(OperatorCall& c) { return plus_product(c, c.value("mat1"), c.value("mat2")); }
Returned addmm_activation(OperatorCall& c) {
  const Op& op = c.flag("use_gelu", false) ? ops::gelu : ops::relu;
  return c.pointwise(op, {plus_product(c, c.value("mat1"), c.value("mat2"))});
}

Returned addr(OperatorCall& c) {
  Value a = c.value("vec1"), b = c.value("vec2");
  DType dtype = c.promoted({c.value("self"), a, b});
  Expr column{&c, c.reshape(c.cast(a, wide_dtype(dtype)), {c.type(a).elements(), 1})};
  return plus_self(c, column * Expr{&c, c.cast(b, wide_dtype(dtype))}, dtype);
}

Returned addmv(OperatorCall& c) { return plus_product(c, c.value("mat"), c.value("vec")); }
Returned baddbmm(OperatorCall& c) { return plus_product(c, c.value("batch1"), c.value("batch2")); }

/// The sum over the stack is one product of the concatenated matrices.
Returned addbmm(OperatorCall& c) {
  Value a = c.value("batch1"), b = c.value("batch2");
  Shape left = c.type(a).shape, right = c.type(b).shape;
  if (left.size() != 3 || right.size() != 3) c.refuse("wanted two stacks of matrices");
  return plus_product(c, c.reshape(c.permute(a, {1, 0, 2}), {left[1], left[0] * left[2]}),
                      c.reshape(b, {right[0] * right[1], right[2]}));
}

Returned multi_dot(OperatorCall& c) {
  std::vector<Value> all = c.values(c.has("tensors") ? "tensors" : "matrices");
  if (all.empty()) c.refuse("no operands");
  Value y = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) y = product(c, y, all[i]);
  return y;
}

Returned linear(OperatorCall& c) {
  Value x = c.value("input"), w = c.value("weight"), bias = optional_value(c, "bias");
  DType dtype = c.type(x).dtype, compute = bias ? wide_dtype(dtype) : dtype;
  bool matrix = c.type(w).shape.size() == 2;
  Expr y{&c, product(c, c.cast(x, compute), c.cast(w, compute), matrix)};
  if (bias) y = y + wide(c, bias);
  return c.cast(y.value, dtype);
}

constexpr std::string_view add_arguments = "self mat1 mat2 beta alpha";
constexpr std::string_view add_batch_arguments = "self batch1 batch2 beta alpha";

constexpr Row product_table[] = {
    {"aten.mm.default", "self mat2", two_factors},
    {"aten.mm.dtype", "self mat2 out_dtype", two_factors},
    {"aten.bmm.default", "self mat2", two_factors},
    {"aten.bmm.dtype", "self mat2 out_dtype", two_factors},
    {"aten.mv.default", "self vec", two_factors},
    {"aten.dot.default", "self tensor", two_factors},
    {"aten.vdot.default", "self other", two_factors},
    {"aten.matmul.default", "self other", two_factors},
    {"aten.linear.default", "input weight bias", linear},
    {"aten.addmm.default", add_arguments, addmm},
    {"aten.addmm.dtype", "self mat1 mat2 out_dtype beta alpha", addmm},
    {"aten._addmm_activation.default", "self mat1 mat2 beta alpha use_gelu", addmm_activation},
    {"aten.addr.default", "self vec1 vec2 beta alpha", addr},
    {"aten.linalg_multi_dot.default", "tensors", multi_dot},
    {"aten.chain_matmul.default", "matrices", multi_dot},
    {"aten.addmv.default", "self mat vec beta alpha", addmv},
    {"aten.addbmm.default", add_batch_arguments, addbmm},
    {"aten.baddbmm.default", add_batch_arguments, baddbmm},
    {"aten.baddbmm.dtype", "self batch1 batch2 out_dtype beta alpha", baddbmm},
};

}  // namespace

std::span<const Row> product_rows() { return product_table; }

}  // namespace hocket::frontend::nn

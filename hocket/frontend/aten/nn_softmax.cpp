// Softmax, dropout with probability 0 or 1, embeddings.

#include <limits>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

/// Runs f(values, dim), with tensors of rank 0 as vectors of one element.
template <class F>
Value along(OperatorCall& c, std::vector<Value> values, F f) {
  const Shape shape = c.type(values[0]).shape;
  std::int64_t dim = c.dim_or_first("dim", shape.size());
  if (shape.empty())
    for (Value& v : values) v = c.reshape(v, {1});
  return c.reshape(f(values, dim), shape);
}

Value softmax_like(OperatorCall& c, const Op& op, Value x) {
  return along(c, {x}, [&](const std::vector<Value>& v, std::int64_t dim) {
    return c.build(op, {v[0]}, {{"dim", dim}});
  });
}

Returned softmax(OperatorCall& c) {
  Value x = c.value("self");
  return softmax_like(c, *c.row().op, c.cast(x, c.dtype("dtype", c.type(x).dtype)));
}

Returned plain_softmax(OperatorCall& c) {
  Value x = c.value("self");
  DType dtype = c.flag("half_to_float", false) ? DType::f32 : c.type(x).dtype;
  return softmax_like(c, *c.row().op, c.cast(x, dtype));
}

/// Rows of only minus infinity give zeros instead of NaN.
Returned safe_softmax(OperatorCall& c) {
  Value x = c.value("self");
  Expr wanted{&c, c.cast(x, c.dtype("dtype", c.type(x).dtype))};
  Expr y{&c, softmax_like(c, ops::softmax, wanted.value)};
  Expr seen = apply(ops::ne, wanted, -std::numeric_limits<double>::infinity());
  Expr any = reduce(ops::any, seen, {c.dim_or_first("dim", c.type(x).shape.size())}, true);
  return select(any, y, 0.0).value;
}

Returned softmax_backward(OperatorCall& c) {
  Value dy = c.value("grad_output"), y = c.value("output");
  DType dtype = common_dtype(c, {dy, y});
  Value dx = along(c, {c.cast(dy, dtype), c.cast(y, dtype)},
                   [&](const std::vector<Value>& v, std::int64_t dim) {
                     return c.build(*c.row().op, {v[0], v[1]}, {{"dim", dim}});
                   });
  return c.cast(dx, c.dtype("input_dtype", c.type(dy).dtype));
}

// ---- dropout

bool keeps_all(OperatorCall& c) {
  return c.real("p") == 0 || !c.flag("train", true) || c.type("input").elements() == 0;
}

/// Dropout with probability 1 multiplies by zero, as in PyTorch: NaN and infinities give NaN.
Value dropped_all(OperatorCall& c) { return c.pointwise(ops::mul, {c.value("input"), 0.0}); }

Returned dropout(OperatorCall& c) {
  if (keeps_all(c)) return c.alias(c.tensor("input"));
  if (c.real("p") == 1) return dropped_all(c);
  refuse_random(c);
}

Returned native_dropout(OperatorCall& c) {
  Value x = c.value("input");
  Type mask{DType::boolean, false, c.type(x).shape};
  if (keeps_all(c)) return std::vector<Value>{x, c.filled(mask, true)};
  if (c.real("p") == 1) return std::vector<Value>{dropped_all(c), c.filled(mask, false)};
  refuse_random(c);
}

Returned native_dropout_backward(OperatorCall& c) {
  Value dy = c.value("grad_output");
  Expr dx = wide(c, dy) * wide(c, c.cast(c.value("mask"), c.type(dy).dtype)) * c.number("scale");
  return c.cast(dx.value, c.type(dy).dtype);
}

// ---- embeddings

Value ids(OperatorCall& c) { return c.cast(c.value("indices"), DType::i64); }

Returned embedding(OperatorCall& c) { return c.build(ops::embedding, {c.value("weight"), ids(c)}); }

Value table_gradient(OperatorCall& c, Value dy) {
  return c.build(ops::embedding_grad, {dy, ids(c)},
                 {{"rows", c.integer("num_weights")}, {"padding", c.integer("padding_idx", -1)}});
}

/// Each row of the gradient divided by how often its id occurs.
Value by_frequency(OperatorCall& c, Value dy) {
  Type ones{wide_dtype(c.type(dy).dtype), false, c.type("indices").shape};
  ones.shape.push_back(1);
  Expr times = apply(ops::maximum, Expr{&c, table_gradient(c, c.filled(ones, 1.0))}, 1.0);
  return (Expr{&c, table_gradient(c, wide(c, dy).value)} / times).value;
}

Returned embedding_backward(OperatorCall& c) {
  if (c.flag("sparse", false)) c.refuse("a sparse gradient is not supported");
  Value dy = c.value(c.has("grad") ? "grad" : "grad_output");
  if (!c.flag("scale_grad_by_freq", false)) return table_gradient(c, dy);
  return c.cast(by_frequency(c, dy), c.type(dy).dtype);
}

constexpr Row softmax_table[] = {
    {"aten.softmax.int", "self dim dtype", softmax, &ops::softmax},
    {"aten.log_softmax.int", "self dim dtype", softmax, &ops::log_softmax},
    {"aten._softmax.default", "self dim half_to_float", plain_softmax, &ops::softmax},
    {"aten._log_softmax.default", "self dim half_to_float", plain_softmax, &ops::log_softmax},
    {"aten._safe_softmax.default", "self dim dtype", safe_softmax},
    {"aten._softmax_backward_data.default", "grad_output output dim input_dtype", softmax_backward,
     &ops::softmax_grad},
    {"aten._log_softmax_backward_data.default", "grad_output output dim input_dtype",
     softmax_backward, &ops::log_softmax_grad},
    {"aten.dropout.default", "input p train", dropout},
    {"aten.feature_dropout.default", "input p train", dropout},
    {"aten.alpha_dropout.default", "input p train", dropout},
    {"aten.feature_alpha_dropout.default", "input p train", dropout},
    {"aten.native_dropout.default", "input p train", native_dropout},
    {"aten.native_dropout_backward.default", "grad_output mask scale", native_dropout_backward},
    {"aten.embedding.default", "weight indices padding_idx scale_grad_by_freq sparse", embedding},
    {"aten.embedding_dense_backward.default",
     "grad_output indices num_weights padding_idx scale_grad_by_freq", embedding_backward},
    {"aten.embedding_backward.default",
     "grad indices num_weights padding_idx scale_grad_by_freq sparse", embedding_backward},
};

}  // namespace

std::span<const Row> softmax_rows() { return softmax_table; }

}  // namespace hocket::frontend::nn

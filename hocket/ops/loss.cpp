// Cross entropy and attention: composites, with their gradients.

#include <cmath>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/ops.h"

namespace hocket::ops {
namespace {

using namespace expansion;
using Values = std::vector<Value>;

// ---- cross entropy of logits [n, classes] with classes [n]

void require_logits(const InferCall& c, const Type& logits, const Type& target) {
  if (!is_float(logits.dtype) || logits.shape.size() != 2 || target.dtype != DType::i64 ||
      target.shape != Shape{logits.shape[0]} || logits.shape[1] < 1)
    fail("{}: logits {} and target {}, wanted floats [n,classes] and i64 [n]", c.op.name,
         to_text(logits), to_text(target));
  const auto& reduce = c.attr<std::string>("reduce");
  if (reduce != "mean" && reduce != "sum" && reduce != "none")
    fail("{}: unknown reduction {}, wanted mean, sum or none", c.op.name, quoted(reduce));
}

Type loss_type(const InferCall& c, const Type& logits) {
  return {logits.dtype, false,
          c.attr<std::string>("reduce") == "none" ? Shape{logits.shape[0]} : Shape{}};
}

std::vector<Type> infer_cross_entropy(const InferCall& c) {
  require_logits(c, *c.inputs[0], *c.inputs[1]);
  return {loss_type(c, *c.inputs[0])};
}

/// Marks the rows that count: those whose class is not `ignore`.
Value counted(ExpandCall& c, Value target) {
  return both(c, ne, target, static_cast<double>(c.attr<std::int64_t>("ignore")));
}

Value number_counted(ExpandCall& c, Value rows, DType dtype) {
  return reduced(c, sum, cast_to(c, rows, dtype), {0}, false);
}

Values expand_cross_entropy(ExpandCall& c) {
  Value logits = widened(c, c.inputs[0]), target = c.inputs[1];
  std::int64_t n = c.type(logits).shape[0];
  Value rows = counted(c, target);
  Value safe = select(c.at, rows, target, scalar(c, DType::i64, 0));
  Value p = log_softmax(c.at, {logits}, {{"dim", std::int64_t{1}}});
  Value picked = gather(c.at, {p, reshaped(c, safe, {n, 1})}, {{"dim", std::int64_t{1}}});
  DType wide = c.type(logits).dtype;
  Value each = select(c.at, rows, neg(c.at, reshaped(c, picked, {n})), scalar(c, wide, 0));
  const auto& reduce = c.attr<std::string>("reduce");
  if (reduce == "none") return {narrowed(c, each, 0)};
  Value total = reduced(c, sum, each, {0}, false);
  if (reduce == "mean") total = div(c.at, total, number_counted(c, rows, wide));
  return {narrowed(c, total, 0)};
}

std::vector<Type> infer_cross_entropy_grad(const InferCall& c) {
  const Type& logits = *c.inputs[1];
  require_logits(c, logits, *c.inputs[2]);
  if (*c.inputs[0] != loss_type(c, logits))
    fail("cross_entropy_grad: gradient is {}, wanted {}", to_text(*c.inputs[0]),
         to_text(loss_type(c, logits)));
  return {logits};
}

Values expand_cross_entropy_grad(ExpandCall& c) {
  Value dy = widened(c, c.inputs[0]), logits = widened(c, c.inputs[1]), target = c.inputs[2];
  const Shape shape = c.types[0].shape;
  DType wide = c.type(logits).dtype;
  Value rows = counted(c, target);
  if (c.attr<std::string>("reduce") == "mean") dy = div(c.at, dy, number_counted(c, rows, wide));
  Value weight = select(c.at, rows, dy, scalar(c, wide, 0));
  Type counting[] = {{DType::i64, false, shape}};
  NodeId numbers = c.at.graph->add(
      c.at,
      {.op = &iota, .attributes = Attributes(iota, {{"dim", std::int64_t{1}}}), .types = counting});
  Value hit =
      eq(c.at, c.at.graph->result(numbers), spread(c, reshaped(c, target, {shape[0], 1}), shape));
  Value d = sub(c.at, softmax(c.at, {logits}, {{"dim", std::int64_t{1}}}), cast_to(c, hit, wide));
  return {narrowed(c, mul(c.at, d, spread(c, reshaped(c, weight, {shape[0], 1}), shape)), 0)};
}

// ---- attention of q [b, h, l, d] with k [b, h, s, d] and v [b, h, s, e]

struct AttentionSizes {
  Shape scores, y, lse;
};

AttentionSizes require_attention(const InferCall& c, const Type& q, const Type& k, const Type& v,
                                 const Type* mask) {
  bool fits = is_float(q.dtype) && k.dtype == q.dtype && v.dtype == q.dtype &&
              q.shape.size() == 4 && k.shape.size() == 4 && v.shape.size() == 4;
  for (std::size_t i : {0, 1}) fits = fits && q.shape[i] == k.shape[i] && q.shape[i] == v.shape[i];
  fits = fits && q.shape[3] == k.shape[3] && k.shape[2] == v.shape[2] && k.shape[2] > 0;
  if (!fits) fail("{}: q {}, k {}, v {} do not fit", c.op.name, to_text(q), to_text(k), to_text(v));
  AttentionSizes s{{q.shape[0], q.shape[1], q.shape[2], k.shape[2]},
                   {q.shape[0], q.shape[1], q.shape[2], v.shape[3]},
                   {q.shape[0], q.shape[1], q.shape[2]}};
  if (mask != nullptr) {
    bool good =
        (mask->dtype == DType::boolean || mask->dtype == q.dtype) && mask->shape.size() == 4;
    for (std::size_t i = 0; good && i < 4; ++i)
      good = mask->shape[i] == 1 || mask->shape[i] == s.scores[i];
    if (!good)
      fail("{}: mask is {}, wanted bool or {} that spreads to {}", c.op.name, to_text(*mask),
           name(q.dtype), dims_text({s.scores.data(), 4}));
  }
  return s;
}

std::vector<Type> infer_attention(const InferCall& c) {
  const Type& q = *c.inputs[0];
  AttentionSizes s = require_attention(c, q, *c.inputs[1], *c.inputs[2],
                                       c.inputs.size() > 3 ? c.inputs[3] : nullptr);
  return {{q.dtype, false, s.y}, {row(q.dtype).accumulate, false, s.lse}};
}

double scale_of(ExpandCall& c, Value q) {
  double scale = c.attr<double>("scale");
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(c.type(q).shape[3]));
}

/// q k^T scaled and masked, in the accumulate dtype. A bool mask is true where attention is
/// allowed; a mask of another dtype is added.
Value scores(ExpandCall& c, Value q, Value k, std::size_t mask_slot) {
  Value s = both(c, mul, matmul(c.at, {q, k}, {{"transpose_b", true}}), scale_of(c, q));
  const Shape shape = c.type(s).shape;
  DType wide = c.type(s).dtype;
  Value never = scalar(c, wide, -std::numeric_limits<double>::infinity());
  if (c.has(mask_slot)) {
    Value mask = c.operand(mask_slot);
    if (c.type(mask).dtype == DType::boolean)
      s = select(c.at, spread(c, mask, shape), s, never);
    else
      s = both(c, add, s, widened(c, mask));
  }
  if (c.attr<bool>("causal")) {
    Type counting[] = {{DType::i64, false, shape}};
    auto count = [&](std::int64_t dim) {
      return c.at.graph->result(c.at.graph->add(
          c.at, {.op = &iota, .attributes = Attributes(iota, {{"dim", dim}}), .types = counting}));
    };
    s = select(c.at, le(c.at, count(3), count(2)), s, never);
  }
  return s;
}

Values expand_attention(ExpandCall& c) {
  Value q = widened(c, c.operand(0)), k = widened(c, c.operand(1)), v = widened(c, c.operand(2));
  Value s = scores(c, q, k, 3);
  Value top = reduced(c, max, s, {3}, true);
  Value e = exp(c.at, both(c, sub, s, top));
  Value total = reduced(c, sum, e, {3}, true);
  Value y = matmul(c.at, both(c, div, e, total), v);
  Value lse = add(c.at, log(c.at, total), top);
  return {narrowed(c, y, 0), reshaped(c, lse, c.types[1].shape)};
}

std::vector<Type> infer_attention_grad(const InferCall& c) {
  const Type &dy = *c.inputs[0], &q = *c.inputs[1], &k = *c.inputs[2], &v = *c.inputs[3],
             &y = *c.inputs[4], &lse = *c.inputs[5];
  AttentionSizes s = require_attention(c, q, k, v, c.inputs.size() > 6 ? c.inputs[6] : nullptr);
  if (dy != Type{q.dtype, false, s.y} || y != dy ||
      lse != Type{row(q.dtype).accumulate, false, s.lse})
    fail("attention_grad: dy {}, y {} and lse {} do not fit", to_text(dy), to_text(y),
         to_text(lse));
  return {q, k, v};
}

Values expand_attention_grad(ExpandCall& c) {
  Value dy = widened(c, c.operand(0)), q = widened(c, c.operand(1)), k = widened(c, c.operand(2)),
        v = widened(c, c.operand(3));
  Value y = widened(c, c.operand(4)), s = scores(c, q, k, 6);
  Shape rows = c.type(c.operand(5)).shape;
  rows.push_back(1);
  Value p = exp(c.at, both(c, sub, s, reshaped(c, c.operand(5), rows)));
  Value dv = matmul(c.at, {p, dy}, {{"transpose_a", true}});
  Value dp = matmul(c.at, {dy, v}, {{"transpose_b", true}});
  Value dot = reduced(c, sum, mul(c.at, dy, y), {3}, true);
  Value ds = both(c, mul, mul(c.at, p, both(c, sub, dp, dot)), scale_of(c, q));
  Value dq = matmul(c.at, ds, k), dk = matmul(c.at, {ds, q}, {{"transpose_a", true}});
  return {narrowed(c, dq, 0), narrowed(c, dk, 1), narrowed(c, dv, 2)};
}

constexpr AttributeSpec loss_reduce{"reduce", AttributeKind::string, "mean, sum or none", "mean"};
constexpr AttributeSpec ignore{"ignore", AttributeKind::integer,
                               "rows with this target do not count", std::int64_t{-100}};
constexpr AttributeSpec causal{"causal", AttributeKind::flag,
                               "position i sees positions up to i alone", false};
constexpr AttributeSpec score_scale{"scale", AttributeKind::real,
                                    "of q k^T; 1 / sqrt(d) when left out", 0.0};

}  // namespace

constinit const Op cross_entropy{
    .name = "cross_entropy",
    .doc = "minus the log_softmax of each row of logits at its target, reduced over the rows",
    .operands = {{"logits"}, {"target"}},
    .attributes = {loss_reduce, ignore},
    .infer = infer_cross_entropy,
    .expand = expand_cross_entropy};

constinit const Op cross_entropy_grad{.name = "cross_entropy_grad",
                                      .doc = "gradient of cross_entropy by the logits",
                                      .operands = {{"dy"}, {"logits"}, {"target"}},
                                      .attributes = {loss_reduce, ignore},
                                      .infer = infer_cross_entropy_grad,
                                      .expand = expand_cross_entropy_grad};

constinit const Op attention{
    .name = "attention",
    .doc = "softmax(scale q k^T, masked) v, and the logarithm of what the softmax divided by",
    .operands = {{"q"}, {"k"}, {"v"}, {"mask", Count::optional}},
    .attributes = {causal, score_scale},
    .infer = infer_attention,
    .expand = expand_attention};

constinit const Op attention_grad{
    .name = "attention_grad",
    .doc = "gradients of attention by q, k and v",
    .operands = {{"dy"}, {"q"}, {"k"}, {"v"}, {"y"}, {"lse"}, {"mask", Count::optional}},
    .attributes = {causal, score_scale},
    .infer = infer_attention_grad,
    .expand = expand_attention_grad};

}  // namespace hocket::ops

// Scaled dot-product attention under its many names, and its gradients.
//
// A row whose mask excludes everything gives zeros in the source, not NaN. For such rows the mask
// is opened (true, or 0 if it is added) before the `attention` op, and the results are replaced by
// zeros after it, so that gradients stay finite, too.

#include <algorithm>
#include <cmath>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

struct Attention {
  Value q, k, v;     // [batch, heads, length, size], of one dtype
  Value mask, seen;  // mask: opened; seen: the row is not fully masked, [.., .., length, 1]
  bool causal = false;
  double scale = 0;
  DType out = DType::f32;
  Shape lead;           // the dimensions before the last two
  std::int64_t groups;  // heads of q for each head of k and v
};

/// Repeats every head of k and v for the consecutive heads of q that share it.
Value with_heads(OperatorCall& c, Value v, std::int64_t heads) {
  Shape shape = c.type(v).shape;
  if (shape.size() < 3) return v;
  std::int64_t own = shape[shape.size() - 3];
  if (own == heads || own <= 1 || heads % own != 0) return v;
  Shape split = shape, spread;
  split.insert(split.end() - 2, 1);
  spread = split;
  spread[spread.size() - 3] = heads / own;
  shape[shape.size() - 3] = heads;
  return c.reshape(c.broadcast(c.reshape(v, split), spread), shape);
}

Shape lead_of(const OperatorCall& c, Value v) {
  Shape lead = c.type(v).shape;
  for (int i = 0; i < 2 && !lead.empty(); ++i) lead.pop_back();
  return lead;
}

/// Reshapes to four dimensions: all leading dimensions but the last become one.
Value four_dims(OperatorCall& c, Value v, const Shape& lead, bool spread) {
  Shape shape = c.type(v).shape, flat;
  std::size_t n = lead.size();
  while (shape.size() < n + 2) shape.insert(shape.begin(), 1);
  v = c.reshape(v, shape);
  if (spread || n > 2) {
    for (std::size_t i = 0; i < n; ++i) shape[i] = lead[i];
    v = c.broadcast(v, shape);
  }
  flat = {1, 1, shape[n], shape[n + 1]};
  for (std::size_t i = 0; i < n; ++i) flat[n > 1 && i + 1 == n ? 1 : 0] *= shape[i];
  return c.reshape(v, flat);
}

void require_plain(const OperatorCall& c) {
  if (c.real("dropout_p", 0) != 0) refuse_random(c);
  if (c.has("dropout_mask")) c.refuse("dropout_mask is not supported");
  if (c.flag("return_debug_mask", false)) c.refuse("return_debug_mask is not supported");
}

void open_mask(OperatorCall& c, Attention& a) {
  bool yes_or_no = c.type(a.mask).dtype == DType::boolean;
  Expr mask{&c, a.mask};
  Expr through = yes_or_no ? mask : apply(ops::ne, mask, -infinity);
  Expr seen = reduce(ops::any, through, {3}, true);
  a.seen = seen.value;
  a.mask = (yes_or_no ? mask | apply(ops::bit_not, seen) : select(seen, mask, 0.0)).value;
}

Attention attention_of(OperatorCall& c, Value mask) {
  require_plain(c);
  Attention a;
  Value q = c.value("query"), k = c.value("key"), v = c.value("value");
  if (c.type(q).shape.size() < 2) c.refuse("query has less than two dimensions");
  a.causal = c.flag("is_causal", false);
  a.scale = c.real("scale", 0);
  if (c.has("scale") && a.scale == 0) c.refuse("scale is 0");
  if (mask && a.causal) c.refuse("a mask and is_causal exclude each other");
  a.out = c.type(q).dtype;
  bool added = mask && c.type(mask).dtype != DType::boolean;
  DType dtype = common_dtype(c, {q, k, v, added ? mask : Value{}});
  const Shape heads = c.type(q).shape;
  std::int64_t own = heads.size() < 3 ? 1 : heads[heads.size() - 3];
  const Shape k_shape = c.type(k).shape;
  a.groups = heads.size() < 3 || k_shape.size() < 3
                 ? 1
                 : own / std::max<std::int64_t>(1, k_shape[k_shape.size() - 3]);
  k = with_heads(c, k, own);
  v = with_heads(c, v, own);
  a.lead = c.joined(c.joined(lead_of(c, q), lead_of(c, k)), lead_of(c, v));
  if (mask) a.lead = c.joined(a.lead, lead_of(c, mask));
  a.q = four_dims(c, c.cast(q, dtype), a.lead, true);
  a.k = four_dims(c, c.cast(k, dtype), a.lead, true);
  a.v = four_dims(c, c.cast(v, dtype), a.lead, true);
  if (mask) {
    a.mask = four_dims(c, added ? c.cast(mask, dtype) : mask, a.lead, false);
    open_mask(c, a);
  }
  return a;
}

Value only_seen(OperatorCall& c, const Attention& a, Value v, double otherwise) {
  if (!a.seen) return v;
  Expr seen{&c, a.seen};
  if (c.type(v).shape.size() == 3) {
    Shape shape = c.type(a.seen).shape;
    shape.pop_back();
    seen.value = c.reshape(a.seen, shape);
  }
  return select(seen, Expr{&c, v}, otherwise).value;
}

struct Attended {
  Value y, lse;
};

Attended attended(OperatorCall& c, const Attention& a) {
  std::vector<Value> r = c.build_lists(ops::attention, {{a.q}, {a.k}, {a.v}, slot(a.mask)},
                                       {{"causal", a.causal}, {"scale", a.scale}});
  Shape shape = a.lead;
  for (std::size_t i : {2, 3}) shape.push_back(c.type(r[0]).shape[i]);
  Value y = c.cast(only_seen(c, a, r[0], 0), a.out);
  return {c.reshape(y, shape), only_seen(c, a, r[1], 0)};
}

/// The result of the softmax, in the wide dtype.
Expr probabilities(OperatorCall& c, const Attention& a) {
  Expr q = wide(c, a.q), k = wide(c, a.k);
  double size = static_cast<double>(c.type(a.q).shape[3]);
  Expr s = Expr{&c, c.build(ops::matmul, {q.value, k.value}, {{"transpose_b", true}})} *
           (a.scale != 0 ? a.scale : 1 / std::sqrt(size));
  if (a.mask && c.type(a.mask).dtype == DType::boolean)
    s = select({&c, a.mask}, s, -infinity);
  else if (a.mask)
    s = s + wide(c, a.mask);
  if (a.causal) {
    Type counting{DType::i64, false, c.type(s.value).shape};
    s = select(Expr{&c, c.iota(counting, 3)} <= Expr{&c, c.iota(counting, 2)}, s, -infinity);
  }
  Value p = c.build(ops::softmax, {s.value}, {{"dim", std::int64_t{3}}});
  return {&c, only_seen(c, a, p, 0)};
}

// ---- forward

Returned attention(OperatorCall& c) {
  return attended(c, attention_of(c, optional_value(c, "attn_mask"))).y;
}

/// The kernel for CPUs, `_math.default`, adds a bool mask as numbers; its usual caller converts the
/// mask before the call.
Returned attention_math(OperatorCall& c) {
  Value mask = optional_value(c, "attn_mask");
  bool counts = c.row().target == "aten._scaled_dot_product_attention_math.default";
  if (mask && counts) mask = c.cast(mask, c.type("query").dtype);
  Attention a = attention_of(c, mask);
  Value y = attended(c, a).y, p = probabilities(c, a).value;
  Shape shape = a.lead;
  for (std::size_t i : {2, 3}) shape.push_back(c.type(p).shape[i]);
  return std::vector<Value>{y, as_result(c, c.reshape(p, shape), 1, a.out)};
}

Returned flash_for_cpu(OperatorCall& c) {
  Attended r = attended(c, attention_of(c, optional_value(c, "attn_mask")));
  return std::vector<Value>{r.y, as_result(c, r.lse, 1, c.type(r.lse).dtype)};
}

/// The log-sum-exp as a result: some kernels pad the rows to a multiple or keep a last dimension of
/// size 1.
Value lse_result(OperatorCall& c, Value lse) {
  const Type* wanted = result_type(c, 1);
  if (wanted == nullptr || wanted->shape.size() < 3) return lse;
  const Shape rows = c.type(lse).shape;
  Ints more{0, 0, wanted->shape[2] - rows[2]};
  lse = padded(c, c.cast(lse, wanted->dtype), {0, 0, 0}, more, infinity);
  return c.reshape(lse, wanted->shape);
}

/// The other results (sequence tables, seeds, debug masks) are not used without dropout: zeros.
std::vector<Value> with_rest(OperatorCall& c, const Attended& r, std::size_t count) {
  std::vector<Value> results{r.y, lse_result(c, r.lse)};
  for (std::size_t i = 2; i < count; ++i) {
    const Type* type = result_type(c, i);
    results.push_back(type != nullptr ? c.filled(*type, std::int64_t{0}) : Value{});
  }
  return results;
}

Returned efficient(OperatorCall& c) {
  return with_rest(c, attended(c, attention_of(c, optional_value(c, "attn_bias"))), 4);
}

Returned flash(OperatorCall& c) {
  return with_rest(c, attended(c, attention_of(c, optional_value(c, "attn_bias"))), 9);
}

// ---- gradients

/// Sums the gradients of the heads of q that share a head of k or v.
Value shared_heads(OperatorCall& c, Value d, const Attention& a, std::string_view name) {
  const Shape wanted = c.type(name).shape;
  if (a.groups > 1) {
    const Shape& shape = c.type(d).shape;
    Value split = c.reshape(d, {shape[0], shape[1] / a.groups, a.groups, shape[2], shape[3]});
    d = c.reduce(ops::sum, split, {2}, false);
  }
  return c.cast(c.reshape(d, wanted), c.type(name).dtype);
}

Value lse_operand(OperatorCall& c, const Attention& a) {
  const Shape q = c.type(a.q).shape;
  Value lse = c.cast(c.value("logsumexp"), row(c.type(a.q).dtype).accumulate);
  if (c.type(lse).shape.size() == 4) {
    Shape shape = c.type(lse).shape;
    shape.pop_back();
    lse = c.reshape(lse, shape);
  }
  if (c.type(lse).shape[2] > q[2]) lse = c.slice(lse, 2, 0, q[2]);
  // A fully masked row must not contribute to any gradient.
  return only_seen(c, a, lse, infinity);
}

/// The gradient of an added mask: that of the scores, summed over broadcast dimensions.
Value mask_gradient(OperatorCall& c, const Attention& a, Value dy, Value y, Value mask) {
  Expr g = wide(c, dy), v = wide(c, a.v);
  Expr dp{&c, c.build(ops::matmul, {g.value, v.value}, {{"transpose_b", true}})};
  Expr d = probabilities(c, a) * (dp - reduce(ops::sum, g * wide(c, y), {3}, true));
  const Shape& full = c.type(d.value).shape;
  Shape own = c.type(mask).shape;
  while (own.size() < 4) own.insert(own.begin(), 1);
  Ints spread;
  for (std::size_t i = 0; i < 4; ++i)
    if (own[i] != full[i]) spread.push_back(static_cast<std::int64_t>(i));
  if (!spread.empty()) d = reduce(ops::sum, d, spread, true);
  return c.cast(c.reshape(d.value, c.type(mask).shape), c.type(mask).dtype);
}

std::vector<Value> gradients(OperatorCall& c, std::string_view dy_name, Value mask) {
  if (c.type("query").shape.size() != 4) c.refuse("query has not four dimensions");
  Attention a = attention_of(c, mask);
  DType dtype = c.type(a.q).dtype;
  Value dy = c.cast(c.value(dy_name), dtype), y = c.cast(c.value("out"), dtype);
  std::vector<Value> d = c.build_lists(
      ops::attention_grad, {{dy}, {a.q}, {a.k}, {a.v}, {y}, {lse_operand(c, a)}, slot(a.mask)},
      {{"causal", a.causal}, {"scale", a.scale}});
  std::vector<Value> results{c.cast(d[0], a.out), shared_heads(c, d[1], a, "key"),
                             shared_heads(c, d[2], a, "value")};
  if (!c.has("grad_input_mask")) return results;
  bool by_mask = mask && c.flags("grad_input_mask").at(3);
  results.push_back(by_mask ? mask_gradient(c, a, dy, y, mask) : Value{});
  return masked(c, std::move(results), "grad_input_mask");
}

Returned attention_backward(OperatorCall& c) {
  return gradients(c, c.has("grad_out_") ? "grad_out_" : "grad_out",
                   optional_value(c, c.has("attn_bias") ? "attn_bias" : "attn_mask"));
}

constexpr std::string_view cudnn_arguments =
    "query key value attn_bias compute_log_sumexp dropout_p is_causal return_debug_mask scale";
constexpr std::string_view math_arguments =
    "query key value attn_mask dropout_p is_causal dropout_mask scale enable_gqa";

constexpr Row attention_table[] = {
    {"aten.scaled_dot_product_attention.default",
     "query key value attn_mask dropout_p is_causal scale enable_gqa", attention},
    {"aten._scaled_dot_product_attention_math.default", math_arguments, attention_math},
    {"aten._scaled_dot_product_attention_math_for_mps.default", math_arguments, attention_math},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default",
     "query key value dropout_p is_causal attn_mask scale", flash_for_cpu},
    {"aten._scaled_dot_product_flash_attention.default",
     "query key value dropout_p is_causal return_debug_mask scale", flash},
    {"aten._scaled_dot_product_efficient_attention.default",
     "query key value attn_bias compute_log_sumexp dropout_p is_causal scale", efficient},
    {"aten._scaled_dot_product_cudnn_attention.default", cudnn_arguments, flash},
    {"aten._scaled_dot_product_fused_attention_overrideable.default",
     "query key value attn_bias dropout_p is_causal return_debug_mask scale", flash},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
     "grad_out query key value out logsumexp dropout_p is_causal attn_mask scale",
     attention_backward},
    {"aten._scaled_dot_product_flash_attention_backward.default",
     "grad_out query key value out logsumexp cum_seq_q cum_seq_k max_q max_k dropout_p is_causal "
     "philox_seed philox_offset scale",
     attention_backward},
    {"aten._scaled_dot_product_efficient_attention_backward.default",
     "grad_out_ query key value attn_bias out logsumexp philox_seed philox_offset dropout_p "
     "grad_input_mask is_causal scale",
     attention_backward},
    {"aten._scaled_dot_product_cudnn_attention_backward.default",
     "grad_out query key value out logsumexp philox_seed philox_offset attn_bias cum_seq_q "
     "cum_seq_k max_q max_k dropout_p is_causal scale",
     attention_backward},
    {"aten._scaled_dot_product_fused_attention_overrideable_backward.default",
     "grad_out query key value attn_bias grad_input_mask out logsumexp cum_seq_q cum_seq_k max_q "
     "max_k dropout_p is_causal philox_seed philox_offset scale",
     attention_backward},
};

}  // namespace

std::span<const Row> attention_rows() { return attention_table; }

}  // namespace hocket::frontend::nn

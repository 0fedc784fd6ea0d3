#pragma once
// All ops by name: the only list of them. `ops::mul(graph, a, b)` builds a node; `graph[n].op ==
// &ops::wait` tests for one.

#include <span>

#include "hocket/ir/graph.h"
#include "hocket/ir/op.h"

namespace hocket::ops {

// elementwise: numbers
extern const Op add, sub, mul, div, floor_div, remainder, fma, neg, abs, sign, maximum, minimum,
    clamp;
extern const Op floor, ceil, round, trunc, sqrt, rsqrt, exp, expm1, log, log1p, pow;
extern const Op sin, cos, tan, atan, tanh, erf;
// elementwise: comparisons, logic, bits
extern const Op eq, ne, lt, le, gt, ge, bit_and, bit_or, bit_xor, bit_not, shift_left, shift_right;
extern const Op select, cast;
// elementwise: activations and their gradients
extern const Op relu, sigmoid, gelu, gelu_tanh, silu, hardswish;
extern const Op sigmoid_grad, tanh_grad, gelu_grad, gelu_tanh_grad, silu_grad, hardswish_grad;
// reductions; `all_of` is written `all` in programs
extern const Op sum, mean, product, max, min, any, all_of, argmax, argmin, cumsum, cumprod;
// shape
extern const Op reshape, permute, broadcast, slice, pad, concat, flip;
// products
extern const Op matmul, conv, conv_grad_input, conv_grad_weight;
// pooling
extern const Op max_pool, max_pool_grad, avg_pool, avg_pool_grad;
// indexing
extern const Op gather, scatter, index, index_put, embedding, embedding_grad, sort, topk;
// normalisation
extern const Op softmax, softmax_grad, log_softmax, log_softmax_grad;
extern const Op layer_norm, layer_norm_grad, rms_norm, rms_norm_grad;
extern const Op batch_norm, batch_norm_eval, batch_norm_grad;
// losses and attention
extern const Op cross_entropy, cross_entropy_grad, attention, attention_grad;
// where values come from
extern const Op constant, full, iota, rank, shard;
// random numbers
extern const Op uniform, normal, bernoulli, dropout;
// optimizers, on any number of tensors at once
extern const Op sgd, adam, adamw, div_each;
// between ranks
extern const Op all_reduce, reduce, all_gather, reduce_scatter, all_to_all, broadcast_from, send,
    recv;
extern const Op barrier, wait;
// structure
extern const Op after, stop_gradient, call;

/// All of them, in the order in which they are declared above (list.cmake) and documented.
std::span<const Op* const> all();
/// The op of that name, or none.
const Op* find(std::string_view name);

}  // namespace hocket::ops

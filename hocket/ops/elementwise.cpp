// Elementwise ops: each is defined by its body.

#include "hocket/base/error.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/scalar.h"

namespace hocket::ops {
namespace {

using X = std::span<const Scalar>;
constexpr RecordList<OperandSpec, 12> one{{"x"}};
constexpr RecordList<OperandSpec, 12> two{{"a"}, {"b"}};
constexpr RecordList<OperandSpec, 12> gradient{{"dy"}, {"x"}};

std::vector<Type> infer_select(const InferCall& c) {
  if (c.inputs[0]->dtype != DType::boolean)
    fail("{}: condition is {}, wanted bool", c.op.name, to_text(*c.inputs[0]));
  require_same_dtype(c, 1);
  return {{c.inputs[1]->dtype, false, common_shape(c)}};
}

std::vector<Type> infer_cast(const InferCall& c) {
  return {{c.attr<DType>("dtype"), false, c.inputs[0]->shape}};
}

Scalar sigmoid_of(Scalar x) { return 1 / (1 + hocket::exp(-x)); }

/// The integral of the normal density up to x, by erf.
Scalar normal_up_to(Scalar x) { return 0.5 * (1 + hocket::erf(x * 0.70710678118654752440)); }

/// The inner function of the tanh form of gelu.
Scalar gelu_tanh_inner(Scalar x) {
  return hocket::tanh(0.79788456080286535588 * (x + 0.044715 * (x * x * x)));
}

Scalar gelu_tanh_slope(Scalar x) {
  Scalar t = gelu_tanh_inner(x);
  Scalar inner = 0.79788456080286535588 * (1 + 0.134145 * (x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
}

Scalar gelu_slope(Scalar x) {
  return normal_up_to(x) + x * (0.39894228040143267794 * hocket::exp(-0.5 * (x * x)));
}

Scalar silu_slope(Scalar x) {
  Scalar s = sigmoid_of(x);
  return s * (1 + x * (1 - s));
}

Scalar zero_like(Scalar x) { return constant_like(x, 0); }
Scalar one_like(Scalar x) { return constant_like(x, 1); }

Scalar hardswish_slope(Scalar x) {
  Scalar middle = (2 * x + 3) / 6;
  return hocket::select(x <= -3, zero_like(x), hocket::select(3 <= x, one_like(x), middle));
}

}  // namespace

constinit const Op add{.name = "add",
                       .doc = "a + b; integers wrap",
                       .operands = two,
                       .infer = same_numeric,
                       .body = [](X x) { return x[0] + x[1]; },
                       .exactly_rounded = true};

constinit const Op sub{.name = "sub",
                       .doc = "a - b; integers wrap",
                       .operands = two,
                       .infer = same_numeric,
                       .body = [](X x) { return x[0] - x[1]; },
                       .exactly_rounded = true};

constinit const Op mul{.name = "mul",
                       .doc = "a * b; integers wrap",
                       .operands = two,
                       .infer = same_numeric,
                       .body = [](X x) { return x[0] * x[1]; },
                       .exactly_rounded = true};

constinit const Op div{.name = "div",
                       .doc = "a / b, of floats",
                       .operands = two,
                       .infer = same_floating,
                       .body = [](X x) { return x[0] / x[1]; },
                       .exactly_rounded = true};

constinit const Op floor_div{.name = "floor_div",
                             .doc =
                                 "a / b rounded towards minus infinity; an integer divided by zero "
                                 "gives zero",
                             .operands = two,
                             .infer = same_numeric,
                             .body = [](X x) { return hocket::floor_div(x[0], x[1]); }};

constinit const Op remainder{
    .name = "remainder",
    .doc =
        "what floor_div leaves: has the sign of b; for an integer b of zero "
        "it is zero",
    .operands = two,
    .infer = same_numeric,
    .body = [](X x) { return hocket::remainder(x[0], x[1]); }};

constinit const Op fma{.name = "fma",
                       .doc = "a * b + c rounded once, of floats",
                       .operands = {{"a"}, {"b"}, {"c"}},
                       .infer = same_floating,
                       .body = [](X x) { return hocket::fma(x[0], x[1], x[2]); }};

constinit const Op neg{.name = "neg",
                       .doc = "-x; of a float the sign bit alone",
                       .operands = one,
                       .infer = same_numeric,
                       .body = [](X x) { return -x[0]; },
                       .exactly_rounded = true};

constinit const Op abs{.name = "abs",
                       .doc = "the absolute value; of the lowest integer itself",
                       .operands = one,
                       .infer = same_numeric,
                       .body = [](X x) { return hocket::abs(x[0]); },
                       .exactly_rounded = true};

constinit const Op sign{.name = "sign",
                        .doc = "-1, 0 or 1; 0 for a NaN",
                        .operands = one,
                        .infer = same_numeric,
                        .body = [](X x) { return hocket::sign(x[0]); },
                        .exactly_rounded = true};

constinit const Op maximum{.name = "maximum",
                           .doc = "the larger of a and b; a NaN wins",
                           .operands = two,
                           .infer = same_numeric,
                           .body = [](X x) { return hocket::max(x[0], x[1]); }};

constinit const Op minimum{.name = "minimum",
                           .doc = "the smaller of a and b; a NaN wins",
                           .operands = two,
                           .infer = same_numeric,
                           .body = [](X x) { return hocket::min(x[0], x[1]); }};

constinit const Op clamp{.name = "clamp",
                         .doc = "x held between low and high; high where they cross; a NaN stays",
                         .operands = {{"x"}, {"low"}, {"high"}},
                         .infer = same_numeric,
                         .body = [](X x) { return hocket::min(hocket::max(x[0], x[1]), x[2]); }};

constinit const Op floor{.name = "floor",
                         .doc = "the next integer below",
                         .operands = one,
                         .infer = same_floating,
                         .body = [](X x) { return hocket::floor(x[0]); },
                         .exactly_rounded = true};

constinit const Op ceil{.name = "ceil",
                        .doc = "the next integer above",
                        .operands = one,
                        .infer = same_floating,
                        .body = [](X x) { return hocket::ceil(x[0]); },
                        .exactly_rounded = true};

constinit const Op round{.name = "round",
                         .doc = "the nearest integer, halves to the even one",
                         .operands = one,
                         .infer = same_floating,
                         .body = [](X x) { return hocket::round(x[0]); },
                         .exactly_rounded = true};

constinit const Op trunc{.name = "trunc",
                         .doc = "the integer towards zero",
                         .operands = one,
                         .infer = same_floating,
                         .body = [](X x) { return hocket::trunc(x[0]); },
                         .exactly_rounded = true};

constinit const Op sqrt{.name = "sqrt",
                        .doc = "square root",
                        .operands = one,
                        .infer = same_floating,
                        .body = [](X x) { return hocket::sqrt(x[0]); },
                        .exactly_rounded = true};

constinit const Op rsqrt{.name = "rsqrt",
                         .doc = "1 / sqrt(x)",
                         .operands = one,
                         .infer = same_floating,
                         .body = [](X x) { return 1 / hocket::sqrt(x[0]); }};

constinit const Op exp{.name = "exp",
                       .doc = "e to the power of x",
                       .operands = one,
                       .infer = same_floating,
                       .body = [](X x) { return hocket::exp(x[0]); }};

constinit const Op expm1{.name = "expm1",
                         .doc = "exp(x) - 1, exact near zero",
                         .operands = one,
                         .infer = same_floating,
                         .body = [](X x) { return hocket::expm1(x[0]); }};

constinit const Op log{.name = "log",
                       .doc = "natural logarithm",
                       .operands = one,
                       .infer = same_floating,
                       .body = [](X x) { return hocket::log(x[0]); }};

constinit const Op log1p{.name = "log1p",
                         .doc = "log(1 + x), exact near zero",
                         .operands = one,
                         .infer = same_floating,
                         .body = [](X x) { return hocket::log1p(x[0]); }};

constinit const Op pow{.name = "pow",
                       .doc = "a to the power of b, of floats",
                       .operands = two,
                       .infer = same_floating,
                       .body = [](X x) { return hocket::pow(x[0], x[1]); }};

constinit const Op sin{
    .name = "sin", .doc = "sine", .operands = one, .infer = same_floating, .body = [](X x) {
      return hocket::sin(x[0]);
    }};

constinit const Op cos{
    .name = "cos", .doc = "cosine", .operands = one, .infer = same_floating, .body = [](X x) {
      return hocket::cos(x[0]);
    }};

constinit const Op tan{
    .name = "tan", .doc = "tangent", .operands = one, .infer = same_floating, .body = [](X x) {
      return hocket::tan(x[0]);
    }};

constinit const Op atan{.name = "atan",
                        .doc = "inverse tangent",
                        .operands = one,
                        .infer = same_floating,
                        .body = [](X x) { return hocket::atan(x[0]); }};

constinit const Op tanh{.name = "tanh",
                        .doc = "hyperbolic tangent",
                        .operands = one,
                        .infer = same_floating,
                        .body = [](X x) { return hocket::tanh(x[0]); }};

constinit const Op erf{.name = "erf",
                       .doc = "the error function",
                       .operands = one,
                       .infer = same_floating,
                       .body = [](X x) { return hocket::erf(x[0]); }};

constinit const Op eq{.name = "eq",
                      .doc = "a == b",
                      .operands = two,
                      .infer = comparison,
                      .body = [](X x) { return x[0] == x[1]; },
                      .exactly_rounded = true};

constinit const Op ne{.name = "ne",
                      .doc = "a != b",
                      .operands = two,
                      .infer = comparison,
                      .body = [](X x) { return x[0] != x[1]; },
                      .exactly_rounded = true};

constinit const Op lt{.name = "lt",
                      .doc = "a < b",
                      .operands = two,
                      .infer = comparison,
                      .body = [](X x) { return x[0] < x[1]; },
                      .exactly_rounded = true};

constinit const Op le{.name = "le",
                      .doc = "a <= b",
                      .operands = two,
                      .infer = comparison,
                      .body = [](X x) { return x[0] <= x[1]; },
                      .exactly_rounded = true};

constinit const Op gt{.name = "gt",
                      .doc = "a > b",
                      .operands = two,
                      .infer = comparison,
                      .body = [](X x) { return x[1] < x[0]; },
                      .exactly_rounded = true};

constinit const Op ge{.name = "ge",
                      .doc = "a >= b",
                      .operands = two,
                      .infer = comparison,
                      .body = [](X x) { return x[1] <= x[0]; },
                      .exactly_rounded = true};

constinit const Op bit_and{.name = "bit_and",
                           .doc = "bits of both, of integers; and, of bool",
                           .operands = two,
                           .infer = same_bits,
                           .body = [](X x) { return x[0] & x[1]; },
                           .exactly_rounded = true};

constinit const Op bit_or{.name = "bit_or",
                          .doc = "bits of either, of integers; or, of bool",
                          .operands = two,
                          .infer = same_bits,
                          .body = [](X x) { return x[0] | x[1]; },
                          .exactly_rounded = true};

constinit const Op bit_xor{.name = "bit_xor",
                           .doc = "bits of one alone, of integers; exclusive or, of bool",
                           .operands = two,
                           .infer = same_bits,
                           .body = [](X x) { return x[0] ^ x[1]; },
                           .exactly_rounded = true};

constinit const Op bit_not{.name = "bit_not",
                           .doc = "all bits changed, of integers; not, of bool",
                           .operands = one,
                           .infer = same_bits,
                           .body = [](X x) { return ~x[0]; },
                           .exactly_rounded = true};

constinit const Op shift_left{.name = "shift_left",
                              .doc = "a shifted up by b bits; by the width or more, zero",
                              .operands = two,
                              .infer = same_integer,
                              .body = [](X x) { return x[0] << x[1]; },
                              .exactly_rounded = true};

constinit const Op shift_right{.name = "shift_right",
                               .doc =
                                   "a shifted down by b bits with its sign; by "
                                   "the width or more, only the sign is left",
                               .operands = two,
                               .infer = same_integer,
                               .body = [](X x) { return x[0] >> x[1]; },
                               .exactly_rounded = true};

constinit const Op select{.name = "select",
                          .doc = "a where the condition holds, b elsewhere",
                          .operands = {{"condition"}, {"a"}, {"b"}},
                          .infer = infer_select,
                          .body = [](X x) { return hocket::select(x[0], x[1], x[2]); },
                          .exactly_rounded = true};

constinit const Op cast{.name = "cast",
                        .doc =
                            "x in another dtype; floats round to nearest even (f64 to 16 bits "
                            "through f32), integers "
                            "wrap, a float to an integer drops its fraction",
                        .operands = one,
                        .attributes = {{"dtype", AttributeKind::dtype, "of the result"}},
                        .infer = infer_cast,
                        .body = [](X x) { return x[0]; },  // tracing adds the conversion
                        .exactly_rounded = true};

constinit const Op relu{
    .name = "relu", .doc = "max(x, 0)", .operands = one, .infer = same_numeric, .body = [](X x) {
      return hocket::max(x[0], 0);
    }};

constinit const Op sigmoid{.name = "sigmoid",
                           .doc = "1 / (1 + exp(-x))",
                           .operands = one,
                           .infer = same_floating,
                           .body = [](X x) { return sigmoid_of(x[0]); }};

constinit const Op gelu{.name = "gelu",
                        .doc = "x times the normal integral up to x, by erf",
                        .operands = one,
                        .infer = same_floating,
                        .body = [](X x) { return x[0] * normal_up_to(x[0]); }};

constinit const Op gelu_tanh{.name = "gelu_tanh",
                             .doc = "the tanh form of gelu",
                             .operands = one,
                             .infer = same_floating,
                             .body = [](X x) { return 0.5 * x[0] * (1 + gelu_tanh_inner(x[0])); }};

constinit const Op silu{.name = "silu",
                        .doc = "x sigmoid(x)",
                        .operands = one,
                        .infer = same_floating,
                        .body = [](X x) { return x[0] / (1 + hocket::exp(-x[0])); }};

constinit const Op hardswish{
    .name = "hardswish",
    .doc = "x clamp(x + 3, 0, 6) / 6",
    .operands = one,
    .infer = same_floating,
    .body = [](X x) { return x[0] * hocket::min(hocket::max(x[0] + 3, 0), 6) / 6; }};

constinit const Op sigmoid_grad{.name = "sigmoid_grad",
                                .doc = "gradient of sigmoid from its result y",
                                .operands = {{"dy"}, {"y"}},
                                .infer = same_floating,
                                .body = [](X x) { return x[0] * (1 - x[1]) * x[1]; }};

constinit const Op tanh_grad{.name = "tanh_grad",
                             .doc = "gradient of tanh from its result y",
                             .operands = {{"dy"}, {"y"}},
                             .infer = same_floating,
                             .body = [](X x) { return x[0] * (1 - x[1] * x[1]); }};

constinit const Op gelu_grad{.name = "gelu_grad",
                             .doc = "gradient of gelu",
                             .operands = gradient,
                             .infer = same_floating,
                             .body = [](X x) { return x[0] * gelu_slope(x[1]); }};

constinit const Op gelu_tanh_grad{.name = "gelu_tanh_grad",
                                  .doc = "gradient of gelu_tanh",
                                  .operands = gradient,
                                  .infer = same_floating,
                                  .body = [](X x) { return x[0] * gelu_tanh_slope(x[1]); }};

constinit const Op silu_grad{.name = "silu_grad",
                             .doc = "gradient of silu",
                             .operands = gradient,
                             .infer = same_floating,
                             .body = [](X x) { return x[0] * silu_slope(x[1]); }};

constinit const Op hardswish_grad{.name = "hardswish_grad",
                                  .doc = "gradient of hardswish",
                                  .operands = gradient,
                                  .infer = same_floating,
                                  .body = [](X x) { return x[0] * hardswish_slope(x[1]); }};

}  // namespace hocket::ops

// Elementwise ops: each is its body.

#include "hocket/base/error.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/scalar.h"

namespace hocket::ops {
namespace {

using X = std::span<const Scalar>;
constexpr RecordList<OperandSpec, 12> one{{"x"}};
constexpr RecordList<OperandSpec, 12> two{{"a"}, {"b"}};

std::vector<Type> infer_select(const InferCall& c) {
  if (c.inputs[0]->dtype != DType::boolean)
    fail("{}: condition is {}, wanted bool", c.op.name, to_text(*c.inputs[0]));
  require_same_dtype(c, 1);
  return {{c.inputs[1]->dtype, false, common_shape(c)}};
}

std::vector<Type> infer_cast(const InferCall& c) {
  return {{c.attr<DType>("dtype"), false, c.inputs[0]->shape}};
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

constinit const Op neg{.name = "neg",
                       .doc = "-x; of a float the sign bit alone",
                       .operands = one,
                       .infer = same_numeric,
                       .body = [](X x) { return -x[0]; },
                       .exactly_rounded = true};

constinit const Op maximum{.name = "maximum",
                           .doc = "the larger of a and b; a NaN wins",
                           .operands = two,
                           .infer = same_numeric,
                           .body = [](X x) { return max(x[0], x[1]); }};

constinit const Op minimum{.name = "minimum",
                           .doc = "the smaller of a and b; a NaN wins",
                           .operands = two,
                           .infer = same_numeric,
                           .body = [](X x) { return min(x[0], x[1]); }};

constinit const Op relu{
    .name = "relu", .doc = "max(x, 0)", .operands = one, .infer = same_numeric, .body = [](X x) {
      return max(x[0], 0);
    }};

constinit const Op sqrt{.name = "sqrt",
                        .doc = "square root",
                        .operands = one,
                        .infer = same_floating,
                        .body = [](X x) { return hocket::sqrt(x[0]); },
                        .exactly_rounded = true};

constinit const Op exp{.name = "exp",
                       .doc = "e to the power of x",
                       .operands = one,
                       .infer = same_floating,
                       .body = [](X x) { return hocket::exp(x[0]); }};

constinit const Op tanh{.name = "tanh",
                        .doc = "hyperbolic tangent",
                        .operands = one,
                        .infer = same_floating,
                        .body = [](X x) { return hocket::tanh(x[0]); }};

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

constinit const Op select{.name = "select",
                          .doc = "a where the condition holds, b elsewhere",
                          .operands = {{"condition"}, {"a"}, {"b"}},
                          .infer = infer_select,
                          .body = [](X x) { return hocket::select(x[0], x[1], x[2]); },
                          .exactly_rounded = true};

constinit const Op cast{.name = "cast",
                        .doc =
                            "x in another dtype; floats round to nearest even (f64 to 16 bits "
                            "through f32), integers wrap, a "
                            "float to an integer drops its fraction",
                        .operands = one,
                        .attributes = {{"dtype", AttributeKind::dtype, "of the result"}},
                        .infer = infer_cast,
                        .body = [](X x) { return x[0]; },  // tracing adds the conversion
                        .exactly_rounded = true};

}  // namespace hocket::ops

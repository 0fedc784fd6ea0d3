"""Elementwise operators: pointwise, comparisons, special values, ints, bf16, forms of scalars, in place."""

import math

import torch

from .capture import Case, aten, keep_inputs, split_off

bf16, f16, f32, f64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
inf, nan = math.inf, math.nan

# Operators of one tensor, by the domain they want.
ANY = """abs neg sin cos tan tanh sigmoid exp expm1 erf erfc atan asinh sinh cosh relu ceil floor round trunc frac sign
square reciprocal silu gelu hardswish hardsigmoid hardtanh relu6 leaky_relu elu softplus mish selu celu exp2
logical_not isnan isinf isfinite signbit log_sigmoid positive clone alias detach""".split()
POSITIVE = "log log2 log10 log1p sqrt rsqrt".split()
UNIT = "acos asin atanh".split()
ABOVE_ONE = ["acosh"]
INPLACE = """abs neg sin cos tan tanh sigmoid exp expm1 erf erfc atan asinh sinh cosh relu ceil floor round trunc frac sign
square reciprocal silu gelu hardswish hardsigmoid hardtanh relu6 leaky_relu elu mish selu celu exp2 logical_not
log log2 log10 log1p sqrt rsqrt acos asin atanh acosh""".split()
SPECIAL = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3e37, -3e37, 1e-40, 88.0, -104.0, 20.5]


def default(name):
    return getattr(aten, name).default


def domain(c, name, *shape):
    if name in POSITIVE:
        return c.rand(*shape)
    if name in UNIT:
        return c.rand(*shape) - 1
    if name in ABOVE_ONE:
        return c.rand(*shape) + 1
    return c.randn(*shape) * 2


def pointwise():
    c = Case("ops_pointwise", "operators of one tensor: a matrix, no dimension, no element")
    inputs = {}
    for n in ANY + POSITIVE + UNIT + ABOVE_ONE:
        kind = "x" if n in ANY else "positive" if n in POSITIVE else "unit" if n in UNIT else "above_one"
        if kind not in inputs:
            inputs[kind] = c.input(kind, domain(c, n, 3, 5)), c.input(f"{kind}_0d", domain(c, n)), c.input(f"{kind}_none", torch.zeros(0, 2))
        if n == "log_sigmoid":
            for what, t in zip(("", "_0d", "_none"), inputs[kind]):
                c.op(f"{n}{what}", aten.log_sigmoid.default, t)
                c.op(f"{n}_forward{what}", aten.log_sigmoid_forward.default, t, only=[0])
            continue
        for what, t in zip(("", "_0d", "_none"), inputs[kind]):
            c.op(f"{n}_default{what}", default(n), t)
    x = inputs["x"][0]
    c.op("gelu_tanh", aten.gelu.default, x, approximate="tanh")
    c.op("hardtanh_bounds", aten.hardtanh.default, x, -0.5, 2)
    c.op("leaky_relu_slope", aten.leaky_relu.default, x, 0.2)
    c.op("leaky_relu_negative_slope", aten.leaky_relu.default, x, -0.5)
    c.op("elu_args", aten.elu.default, x, 0.5, 2, 1.5)
    c.op("softplus_args", aten.softplus.default, x, 2, 1.0)
    c.op("celu_alpha", aten.celu.default, x, 0.5)
    c.op("threshold", aten.threshold.default, x, 0.1, 20)
    c.op("round_decimals", aten.round.decimals, x, decimals=1)
    c.op("logit_eps", aten.logit.default, c.input("p", c.rand(4) / 2), 0.2)
    c.op("logit_default", aten.logit.default, c.input("p1", c.rand(4) / 2))
    c.op("nan_to_num", aten.nan_to_num.default, c.input("s", torch.tensor([nan, inf, -inf, 1.0])))
    c.op("nan_to_num_args", aten.nan_to_num.default, c.input("s1", torch.tensor([nan, inf, -inf, 1.0])), 1.5, 2.5, -3.5)
    c.op("prelu", aten._prelu_kernel.default, x, c.input("a", c.rand(5)))
    c.op("glu", aten.glu.default, c.input("even", c.randn(3, 4)), -1)
    c.op("hardshrink", aten.hardshrink.default, x, 0.6)
    c.op("softshrink", aten.softshrink.default, x, 0.4)
    c.op("sgn", aten.sgn.default, x)
    c.op("view_dtype_free", aten.contiguous.default, x)
    c.op("lift_fresh", aten.lift_fresh.default, x)
    c.op("lift_fresh_copy", aten.lift_fresh_copy.default, x)
    c.op("view_copy_alias", aten.alias_copy.default, x)
    c.op("detach_copy", aten.detach_copy.default, x)
    c.op("clone_contiguous", aten.clone.default, c.call("xt", aten.t.default, x), memory_format=torch.contiguous_format)
    split_off(
        c,
        "ops_pointwise_more",
        "operators of one tensor that few graphs contain",
        "signbit logit nan_to_num hardshrink softshrink sgn _prelu_kernel glu celu selu positive alias_copy detach_copy frac",
    )


def binary():
    c = Case("ops_binary", "operators of two and three tensors, with broadcasting and mixed dtypes")
    x, y, row = c.input("x", c.randn(2, 3)), c.input("y", c.rand(2, 3)), c.input("row", c.rand(3))
    col, z = c.input("col", c.rand(2, 1)), c.input("z", c.rand())
    d, h, i = c.input("d", c.rand(2, 3, dtype=f64)), c.input("h", c.rand(2, 3, dtype=bf16)), c.input("i", c.randint(1, 6, (3,)))
    none = c.input("none", torch.zeros(0, 3))
    ops = {n: getattr(aten, n).Tensor for n in "add sub mul div remainder fmod".split()}
    ops |= {n: default(n) for n in "maximum minimum atan2 fmax fmin floor_divide hypot copysign_ logaddexp".split() if n != "copysign_"}
    ops["pow"] = aten.pow.Tensor_Tensor
    ops["copysign"] = aten.copysign.Tensor
    ops["xlogy"] = aten.xlogy.Tensor
    for n, target in ops.items():
        left = y if n in ("pow", "xlogy") else x
        c.op(f"{n}_tensor", target, left, y)
        c.op(f"{n}_broadcast_row", target, left, row)
        c.op(f"{n}_outer", target, col, row)
        c.op(f"{n}_0d", target, left, z)
        c.op(f"{n}_0d_first", target, z, row)
        c.op(f"{n}_none", target, none, row)
        if n not in ("hypot", "logaddexp"):
            c.op(f"{n}_f32_f64", target, left, d)
            c.op(f"{n}_float_int", target, left, i)
            c.op(f"{n}_int_float", target, i, row)
        if n not in ("hypot", "logaddexp", "fmax", "fmin"):
            c.op(f"{n}_f32_bf16", target, left, h)
    c.op("div_mode_floor", aten.div.Tensor_mode, x, y, rounding_mode="floor")
    c.op("div_mode_trunc", aten.div.Tensor_mode, x, y, rounding_mode="trunc")
    c.op("true_divide", aten.true_divide.Tensor, x, y)
    c.op("lerp_tensor", aten.lerp.Tensor, x, y, row)
    c.op("addcmul_broadcast", aten.addcmul.default, x, col, row, value=2)
    c.op("addcdiv_broadcast", aten.addcdiv.default, x, col, row, value=-1.5)
    m, n = c.input("m", torch.tensor([[True, False, True]])), c.input("n", torch.tensor([[True], [False]]))
    c.op("where", aten.where.self, m, x, y)
    c.op("where_broadcast", aten.where.self, n, row, col)
    c.op("where_0d", aten.where.self, m, z, x)
    c.op("where_mixed", aten.where.self, m, x, d)
    c.op("where_int_float", aten.where.self, m, i, x)
    c.op("where_scalar_self", aten.where.ScalarSelf, m, 1.5, x)
    c.op("where_scalar_other", aten.where.ScalarOther, m, x, -1)
    c.op("where_scalars", aten.where.Scalar, m, 1.0, 2.0)
    c.op("masked_fill_scalar", aten.masked_fill.Scalar, x, m, -inf)
    c.op("masked_fill_scalar_int", aten.masked_fill.Scalar, i, m, 7)
    c.op("masked_fill_tensor", aten.masked_fill.Tensor, x, n, z)
    c.op("clamp_tensor", aten.clamp.Tensor, x, c.call("low", aten.neg.default, row), col)
    c.op("mul_bool_float", aten.mul.Tensor, m, x)
    c.op("add_bools", aten.add.Tensor, m, n)
    c.op("mul_bools", aten.mul.Tensor, m, n)
    c.op("copy", aten.copy.default, x, row)
    c.op("copy_casts", aten.copy.default, i, row)
    c.op("expand_as", aten.expand_as.default, row, x)
    c.op("threshold_backward", aten.threshold_backward.default, x, y, 1)
    c.op("stack_of_add", aten.stack.default, [x, y], 1)
    split_off(c, "ops_binary_more", "operators of two tensors that few graphs contain", "hypot copysign logaddexp xlogy fmax fmin")


def compare():
    c = Case("ops_compare", "comparisons and logic with tensors and scalars, NaN and mixed dtypes among them")
    x = c.input("x", torch.tensor([1.0, nan, -0.0, inf, 2.0, -3.0]))
    y = c.input("y", torch.tensor([1.0, nan, 0.0, inf, 2.5, -4.0]))
    i, j = c.input("i", torch.tensor([1, 2, 0, -1, 2, 5])), c.input("j", torch.tensor([1, 3, 0, 1, 2, -5], dtype=torch.int32))
    b, o = c.input("b", torch.tensor([True, False] * 3)), c.input("o", torch.tensor([True] * 3 + [False] * 3))
    h, z = c.input("h", torch.tensor([1.0, 2.0, 0.5, 1.0, 2.0, -3.0], dtype=bf16)), c.input("z", torch.tensor(2.0))
    col = c.input("col", torch.tensor([[0.0], [2.0]]))
    for n in "eq ne lt le gt ge".split():
        tensor, scalar = getattr(aten, n).Tensor, getattr(aten, n).Scalar
        c.op(f"{n}_tensor", tensor, x, y)
        c.op(f"{n}_broadcast", tensor, x, col)
        c.op(f"{n}_0d", tensor, x, z)
        c.op(f"{n}_ints", tensor, i, j)
        c.op(f"{n}_int_float", tensor, i, x)
        c.op(f"{n}_f32_bf16", tensor, x, h)
        c.op(f"{n}_bools", tensor, b, o)
        c.op(f"{n}_scalar_int", scalar, x, 2)
        c.op(f"{n}_scalar_float", scalar, x, 2.0)
        c.op(f"{n}_scalar_nan", scalar, x, nan)
        c.op(f"{n}_int_scalar_float", scalar, i, 1.5)
        c.op(f"{n}_int_scalar_int", scalar, i, 2)
        c.op(f"{n}_bool_scalar", scalar, b, 1)
        c.op(f"{n}_bf16_scalar", scalar, h, 1.999)
    for n in "logical_and logical_or logical_xor".split():
        c.op(f"{n}_bools", default(n), b, o)
        c.op(f"{n}_floats", default(n), x, y)
        c.op(f"{n}_int_bool", default(n), i, b)
        c.op(f"{n}_broadcast", default(n), col, o)
    c.op("isclose", aten.isclose.default, c.input("p", torch.tensor([1.0, 1.1])), c.input("q", torch.tensor([1.0000001, 1.2])))
    c.op("equal_shape_all", aten.all.default, c.call("eq_x_y", aten.eq.Tensor, x, x))
    split_off(c, "ops_compare_more", "comparisons that few graphs contain", "isclose")


def special():
    c = Case("ops_special", "NaN, infinities, -0, halves, overflow and denormals through the operators of one and two tensors")
    x = c.input("x", torch.tensor(SPECIAL))
    trigonometric = {"sin", "cos", "tan"}  # of huge arguments: left out, libraries differ
    for n in ANY + POSITIVE + UNIT + ABOVE_ONE:
        if n in trigonometric or n in ("positive", "clone", "alias", "detach", "log_sigmoid"):
            continue
        c.op(f"{n}_special", default(n), x)
    c.op("gelu_tanh_special", aten.gelu.default, x, approximate="tanh")
    c.op("log_sigmoid_special", aten.log_sigmoid.default, x)
    few = c.input("few", torch.tensor([nan, inf, -inf, 0.0, -0.0, 2.0, -3.0]))
    other = c.input("other", torch.tensor([nan, inf, -inf, 0.0, -0.0, 2.0, -3.0]).reshape(7, 1))
    for n in "add sub mul div remainder fmod".split():
        c.op(f"{n}_special", getattr(aten, n).Tensor, few, other)
    for n in "maximum minimum atan2 fmax fmin".split():
        c.op(f"{n}_special", default(n), few, other)
    c.op("pow_special", aten.pow.Tensor_Tensor, few, other)
    c.op("div_floor_special", aten.div.Tensor_mode, few, other, rounding_mode="floor")
    c.op("sum_special", aten.sum.dim_IntList, c.call("products", aten.mul.Tensor, few, other), [1])
    c.op("half_to_even", aten.round.default, c.input("halves", torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5])))
    split_off(c, "ops_special_more", "the same of operators that few graphs contain", "signbit celu selu frac fmax fmin")


def ints():
    c = Case("ops_ints", "integers: operators that stay integer, that turn float, wrap around, divide towards the floor")
    types = {"i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8}
    t = {n: c.input(n, c.randint(0 if n == "u8" else -9, 10, (6,), d)) for n, d in types.items()}
    k = {n: c.input(f"{n}_nonzero", c.randint(1, 6, (6,), d)) for n, d in types.items()}
    b = c.input("b", torch.tensor([True, False] * 3))
    for n, v in t.items():
        for op in "abs neg sign square relu clone floor bitwise_not logical_not".split():
            if not (n == "u8" and op == "abs"):
                c.op(f"{op}_{n}", default(op), v)
        for op in "add sub mul div remainder fmod".split():
            c.op(f"{op}_{n}", getattr(aten, op).Tensor, v, k[n])
        for op in "maximum minimum floor_divide".split():
            c.op(f"{op}_{n}", default(op), v, k[n])
        c.op(f"div_trunc_{n}", aten.div.Tensor_mode, v, k[n], rounding_mode="trunc")
        c.op(f"add_scalar_{n}", aten.add.Tensor, v, 3)
        c.op(f"mul_float_scalar_{n}", aten.mul.Tensor, v, 0.5)
        c.op(f"sum_{n}", aten.sum.default, v)
        c.op(f"amax_{n}", aten.amax.default, v)
        c.op(f"argmax_{n}", aten.argmax.default, v)
        c.op(f"cumsum_{n}", aten.cumsum.default, v, 0)
        c.op(f"where_{n}", aten.where.self, b, v, k[n])
    for op in "exp sin sqrt sigmoid tanh reciprocal rsqrt log erf".split():
        c.op(f"{op}_of_int", default(op), k["i64"])
        c.op(f"{op}_of_bool", default(op), b)
    wrap = c.input("wrap", torch.tensor([127, -128, 100], dtype=torch.int8))
    c.op("add_wraps", aten.add.Tensor, wrap, wrap)
    c.op("mul_wraps", aten.mul.Tensor, wrap, wrap)
    c.op("neg_wraps", aten.neg.default, wrap)
    c.op("u8_sub_wraps", aten.sub.Tensor, t["u8"], k["u8"])
    pairs = [("i8", "i64"), ("i8", "u8"), ("i16", "i32"), ("u8", "i16")]
    for p, q in pairs:
        c.op(f"add_{p}_{q}", aten.add.Tensor, t[p], t[q])
    c.op("add_bool_i8", aten.add.Tensor, b, t["i8"])
    c.op("add_i64_bf16", aten.add.Tensor, t["i64"], c.input("h", c.randn(6, dtype=bf16)))
    c.op("add_i64_f16_scalar", aten.add.Tensor, t["i64"], c.input("g", c.randn(6, dtype=f16)))
    c.op("remainder_scalar", aten.remainder.Scalar, t["i64"], 4)
    c.op("remainder_negative_scalar", aten.remainder.Scalar, t["i64"], -4)
    c.op("remainder_scalar_tensor", aten.remainder.Scalar_Tensor, 7, k["i64"])
    c.op("fmod_scalar", aten.fmod.Scalar, t["i64"], 4)
    c.op("sign_bool", aten.sign.default, b)
    c.op("abs_bool_as_int", aten.abs.default, c.call("to_int", aten._to_copy.default, b, dtype=torch.int32))
    c.op("clamp_i32", aten.clamp.default, t["i32"], -2, 2)
    c.op("pow_i32", aten.pow.Tensor_Scalar, t["i32"], 2)
    c.op("gt_bool_int", aten.gt.Tensor, t["i64"], b)
    c.op("max_bool", aten.amax.default, b)
    c.op("any_int", aten.any.default, t["i64"])
    c.op("all_int", aten.all.default, t["i64"])


def half_precision():
    for name, dtype in (("bf16", bf16), ("f16", f16)):
        c = Case(f"ops_{name}", f"{name}: computed wide, rounded once; mixed with f32 and with numbers")
        x, y = c.input("x", c.randn(4, 16, dtype=dtype)), c.input("y", c.rand(4, 16, dtype=dtype))
        w, z = c.input("w", c.randn(16)), c.input("z", c.rand(dtype=dtype))
        for n in "abs neg sin cos tanh sigmoid exp erf relu floor round sign reciprocal silu gelu hardswish hardsigmoid leaky_relu elu softplus mish square".split():
            c.op(f"{n}_default", default(n), x)
        for n in POSITIVE:
            c.op(f"{n}_default", default(n), y)
        for n in "add sub mul div".split():
            target = getattr(aten, n).Tensor
            c.op(f"{n}_tensor", target, x, y)
            c.op(f"{n}_with_f32", target, x, w)
            c.op(f"{n}_0d", target, x, z)
            # A CPU rounds the number of a sum to the dtype, a GPU does not: one that both hold exactly.
            c.op(f"{n}_number", target, x, 0.3 if n in ("mul", "div") else 0.25)
            c.op(f"{n}_int", target, x, 3)
        c.op("add_alpha", aten.add.Tensor, x, y, alpha=0.5)
        c.op("pow_2", aten.pow.Tensor_Scalar, x, 2)
        c.op("pow_half", aten.pow.Tensor_Scalar, y, 0.5)
        c.op("maximum", aten.maximum.default, x, y)
        c.op("clamp", aten.clamp.default, x, -0.3, 0.7)
        c.op("lt", aten.lt.Tensor, x, y)
        c.op("where", aten.where.self, c.call("gt", aten.gt.Scalar, x, 0), x, y)
        c.op("sum_all", aten.sum.default, x)
        c.op("sum_dim", aten.sum.dim_IntList, x, [1])
        c.op("mean_dim", aten.mean.dim, x, [-1], True)
        c.op("var", aten.var.correction, x, [1], correction=0)
        c.op("amax", aten.amax.default, x, [1])
        c.op("softmax", aten._softmax.default, x, -1, False)
        c.op("log_softmax", aten._log_softmax.default, x, -1, False)
        m = c.input("m", c.randn(16, 5, dtype=dtype))
        c.op("mm", aten.mm.default, x, m)
        c.op("addmm", aten.addmm.default, c.input("bias", c.randn(5, dtype=dtype)), x, m)
        c.op("bmm", aten.bmm.default, c.input("b1", c.randn(2, 3, 4, dtype=dtype)), c.input("b2", c.randn(2, 4, 2, dtype=dtype)))
        c.op("linear", aten.linear.default, x, c.input("lw", c.randn(3, 16, dtype=dtype)), None)
        c.op("layer_norm", aten.native_layer_norm.default, x, [16], None, None, 1e-5, only=[0])
        c.op("embedding", aten.embedding.default, x, c.input("ids", c.randint(0, 4, (3,))))
        c.op("threshold_backward", aten.threshold_backward.default, y, x, 0)
        c.op("gelu_backward", aten.gelu_backward.default, y, x)
        c.op("silu_backward", aten.silu_backward.default, y, x)
        c.op("tanh_backward", aten.tanh_backward.default, x, y)
        c.op("sigmoid_backward", aten.sigmoid_backward.default, x, y)
        c.op("addcmul", aten.addcmul.default, x, y, y, value=0.5)
        c.op("lerp", aten.lerp.Scalar, x, y, 0.1)
        if dtype is bf16:
            c.op("convolution", aten.convolution.default, c.input("img", c.randn(1, 2, 4, 4, dtype=dtype)), c.input("k", c.randn(3, 2, 3, 3, dtype=dtype)), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        c.op("cat_with_f32", aten.cat.default, [x, c.input("f", c.randn(1, 16))])
        c.op("full_like", aten.full_like.default, x, 0.1)
        inplace = c.call("clone", aten.clone.default, x)
        c.call("add_", aten.add_.Tensor, inplace, w, alpha=0.1)
        c.out(inplace)


def scalar_forms():
    c = Case("ops_scalar_forms", "Scalar overloads with ints, floats and bools on float, int and bool tensors")
    x, i, b = c.input("x", c.randn(2, 3)), c.input("i", c.randint(-9, 9, (4,))), c.input("b", torch.tensor([True, False]))
    for n in "add sub mul div".split():
        target = getattr(aten, n).Scalar
        for what, v in (("int", 3), ("float", 1.5), ("negative", -2)):
            c.op(f"{n}_x_{what}", target, x, v)
            c.op(f"{n}_i_{what}", target, i, v)
            if n != "sub":
                c.op(f"{n}_b_{what}", target, b, v)
    for n in "add mul".split():
        c.op(f"{n}_x_bool", getattr(aten, n).Scalar, x, True)
    for n in "add sub mul div".split():
        for what, v in (("int", 3), ("float", 1.5)):
            c.op(f"{n}_tensor_x_{what}", getattr(aten, n).Tensor, x, v)
            c.op(f"{n}_tensor_i_{what}", getattr(aten, n).Tensor, i, v)
    for mode in ("floor", "trunc", None):
        c.op(f"div_scalar_mode_{mode}", aten.div.Scalar_mode, x, 0.4, rounding_mode=mode)
        c.op(f"div_scalar_mode_int_{mode}", aten.div.Scalar_mode, i, 2, rounding_mode=mode)
    for what, v in (("int", 2), ("float", 0.75)):
        c.op(f"remainder_{what}", aten.remainder.Scalar, x, v)
        c.op(f"fmod_{what}", aten.fmod.Scalar, x, v)
        c.op(f"floor_divide_{what}", aten.floor_divide.Scalar, x, v)
        c.op(f"remainder_i_{what}", aten.remainder.Scalar, i, v)
        c.op(f"rsub_{what}", aten.rsub.Scalar, x, v)
        c.op(f"xlogy_{what}", aten.xlogy.Scalar_Self, v, c.input(f"pos_{what}", c.rand(3)))
    c.op("pow_i_float", aten.pow.Tensor_Scalar, c.input("n", torch.tensor([1, 2, 9])), 1.5)
    c.op("clamp_ints", aten.clamp.default, x, -1, 1)
    c.op("clamp_mixed", aten.clamp.default, x, -1, 0.5)
    c.op("fill_int", aten.fill.Scalar, x, 3)
    c.op("masked_fill_int", aten.masked_fill.Scalar, x, c.call("gt", aten.gt.Scalar, x, 0), 1)
    c.op("hardtanh_ints", aten.hardtanh.default, x, 0, 1)
    c.op("lerp_int", aten.lerp.Scalar, x, c.call("neg", aten.neg.default, x), 1)
    c.op("addcmul_int", aten.addcmul.default, x, x, x, value=2)
    split_off(c, "ops_scalar_forms_more", "scalar forms that few graphs contain", "xlogy")


RARE_INPLACE = set("""eq_ ne_ lt_ le_ gt_ ge_ cumsum_ tril_ triu_ nan_to_num_ dropout_ index_fill_ index_copy_ celu_ selu_
addmv_ baddbmm_ frac_ fmod_ remainder_ floor_divide_""".split())


def inplace(rare):
    name = "ops_inplace_more" if rare else "ops_inplace"
    c = Case(name, "in-place forms%s: `NAME_self` is a clone that is written; it is the output" % (" that few graphs contain" if rare else ""))
    shape = (2, 3)
    values = {"x": c.randn(*shape) * 2, "positive": c.rand(*shape), "unit": c.rand(*shape) - 1, "above_one": c.rand(*shape) + 1}
    inputs = {n: c.input(n, v) for n, v in values.items()}
    y, row, z = c.input("y", c.rand(*shape)), c.input("row", c.rand(3)), c.input("z", c.rand())
    i, b = c.input("i", c.randint(-9, 9, shape)), c.input("b", c.randint(0, 2, shape, torch.bool))

    def write(name, target, self, *args, **kwargs):
        if (str(target).split(".")[1] in RARE_INPLACE) != rare:
            return None
        t = c.call(f"{name}_self", aten.clone.default, self)
        r = c.call(name, target, t, *args, **kwargs)
        c.out(t)
        return r

    for n in INPLACE:
        kind = "positive" if n in POSITIVE else "unit" if n in UNIT else "above_one" if n in ABOVE_ONE else "x"
        write(f"{n}_", getattr(aten, f"{n}_").default, inputs[kind])
    x = inputs["x"]
    for n in "add sub mul div remainder fmod".split():
        target = getattr(aten, f"{n}_")
        write(f"{n}_tensor", target.Tensor, x, y)
        write(f"{n}_row", target.Tensor, x, row)
        write(f"{n}_0d", target.Tensor, x, z)
        write(f"{n}_scalar", target.Scalar, x, 1.5)
        write(f"{n}_int", target.Scalar, x, 2)
    for n in "add sub mul div".split():
        write(f"{n}_number", getattr(aten, f"{n}_").Tensor, x, 0.5)
    for n in "add sub".split():
        write(f"{n}_alpha", getattr(aten, f"{n}_").Tensor, x, y, alpha=-0.5)
        write(f"{n}_int_alpha", getattr(aten, f"{n}_").Tensor, i, i, alpha=3)
    write("div_floor", aten.div_.Tensor_mode, x, y, rounding_mode="floor")
    write("div_scalar_trunc", aten.div_.Scalar_mode, x, 0.3, rounding_mode="trunc")
    write("floor_divide", aten.floor_divide_.Tensor, x, y)
    write("pow_scalar", aten.pow_.Scalar, x, 2)
    write("pow_tensor", aten.pow_.Tensor, y, row)
    write("clamp", aten.clamp_.default, x, -0.5, 1)
    write("clamp_tensor", aten.clamp_.Tensor, x, row)
    write("clamp_min", aten.clamp_min_.default, x, 0)
    write("clamp_max", aten.clamp_max_.default, x, 0.5)
    write("hardtanh_args", aten.hardtanh_.default, x, 0, 6)
    write("leaky_relu_args", aten.leaky_relu_.default, x, 0.3)
    write("elu_args", aten.elu_.default, x, 0.5)
    write("threshold", aten.threshold_.default, x, 0.5, 0)
    write("lerp_scalar", aten.lerp_.Scalar, x, y, 0.1)
    write("lerp_tensor", aten.lerp_.Tensor, x, y, row)
    write("addcmul", aten.addcmul_.default, x, y, row, value=0.5)
    write("addcdiv", aten.addcdiv_.default, x, y, row, value=-2)
    write("addmm", aten.addmm_.default, x, c.input("m1", c.randn(2, 4)), c.input("m2", c.randn(4, 3)), beta=0.5)
    write("addmv", aten.addmv_.default, row, c.input("m3", c.randn(3, 2)), c.input("v3", c.randn(2)))
    write("baddbmm", aten.baddbmm_.default, c.input("bb", c.randn(2, 2, 2)), c.input("b1", c.randn(2, 2, 3)), c.input("b2", c.randn(2, 3, 2)))
    write("copy", aten.copy_.default, x, row)
    write("copy_non_blocking", aten.copy_.default, x, i, True)
    write("fill_scalar", aten.fill_.Scalar, i, 4)
    write("fill_tensor", aten.fill_.Tensor, x, z)
    write("zero", aten.zero_.default, x)
    write("masked_fill_scalar", aten.masked_fill_.Scalar, x, b, 9)
    write("masked_fill_tensor", aten.masked_fill_.Tensor, x, b, z)
    write("scatter_value", aten.scatter_.value, x, 1, c.input("k", torch.tensor([[0, 2], [1, 1]])), 5.0)
    write("scatter_src", aten.scatter_.src, x, 1, c.input("k1", torch.tensor([[0, 2], [1, 1]])), y)
    write("scatter_add", aten.scatter_add_.default, x, 1, c.input("k2", torch.tensor([[0, 2], [1, 1]])), y)
    write("index_put", aten.index_put_.default, x, [c.input("k3", torch.tensor([1, 0]))], y, True)
    write("index_add", aten.index_add_.default, x, 1, c.input("k4", torch.tensor([2, 2])), c.input("u4", c.randn(2, 2)), alpha=-1)
    write("index_copy", aten.index_copy_.default, x, 0, c.input("k5", torch.tensor([1, 0])), y)
    write("index_fill", aten.index_fill_.int_Scalar, x, 1, c.input("k6", torch.tensor([1])), 3.0)
    for n in "logical_and logical_or logical_xor".split():
        write(n, getattr(aten, f"{n}_").default, b, i)
    for n in "bitwise_and bitwise_or bitwise_xor".split():
        write(f"{n}_tensor", getattr(aten, f"{n}_").Tensor, i, c.input(f"o_{n}", c.randint(0, 9, shape)))
        write(f"{n}_scalar", getattr(aten, f"{n}_").Scalar, i, 5)
    write("bitwise_not", aten.bitwise_not_.default, b)
    for n in "eq ne lt le gt ge".split():
        write(f"{n}_scalar", getattr(aten, f"{n}_").Scalar, x, 0)
        write(f"{n}_tensor", getattr(aten, f"{n}_").Tensor, x, y)
    write("cumsum", aten.cumsum_.default, x, 1)
    write("tril", aten.tril_.default, x)
    write("triu", aten.triu_.default, x, 1)
    write("nan_to_num", aten.nan_to_num_.default, x)
    write("copy_same_values", aten.copy_.default, x, x)
    write("detach", aten.detach_.default, x)
    write("dropout_p0", aten.dropout_.default, x, 0.0, True)
    if rare:
        return keep_inputs(c)
    write("relu_of_relu", aten.relu_.default, c.call("relu_first", aten.relu.default, x))
    r = write("chain", aten.add_.Tensor, x, 1)
    r = c.call("chain_mul", aten.mul_.Tensor, r, 2)
    c.call("chain_sub", aten.sub_.Tensor, r, row)
    c.op("add_to_itself", aten.add.Tensor, r, r)
    t = c.call("twice_self", aten.clone.default, x)
    c.call("twice", aten.mul_.Tensor, t, t)
    c.out(t)
    keep_inputs(c)


def inplace_views():
    c = Case("ops_inplace_views", "writes through views are seen by the base, by other views, and by the state they belong to", iterations=2)
    p = c.state("params_1", c.randn(3, 4))
    q = c.state("params_2", c.randn(2, 2, 3))
    x = c.input("x", lambda k, r: c.randn(3, 4))
    y = c.input("y", lambda k, r: c.randn(4))

    def through(name, view, *args):
        """Clones x, writes through a view of it, and gives the clone back."""
        base = c.call(f"{name}_base", aten.clone.default, x)
        v = c.call(f"{name}_view", view, base, *args)
        before = c.call(f"{name}_before", aten.clone.default, v)
        c.call(f"{name}_write", aten.mul_.Tensor, v, -2.0)
        c.call(f"{name}_write_more", aten.add_.Tensor, v, 0.5)
        c.out(base, v, before)

    through("select", aten.select.int, 0, 1)
    through("select_column", aten.select.int, 1, -1)
    through("slice", aten.slice.Tensor, 1, 1, 3)
    through("slice_step", aten.slice.Tensor, 1, 0, 4, 2)
    through("view", aten.view.default, [2, 6])
    through("transpose", aten.transpose.int, 0, 1)
    through("permute", aten.permute.default, [1, 0])
    through("t", aten.t.default)
    through("unsqueeze", aten.unsqueeze.default, 1)
    through("alias", aten.alias.default)
    through("detach", aten.detach.default)
    through("diagonal", aten.diagonal.default)
    through("diagonal_offset", aten.diagonal.default, 1)
    through("narrow", aten.narrow.default, 0, 1, 2)
    through("expand_of_same", aten.expand.default, [3, 4])
    through("reshape_view", aten.reshape.default, [4, 3])
    through("squeeze", aten.squeeze.default)
    through("view_as_flat", aten.view.default, [-1])
    through("unfold_disjoint", aten.unfold.default, 1, 2, 2)

    base = c.call("chain_base", aten.clone.default, x)
    rows = c.call("chain_rows", aten.slice.Tensor, base, 0, 1, 3)
    turned = c.call("chain_turned", aten.permute.default, rows, [1, 0])
    flat = c.call("chain_select", aten.select.int, turned, 0, 2)
    other = c.call("chain_other", aten.select.int, base, 1, 2)
    c.call("chain_write", aten.fill_.Scalar, flat, 7)
    c.call("chain_write_other", aten.add_.Tensor, other, 1)
    c.out(base, flat, other, turned)

    base = c.call("parts_base", aten.clone.default, x)
    parts = c.call("parts", aten.split.Tensor, base, 2, 1)
    left, right = c.get("part_left", parts, 0), c.get("part_right", parts, 1)
    c.call("part_write", aten.copy_.default, left, right)
    c.call("part_write_right", aten.zero_.default, right)
    c.out(base, left, right)
    rows = c.call("unbind", aten.unbind.int, base)
    c.call("unbind_write", aten.copy_.default, c.get("unbind_1", rows, 1), y)
    c.out(base)

    # Reads before and after, in an order that must be kept.
    base = c.call("order_base", aten.clone.default, x)
    v = c.call("order_view", aten.select.int, base, 0, 0)
    first = c.call("order_first", aten.add.Tensor, base, 1)
    c.call("order_write", aten.neg_.default, v)
    second = c.call("order_second", aten.add.Tensor, base, 1)
    c.call("order_write_base", aten.mul_.Tensor, base, 3)
    third = c.call("order_third", aten.add.Tensor, v, 1)
    c.out(first, second, third)

    # State through views.
    row = c.call("state_row", aten.select.int, p, 0, 2)
    c.call("state_write", aten.add_.Tensor, row, y)
    c.call("state_write_whole", aten.mul_.Tensor, p, 0.5)
    c.out(c.call("state_read_row", aten.add.Tensor, row, 0.0))
    deep = c.call("state_deep", aten.view.default, q, [4, 3])
    deep = c.call("state_deeper", aten.slice.Tensor, deep, 1, 0, 3, 2)
    c.call("state_deep_write", aten.sub_.Tensor, deep, 0.25)
    c.call("foreach_views", aten._foreach_add_.Scalar, [row, deep], 1)
    c.out(q)


def make():
    pointwise()
    binary()
    compare()
    special()
    ints()
    half_precision()
    scalar_forms()
    inplace(rare=False)
    inplace(rare=True)
    inplace_views()

"""Traps 13 to 25: types, scalars, and what an argument means."""

import math

import torch

from .capture import Case, aten
from .traps_state import adam_lists

bf16, f16, f32, f64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
inf, nan = math.inf, math.nan
LOWEST = -3.4028234663852886e38


def tensor(values, dtype=None):
    return torch.tensor(values, dtype=dtype)


def scalar_operands():
    c = Case(
        "trap13_scalar_operands",
        "a Python number in a Tensor slot does not promote, comes first or second, and in mul and div is not rounded to "
        "bf16; `error_*` shows the rounding of the result, enlarged (add and sub round it on a CPU, not on a GPU: left out)",
    )
    x, i, b = c.input("x", c.rand(2, 3)), c.input("i", c.randint(1, 9, (4,))), c.input("b", tensor([True, False]))
    h, g = c.input("h", c.rand(64, dtype=bf16)), c.input("g", c.rand(64, dtype=f16))
    c.op("div_tensor_int", aten.div.Tensor, x, 2)
    c.op("sub_scalar_first", aten.sub.Tensor, 1, x)
    c.op("div_scalar_first", aten.div.Tensor, 1.5, x)
    c.op("add_int_tensor_float", aten.add.Tensor, i, 2.5)
    c.op("mul_int_tensor_int", aten.mul.Tensor, i, 3)
    c.op("mul_bool_tensor_int", aten.mul.Tensor, b, 2)
    c.op("add_bool_tensor_bool", aten.add.Tensor, b, True)
    c.op("mul_int_tensor_bool", aten.mul.Tensor, i, True)
    c.op("sub_int_first_int", aten.sub.Tensor, 10, i)
    c.op("maximum_with_full", aten.maximum.default, x, c.call("one", aten.full.default, [], 1.0))
    c.op("floor_divide_number", aten.floor_divide.default, i, 2)
    c.op("rsub", aten.rsub.Scalar, x, 2, 3)
    for name, t in (("bf16", h), ("f16", g)):
        wide = c.call(f"{name}_wide", aten._to_copy.default, t, dtype=f64)
        for what, target, args, exact in (
            ("mul", aten.mul.Tensor, (t, 0.08838834764831845), (wide, 0.08838834764831845)),
            ("mul_third", aten.mul.Tensor, (t, 1 / 3), (wide, 1 / 3)),
            ("div", aten.div.Tensor, (t, 3), (wide, 3)),
            ("div_64", aten.div.Tensor, (t, 64), (wide, 64)),
        ):
            y = c.call(f"{name}_{what}", target, *args)
            y = c.call(f"{name}_{what}_wide", aten._to_copy.default, y, dtype=f64)
            z = c.call(f"{name}_{what}_exact", target, *exact)
            d = c.call(f"{name}_{what}_difference", aten.sub.Tensor, y, z)
            c.op(f"error_{name}_{what}", aten.mul.Tensor, d, 1000.0)


def zero_dim():
    c = Case("trap14_zero_dim", "a tensor without dimensions promotes across categories, not within one")
    one = {n: c.input(f"z_{n}", tensor(v, t)) for n, v, t in (
        ("f32", 1.5, f32), ("f64", 2.5, f64), ("bf16", 0.75, bf16), ("i64", 3, torch.int64), ("bool", True, torch.bool),
    )}  # fmt: skip
    many = {n: c.input(f"v_{n}", v) for n, v in (
        ("f32", c.randn(2, 3)), ("bf16", c.randn(4, dtype=bf16)), ("f16", c.randn(3, dtype=f16)),
        ("i32", c.randint(-5, 5, (3,), torch.int32)), ("u8", c.randint(0, 5, (3,), torch.uint8)),
        ("bool", tensor([True, False])), ("i64", c.randint(-9, 9, (2, 2))), ("f64", c.randn(2, dtype=f64)),
    )}  # fmt: skip
    for a, z in one.items():
        for b, v in many.items():
            c.op(f"add_{b}_{a}", aten.add.Tensor, v, z)
    for a, z in one.items():
        for b, y in one.items():
            c.op(f"mul_0d_{a}_{b}", aten.mul.Tensor, z, y)
    mask = c.input("mask", tensor([True, False, True]))
    c.op("where_0d", aten.where.self, mask, one["f32"], one["f64"])
    c.op("where_0d_f32_i64", aten.where.self, mask, one["f32"], one["i64"])
    c.op("where_bf16_f32_0d", aten.where.self, c.call("gt", aten.gt.Scalar, many["bf16"], 0), many["bf16"], one["f32"])
    c.op("where_f32_0d_mask", aten.where.self, one["bool"], many["f32"], one["f64"])
    c.op("div_i64_0d", aten.div.Tensor, many["i64"], one["i64"])
    c.op("lt_mixed", aten.lt.Tensor, many["i32"], one["f32"])


def integer_reductions():
    c = Case("trap15_integer_reductions", "sums of bool and small ints are int64, division of ints is float, powers stay ints, bf16 means accumulate wide")
    b = c.input("b", tensor([[True, False, True], [True, True, True]]))
    i8 = c.input("i8", tensor([[100, 100, 100], [-3, 4, 5]], torch.int8))
    i32 = c.input("i32", tensor([[7, -7, 3], [-3, 2**30, 2**30]], torch.int32))
    u8 = c.input("u8", tensor([200, 100], torch.uint8))
    for n, t in (("bool", b), ("i8", i8), ("i32", i32)):
        c.op(f"sum_{n}", aten.sum.default, t)
        c.op(f"sum_dim_{n}", aten.sum.dim_IntList, t, [1])
        c.op(f"cumsum_{n}", aten.cumsum.default, t, 1)
        c.op(f"prod_{n}", aten.prod.default, t)
        c.op(f"prod_dim_{n}", aten.prod.dim_int, t, 0)
        c.op(f"cumprod_{n}", aten.cumprod.default, t, 1)
    c.op("sum_u8", aten.sum.default, u8)
    c.op("sum_dtype_f32", aten.sum.default, b, dtype=f32)
    c.op("sum_dim_dtype_i32", aten.sum.dim_IntList, i8, [0], False, dtype=torch.int32)
    c.op("cumsum_dtype", aten.cumsum.default, i8, 0, dtype=f32)
    c.op("prod_dtype", aten.prod.default, i8, dtype=f64)
    c.op("mean_dtype", aten.mean.default, i32, dtype=f32)
    c.op("mean_dim_dtype", aten.mean.dim, b, [1], dtype=f32)
    d = c.input("d", tensor([[2, 2, -2], [2, 3, 7]], torch.int32))
    c.op("div_ints", aten.div.Tensor, i32, d)
    c.op("div_ints_trunc", aten.div.Tensor_mode, i32, d, rounding_mode="trunc")
    c.op("div_ints_floor", aten.div.Tensor_mode, i32, d, rounding_mode="floor")
    c.op("div_ints_none", aten.div.Tensor_mode, i32, d, rounding_mode=None)
    c.op("div_scalar_floor", aten.div.Scalar_mode, i32, 2, rounding_mode="floor")
    c.op("floor_divide", aten.floor_divide.default, i32, d)
    c.op("floor_divide_scalar", aten.floor_divide.Scalar, i32, -2)
    c.op("remainder", aten.remainder.Tensor, i32, d)
    c.op("fmod", aten.fmod.Tensor, i32, d)
    f = c.input("f", tensor([7.5, -7.5, 7.5, -7.5, 0.0, -0.0]))
    e = c.input("e", tensor([2.0, 2.0, -2.0, -2.0, 3.0, 3.0]))
    c.op("div_floats_floor", aten.div.Tensor_mode, f, e, rounding_mode="floor")
    c.op("div_floats_trunc", aten.div.Tensor_mode, f, e, rounding_mode="trunc")
    c.op("floor_divide_floats", aten.floor_divide.default, f, e)
    c.op("remainder_floats", aten.remainder.Tensor, f, e)
    c.op("fmod_floats", aten.fmod.Tensor, f, e)
    small = c.input("small", tensor([-3, -1, 0, 2, 5]))
    c.op("pow_int", aten.pow.Tensor_Scalar, small, 3)
    c.op("pow_int_int", aten.pow.Tensor_Tensor, small, c.input("p", tensor([0, 1, 2, 3, 4])))
    c.op("pow_int_float", aten.pow.Tensor_Scalar, c.input("positive", tensor([1, 2, 4])), 0.5)
    h = c.input("h", (c.rand(2, 2048) + 4).to(bf16))
    c.op("mean_bf16", aten.mean.default, h)
    c.op("mean_dim_bf16", aten.mean.dim, h, [1])
    c.op("mean_bf16_to_f32", aten.mean.dim, h, [-1], True, dtype=f32)


def reduced_dims():
    c = Case("trap16_empty_dims", "an empty or missing list of dims reduces all; negative dims; keepdim by position")
    x, b = c.input("x", c.randn(2, 3, 4)), c.input("b", c.randint(0, 2, (2, 3), torch.bool))
    for name, dims in (("none", None), ("empty", []), ("first", [0]), ("outer", [0, 2]), ("negative", [-1, -2]), ("all", [0, 1, 2])):
        for keep in (False, True):
            suffix = f"{name}_keep" if keep else name
            c.op(f"sum_{suffix}", aten.sum.dim_IntList, x, dims, keep)
            c.op(f"mean_{suffix}", aten.mean.dim, x, dims, keep)
            c.op(f"var_{suffix}", aten.var.correction, x, dims, correction=1, keepdim=keep)
            c.op(f"any_{suffix}", aten.any.dims, x if dims and 2 in dims or dims == [-1, -2] else b, dims if dims != [-1, -2] else [-1], keep)
            if dims is not None:
                c.op(f"amax_{suffix}", aten.amax.default, x, dims, keep)
    c.op("sum_dims_only", aten.sum.dim_IntList, b, [])
    c.op("amin_default", aten.amin.default, x)
    c.op("var_default", aten.var.correction, x)
    c.op("sum_of_0d", aten.sum.dim_IntList, c.call("total", aten.sum.default, x), [])
    c.op("sum_of_0d_dim", aten.sum.dim_IntList, c.call("total_1", aten.sum.default, x), [0])
    c.op("sum_of_none", aten.sum.dim_IntList, c.call("nothing", aten.full.default, [0, 3], 1.0), [0])
    c.op("mean_of_none", aten.mean.dim, c.call("nothing_1", aten.full.default, [0, 3], 1.0), [0])


def view_expand_slice():
    c = Case("trap17_view_expand_slice", "-1 infers in view and keeps in expand; bounds of slice clamp, count from the end, reach 2^63-1")
    x = c.input("x", c.randn(4, 6))
    v = c.input("v", c.randn(4, 1))
    end = 9223372036854775807
    c.op("view_infers", aten.view.default, x, [2, -1, 3])
    c.op("view_flat", aten.view.default, x, [-1])
    c.op("view_of_none", aten.view.default, c.call("none", aten.full.default, [0, 3], 0.0), [3, 0])
    c.op("unsafe_view_infers", aten._unsafe_view.default, x, [-1, 8])
    c.op("reshape_infers", aten.reshape.default, c.call("t", aten.t.default, x), [3, -1])
    c.op("expand_keeps", aten.expand.default, v, [-1, 5])
    c.op("expand_more_dims", aten.expand.default, v, [2, -1, -1])
    c.op("expand_new_and_one", aten.expand.default, v, [2, 4, 3])
    c.op("expand_0d", aten.expand.default, c.call("s", aten.full.default, [], 2.0), [2, 3])
    c.op("expand_implicit", aten.expand.default, v, [4, 2], implicit=True)
    c.op("slice_defaults", aten.slice.Tensor, x)
    c.op("slice_to_end", aten.slice.Tensor, x, 1, 2, end)
    c.op("slice_none_end", aten.slice.Tensor, x, 1, None, 3)
    c.op("slice_negative", aten.slice.Tensor, x, -1, -4, -1)
    c.op("slice_clamps", aten.slice.Tensor, x, 0, -100, 100)
    c.op("slice_step", aten.slice.Tensor, x, 1, 1, end, 2)
    c.op("slice_step_beyond", aten.slice.Tensor, x, 0, 0, 4, 7)
    c.op("slice_empty", aten.slice.Tensor, x, 0, 3, 1)
    c.op("slice_start_beyond", aten.slice.Tensor, x, 0, 9, end)
    s = c.input("s_src", c.randn(2, 6))
    c.op("slice_scatter_to_end", aten.slice_scatter.default, x, s, 0, 2, end)
    c.op("slice_scatter_step", aten.slice_scatter.default, x, s, 0, 0, 4, 2)
    c.op("slice_scatter_negative", aten.slice_scatter.default, x, s, 0, -3, -1)
    c.op("slice_scatter_whole", aten.slice_scatter.default, x, c.call("neg", aten.neg.default, x), 1, 0, end)
    c.op("select_negative", aten.select.int, x, -1, -2)
    c.op("narrow_negative", aten.narrow.default, x, 1, -3, 2)


def clamp_nan():
    c = Case("trap18_clamp_nan", "bounds that are null or ints; NaN passes through clamp, relu and the maxima")
    x = c.input("x", tensor([nan, inf, -inf, -1.0, -0.0, 0.5, 7.0]))
    y = c.input("y", tensor([1.0, nan, nan, nan, 0.0, 0.5, -7.0]))
    i = c.input("i", tensor([-5, 0, 3, 9]))
    c.op("clamp_max_only", aten.clamp.default, x, None, 6)
    c.op("clamp_min_only", aten.clamp.default, x, 0)
    c.op("clamp_both", aten.clamp.default, x, -0.5, 6.0)
    c.op("clamp_crossed", aten.clamp.default, x, 3, 1)
    c.op("clamp_kwargs", aten.clamp.default, x, max=2)
    c.op("clamp_nan_bound", aten.clamp.default, x, nan, None)
    c.op("clamp_tensor", aten.clamp.Tensor, x, y)
    c.op("clamp_tensor_max", aten.clamp.Tensor, x, None, y)
    c.op("clamp_tensor_both", aten.clamp.Tensor, x, y, c.call("two", aten.full.default, [], 2.0))
    c.op("clamp_int", aten.clamp.default, i, 0, 5)
    c.op("clamp_int_float_bound", aten.clamp.default, i, 0.5, None)
    c.op("clamp_int_both_float", aten.clamp.default, i, -1, 4.5)
    c.op("clamp_min", aten.clamp_min.default, x, 0)
    c.op("clamp_max", aten.clamp_max.default, x, 0.25)
    c.op("clamp_min_tensor", aten.clamp_min.Tensor, x, y)
    c.op("clamp_max_tensor", aten.clamp_max.Tensor, x, y)
    c.op("relu", aten.relu.default, x)
    c.op("relu6", aten.relu6.default, x)
    c.op("hardtanh", aten.hardtanh.default, x)
    c.op("maximum", aten.maximum.default, x, y)
    c.op("minimum", aten.minimum.default, x, y)
    c.op("fmax", aten.fmax.default, x, y)
    c.op("fmin", aten.fmin.default, x, y)
    c.op("amax", aten.amax.default, x)
    c.op("amin", aten.amin.default, x)
    c.op("max_dim", aten.max.dim, x, 0)
    c.op("min_dim", aten.min.dim, y, 0)
    c.op("max_all", aten.max.default, x)
    c.op("argmax", aten.argmax.default, x)
    c.op("argmin", aten.argmin.default, y)
    c.op("threshold", aten.threshold.default, x, 0.25, -3)


def bitwise_bool():
    c = Case("trap19_bitwise_bool", "bitwise operators on bool are logical; on ints they work on bits")
    b = c.input("b", tensor([[True, False, True], [False, False, True]]))
    z, o = c.input("z", tensor(True)), c.input("o", tensor([True, True, False]))
    i, j = c.input("i", tensor([5, -6, 0])), c.input("j", tensor([3, 12, -1]))
    u = c.input("u", tensor([0, 1, 200], torch.uint8))
    c.op("not_bool", aten.bitwise_not.default, b)
    c.op("not_0d", aten.bitwise_not.default, z)
    c.op("not_int", aten.bitwise_not.default, i)
    c.op("not_u8", aten.bitwise_not.default, u)
    c.op("and_0d", aten.bitwise_and.Tensor, z, b)
    for n in ("and", "or", "xor"):
        packet = getattr(aten, f"bitwise_{n}")
        c.op(f"{n}_bool", packet.Tensor, b, o)
        c.op(f"{n}_int", packet.Tensor, i, j)
        c.op(f"{n}_int_scalar", packet.Scalar, i, 6)
        c.op(f"{n}_bool_scalar", packet.Scalar, b, True)
        c.op(f"{n}_bool_int", packet.Tensor, o, i)
        c.op(f"{n}_dunder", getattr(aten, f"__{n}__").Tensor, b, o)
    c.op("sum_of_not", aten.sum.default, c.call("not_o", aten.bitwise_not.default, o))
    c.op("logical_not_int", aten.logical_not.default, i)
    c.op("logical_and_ints", aten.logical_and.default, i, u)
    c.op("logical_or_float", aten.logical_or.default, c.input("f", tensor([0.0, -0.0, nan])), o)
    c.op("logical_xor", aten.logical_xor.default, b, z)
    c.op("shift_left", aten.bitwise_left_shift.Tensor, i, c.input("n", tensor([1, 2, 3])))
    c.op("shift_right_scalar", aten.bitwise_right_shift.Tensor_Scalar, i, 1)


def factories():
    c = Case("trap20_factories", "integer literals for float tensors, dtypes from the literal or from another tensor")
    x, i, h = c.input("x", c.randn(2, 3)), c.input("i", c.randint(0, 9, (3,))), c.input("h", c.randn(2, dtype=bf16))
    cpu = torch.device("cpu")
    c.op("scalar_tensor_int_f32", aten.scalar_tensor.default, 0, dtype=f32, layout=torch.strided, device=cpu)
    c.op("scalar_tensor_default", aten.scalar_tensor.default, 3)
    c.op("scalar_tensor_float_i64", aten.scalar_tensor.default, 2.75, dtype=torch.int64)
    c.op("scalar_tensor_inf", aten.scalar_tensor.default, -inf, dtype=bf16)
    c.op("full_like_keeps_f32", aten.full_like.default, x, 1, pin_memory=False, memory_format=torch.preserve_format)
    c.op("full_like_keeps_int", aten.full_like.default, i, 2.9)
    c.op("full_like_dtype", aten.full_like.default, i, 0.5, dtype=f32)
    c.op("full_like_bf16", aten.full_like.default, h, 0.1)
    c.op("full_int", aten.full.default, [2], 7)
    c.op("full_float", aten.full.default, [2, 1], 7.0)
    c.op("full_bool", aten.full.default, [2], True)
    c.op("full_int_dtype_f32", aten.full.default, [2, 3], 0, dtype=f32, layout=torch.strided, device=cpu, pin_memory=False)
    c.op("full_0d", aten.full.default, [], 1, dtype=torch.bool)
    c.op("arange_int", aten.arange.default, 4)
    c.op("arange_float", aten.arange.default, 3.5)
    c.op("arange_start", aten.arange.start, 2, 5, device=cpu)
    c.op("arange_start_step_int", aten.arange.start_step, 0, 32, layout=torch.strided, device=cpu, pin_memory=False)
    c.op("arange_start_step_float", aten.arange.start_step, 0, 1, 0.3)
    c.op("arange_step_down", aten.arange.start_step, 5, -5, -3)
    c.op("arange_dtype_f32", aten.arange.start_step, 0, 6, 2, dtype=f32)
    c.op("arange_dtype_i32", aten.arange.default, 3, dtype=torch.int32)
    c.op("arange_none", aten.arange.start, 3, 3)
    c.op("zeros_default", aten.zeros.default, [2])
    c.op("ones_int", aten.ones.default, [2], dtype=torch.int64)
    c.op("zeros_like", aten.zeros_like.default, i)
    c.op("ones_like_dtype", aten.ones_like.default, x, dtype=torch.bool)
    c.op("new_ones", aten.new_ones.default, h, [2, 2])
    c.op("new_zeros_dtype", aten.new_zeros.default, h, [3], dtype=torch.int32)
    c.op("new_full", aten.new_full.default, i, [2], 3.7)
    c.op("eye", aten.eye.default, 3)
    c.op("eye_m", aten.eye.m, 2, 3, dtype=torch.int64)
    c.op("linspace", aten.linspace.default, 0, 1, 5)
    c.op("fill_scalar", aten.fill.Scalar, i, 2.5)
    c.op("fill_tensor", aten.fill.Tensor, x, c.call("k", aten.full.default, [], 4))


def to_copy():
    c = Case("trap21_to_copy", "kwargs of _to_copy in any subset; rounding; a copy of the same dtype is still a copy")
    near_ties = [1.00390625, 1.01171875, 1.00390637, -1.00390625, 3.3895313892515355e38, 3.4028234663852886e38]
    x = c.input("x", tensor([nan, inf, -inf, -0.0, 65519.0, 65520.0, 1e-40, 1e-8, *near_ties]))
    y = c.input("y", tensor([2.75, -2.75, 0.0, 255.0, -1.0, 0.25]))
    i = c.input("i", tensor([16777217, -16777219, 0, 300, 9007199254740993]))
    cpu = torch.device("cpu")
    c.op("to_bf16", aten._to_copy.default, x, dtype=bf16)
    c.op("to_f16_all", aten._to_copy.default, x, dtype=f16, layout=torch.strided, device=cpu)
    c.op("to_f64_device", aten._to_copy.default, x, dtype=f64, device=cpu)
    c.op("to_f32_from_f64", aten._to_copy.default, c.input("d", tensor([1e300, 0.1, 1e-50], f64)), dtype=f32)
    c.op("to_i64", aten._to_copy.default, y, dtype=torch.int64, non_blocking=True)
    c.op("to_i32", aten._to_copy.default, y, dtype=torch.int32)
    c.op("to_i8", aten._to_copy.default, i, dtype=torch.int8)
    c.op("to_u8", aten._to_copy.default, i, dtype=torch.uint8)
    c.op("to_bool", aten._to_copy.default, x, dtype=torch.bool)
    c.op("int_to_f32", aten._to_copy.default, i, dtype=f32)
    c.op("int_to_bf16", aten._to_copy.default, i, dtype=bf16)
    c.op("bool_to_f32", aten._to_copy.default, c.input("b", tensor([True, False])), dtype=f32)
    c.op("memory_format", aten._to_copy.default, y, memory_format=torch.preserve_format)
    same = c.call("same", aten._to_copy.default, y)
    c.call("same_written", aten.add_.Tensor, same, 1)
    same_dtype = c.call("same_dtype", aten._to_copy.default, y, dtype=f32)
    c.call("same_dtype_written", aten.mul_.Tensor, same_dtype, 2)
    c.out(y, same, same_dtype)
    back = c.call("there", aten._to_copy.default, y, dtype=bf16)
    c.op("and_back", aten._to_copy.default, back, dtype=f32)
    c.op("to_dtype", aten.to.dtype, y, f64)
    c.op("to_dtype_layout", aten.to.dtype_layout, y, dtype=bf16, layout=torch.strided, device=cpu)
    c.op("type_as", aten.type_as.default, i, y)


def masked_softmax():
    c = Case("trap22_masked_softmax", "the lowest float added to scores overflows to -inf; a row of -inf gives NaN")
    x = c.input("x", torch.cat([c.randn(2, 4), torch.full((1, 4), -1e37)]))
    m = c.input("m", tensor([[0.0, LOWEST, 0.0, -inf], [LOWEST] * 4, [LOWEST] * 4]))
    s = c.op("add", aten.add.Tensor, x, m)
    twice = c.op("add_twice", aten.add.Tensor, s, m)
    c.op("softmax", aten._softmax.default, s, -1, False)
    c.op("softmax_twice", aten._softmax.default, twice, -1, False)
    c.op("log_softmax_twice", aten._log_softmax.default, twice, 1, False)
    safe = c.input("some", tensor([[0.0, -inf, 1.0], [-inf, -inf, -inf], [inf, 0.0, 0.0]]))
    c.op("softmax_inf", aten._softmax.default, safe, 1, False)
    c.op("safe_softmax", aten._safe_softmax.default, safe, 1)
    c.op("logsumexp_inf", aten.logsumexp.default, safe, [1])
    c.op("softmax_int", aten.softmax.int, s, -1)


def powers():
    c = Case("trap23_powers", "exponents 0, 1, 2, 3, 0.5, -0.5, -1, -2 as ints and floats; scalar base")
    x = c.input("x", torch.cat([c.randn(4), tensor([0.0, -0.0, inf, -inf, nan])]))
    p = c.input("p", c.rand(6))
    h = c.input("h", c.rand(32, dtype=bf16))
    names = {0: "0", 1: "1", 2: "2", 3: "3", -1: "m1", -2: "m2", 4: "4"}
    for e, n in names.items():
        c.op(f"pow_int_{n}", aten.pow.Tensor_Scalar, x, e)
        c.op(f"pow_float_{n}", aten.pow.Tensor_Scalar, x, float(e))
    for e, n in ((0.5, "half"), (-0.5, "mhalf"), (1.5, "1h"), (0.25, "quarter"), (2.2, "2p2")):
        c.op(f"pow_{n}", aten.pow.Tensor_Scalar, p, e)
    c.op("pow_half_special", aten.pow.Tensor_Scalar, x, 0.5)
    c.op("pow_third_special", aten.pow.Tensor_Scalar, x, 1 / 3)
    c.op("pow_scalar_base", aten.pow.Scalar, 0.9, p)
    c.op("pow_scalar_base_int", aten.pow.Scalar, 2, c.input("i", tensor([0, 1, 5])))
    c.op("pow_scalar_one", aten.pow.Scalar, 1, x)
    c.op("pow_tensor_tensor", aten.pow.Tensor_Tensor, p, c.input("e", c.randn(6)))
    wide = c.call("wide", aten._to_copy.default, h, dtype=f64)
    c.op("pow_bf16_2", aten.pow.Tensor_Scalar, h, 2)
    c.op("pow_f64", aten.pow.Tensor_Scalar, wide, 0.1)
    steps = [c.input("s0", tensor(1.0)), c.input("s1", tensor([2.0, 10.0]))]
    c.op("foreach_pow_scalar_and_tensor", aten._foreach_pow.ScalarAndTensor, 0.9, steps)
    c.op("foreach_pow_scalar", aten._foreach_pow.Scalar, steps, 0.5)
    c.op("square", aten.square.default, x)


def alphas():
    c = Case("trap24_alphas", "alpha multiplies the second operand, beta the first; rsub turns around")
    x, y = c.input("x", c.randn(2, 3)), c.input("y", c.randn(2, 3))
    i, j = c.input("i", c.randint(-9, 9, (3,))), c.input("j", c.randint(-9, 9, (3,)))
    m, n, v = c.input("m", c.randn(2, 4)), c.input("n", c.randn(4, 3)), c.input("v", c.randn(3))
    c.op("foreach_add_list_alpha", aten._foreach_add.List, [x, i], [y, j], alpha=-2)
    c.op("foreach_sub_list_alpha", aten._foreach_sub.List, [x, v], [y, v], alpha=0.5)
    c.op("add_alpha", aten.add.Tensor, x, y, alpha=-0.05)
    c.op("add_alpha_int", aten.add.Tensor, i, j, alpha=3)
    c.op("add_scalar_alpha", aten.add.Scalar, x, 2, 3)
    c.op("add_number_alpha", aten.add.Tensor, x, 0.5, alpha=3)
    c.op("sub_alpha", aten.sub.Tensor, x, y, alpha=2)
    c.op("sub_scalar_alpha", aten.sub.Scalar, x, 2.5, 2)
    c.op("rsub_tensor_alpha", aten.rsub.Tensor, x, y, alpha=3)
    c.op("rsub_scalar", aten.rsub.Scalar, x, 1)
    c.op("rsub_scalar_alpha", aten.rsub.Scalar, x, 1, 0.25)
    c.op("addmm", aten.addmm.default, v, m, n)
    c.op("addmm_beta_alpha", aten.addmm.default, v, m, n, beta=0.5, alpha=2)
    c.op("addmm_beta_zero", aten.addmm.default, c.call("nans", aten.full.default, [2, 3], nan), m, n, beta=0)
    c.op("addmm_alpha_zero", aten.addmm.default, v, m, n, alpha=0)
    vec = c.input("vec", c.randn(4))
    c.op("addmv", aten.addmv.default, c.input("two", c.randn(2)), m, vec, beta=2, alpha=3)
    b1, b2 = c.input("b1", c.randn(2, 2, 4)), c.input("b2", c.randn(2, 4, 3))
    c.op("baddbmm", aten.baddbmm.default, x, b1, b2, beta=0.5, alpha=2)
    c.op("addbmm", aten.addbmm.default, x, b1, b2, beta=2, alpha=-1)
    c.op("addr", aten.addr.default, x, c.input("r", c.randn(2)), v, beta=2, alpha=3)


def lerp_adam():
    c = Case("trap25_lerp", "lerp with weights on both sides of a half; addcmul and addcdiv with values")
    a, b = c.input("a", c.randn(2, 3) * 100), c.input("b", c.randn(2, 3))
    big = c.input("big", tensor([1e8, -1e8, 1.0, inf])), c.input("near", tensor([1e8 + 8, 3.0, inf, inf]))
    for w, n in ((0.1, "tenth"), (0.5, "half"), (0.9, "most"), (0, "none"), (1, "all"), (1.5, "beyond"), (-0.5, "before")):
        c.op(f"lerp_scalar_{n}", aten.lerp.Scalar, a, b, w)
        c.op(f"lerp_big_{n}", aten.lerp.Scalar, *big, w)
    c.op("lerp_tensor", aten.lerp.Tensor, a, b, c.input("w", tensor([0.1, 0.5, 0.9])))
    c.op("lerp_tensor_0d", aten.lerp.Tensor, a, b, c.call("w0", aten.full.default, [], 0.3))
    c.op("foreach_lerp_scalar", aten._foreach_lerp.Scalar, [a, b], [b, a], 0.1)
    c.op("foreach_lerp_list", aten._foreach_lerp.List, [a, b], [b, a], [b, a])
    c.op("addcmul", aten.addcmul.default, a, b, b)
    c.op("addcmul_value", aten.addcmul.default, a, b, b, value=-0.5)
    c.op("addcdiv", aten.addcdiv.default, a, b, c.input("d", c.rand(3)))
    c.op("addcdiv_value", aten.addcdiv.default, a, b, c.input("d1", c.rand(2, 1)), value=2)

    for name, target, doc in (
        ("adam", aten._fused_adam.default, "decay goes into the gradient"),
        ("adamw", aten._fused_adamw.default, "decay shrinks the parameter"),
    ):
        c = Case(f"trap25_fused_{name}", f"_fused_{name}: {doc}; bias corrections from the step", iterations=4)
        p, m, v, _, t = adam_lists(c)
        g = [c.input(f"g_{i}", lambda k, r, s=s: c.randn(*s)) for i, s in enumerate([(3, 2), (4,)])]
        add = c.call("_foreach_add", aten._foreach_add.Scalar, t, 1)
        t = [c.call(f"copy_{i}", aten.copy_.default, s, c.get(f"step_{i}", add, i)) for i, s in enumerate(t)]
        r = c.call(
            "fused", target, p, g, m, v, [], t,
            lr=0.05, beta1=0.9, beta2=0.999, weight_decay=0.3, eps=1e-3, amsgrad=False, maximize=False,
        )  # fmt: skip
        for i, old in ((0, p), (2, m), (3, v)):
            new = c.get(f"list_{i}", r, i)
            for j, o in enumerate(old):
                c.call(f"copy_back_{i}_{j}", aten.copy_.default, o, c.get(f"list_{i}_{j}", new, j))
        c.out(*p)


def make():
    scalar_operands()
    zero_dim()
    integer_reductions()
    reduced_dims()
    view_expand_slice()
    clamp_nan()
    bitwise_bool()
    factories()
    to_copy()
    masked_softmax()
    powers()
    alphas()
    lerp_adam()

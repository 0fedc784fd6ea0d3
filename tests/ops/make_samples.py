"""Writes samples.txt: programs with one op each, inputs, and results that PyTorch computes.

Where PyTorch has no such op the formula stands here, in integers or f64. Most inputs are small
multiples of 1/8, so that sums of products are exact in f32 and their bits can be compared.
"""

import math
import pathlib
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(0)
DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {v: k for k, v in DTYPES.items()}
# Of a function that no standard rounds exactly: an error in the last digits, or one unit of the last place.
TOLERANCE = {"f64": 1e-12, "f32": 1e-6, "bf16": 2.0**-7, "f16": 2.0**-10}
inf, nan = math.inf, math.nan

HEAD = """\
# Written by make_samples.py. A sample is a line `== OP: what it shows`, a program, then
#   in RANK NAME [numbers]               for every input,
#   out RANK INDEX TOLERANCE [numbers]   for every output.
# Numbers are row-major. Tolerance 0 wants equal bits, any NaN being equal to any other; else
# |a - b| <= tolerance * max(1, |expected|).
#
# Philox 4x32-10 as published, counter, key -> block:
#   00000000 00000000 00000000 00000000, 00000000 00000000 -> 6627e8d5 e169c58d bc57ac4c 9b00dbd8
#   ffffffff ffffffff ffffffff ffffffff, ffffffff ffffffff -> 408f276d 41c83b0e a20bc7c6 6d5451fd
#   243f6a88 85a308d3 13198a2e 03707344, a4093822 299f31d0 -> d16cfe09 94fdcceb 5001e420 24126ea1
"""
out = [HEAD]


class Raw(str):
    """An attribute that is written without quotes: a dtype or a type."""


# ---- writing


def dtype_of(t):
    return NAMES[t.dtype]


def type_of(t):
    return f"{dtype_of(t)}[{','.join(map(str, t.shape))}]"


def number(v, dtype):
    if dtype == "bool":
        return "true" if v else "false"
    if not DTYPES[dtype].is_floating_point:
        return str(int(v))
    v = float(v)
    if math.isnan(v) or math.isinf(v):
        return "nan" if math.isnan(v) else ("inf" if v > 0 else "-inf")
    if dtype == "f64":
        return repr(v)
    text = str(np.float32(v))
    assert np.float32(float(text)) == np.float32(v), text
    return text


def numbers(t):
    return "[" + ",".join(number(v, dtype_of(t)) for v in t.reshape(-1).tolist()) + "]"


def attribute(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, Raw):
        return v
    if isinstance(v, str):
        return f'"{v}"'
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(map(attribute, v)) + "]"
    return repr(v)


def attributes(attrs):
    return " {" + ", ".join(f"{k}={attribute(v)}" for k, v in attrs.items()) + "}" if attrs else ""


def program(op, what, text, inputs, outputs):
    """inputs: (rank, name, tensor); outputs: (rank, index, tolerance, tensor)."""
    out.append(f"== {op}: {what}")
    out.append(text.strip("\n"))
    for rank, name, t in inputs:
        out.append(f"in {rank} {name} {numbers(t)}")
    for rank, index, tolerance, t in outputs:
        out.append(f"out {rank} {index} {tolerance!r} {numbers(t)}")
    out.append("")


def graph(inputs, body, name="step", on=""):
    """A graph as the printer writes it; inputs are texts `%x: f32[2]`."""
    line = f"graph {name}{on}({', '.join(inputs)}) {{"
    if len(line) > 120:
        line = f"graph {name}{on}(\n    " + ",\n    ".join(inputs) + ") {"
    return line + "\n" + "".join(f"  {b}\n" for b in body) + "}"


def sample(op, what, inputs, results, attrs=None, operands=None, tol=None):
    """One node. Results are tensors; tol is 0 (the default), one number, or one for each."""
    results = results if isinstance(results, (list, tuple)) else [results]
    tols = tol if isinstance(tol, (list, tuple)) else [tol or 0] * len(results)
    if operands is None:
        operands = ", ".join("%" + n for n in inputs)
    base = "r" if "y" in inputs else "y"
    names = [base] if len(results) == 1 else [f"{base}{i}" for i in range(len(results))]
    left = ", ".join(f"%{n}: {type_of(r)}" for n, r in zip(names, results))
    node = f"{left} = {op}" + (f"({operands})" if operands else "") + attributes(attrs)
    body = [node, "return " + ", ".join("%" + n for n in names)]
    text = graph([f"%{n}: {type_of(t)}" for n, t in inputs.items()], body)
    program(op, what, text, [(0, n, t) for n, t in inputs.items()], [(0, i, tols[i], r) for i, r in enumerate(results)])


# ---- making tensors


def T(dtype, values):
    return torch.tensor(values, dtype=DTYPES[dtype])


def grid(dtype, *shape, step=8, reach=16):
    return (torch.randint(-reach, reach + 1, shape).double() / step).to(DTYPES[dtype])


def ints(dtype, low, high, *shape):
    return torch.randint(low, high, shape).to(DTYPES[dtype])


def wide(t):
    return t.double() if t.dtype.is_floating_point else t


def rounded(t, dtype):
    """From f64 as the ops round: 16 bits through f32."""
    return t.float().to(DTYPES[dtype]) if dtype in ("bf16", "f16") else t.to(DTYPES[dtype])


def compute(t):
    return t.float() if t.dtype in (torch.bfloat16, torch.float16) else t


def tolerance(*tensors):
    return [TOLERANCE[dtype_of(t)] for t in tensors]


def grads(f, inputs, dy):
    """Gradients in f64 by the inputs (None stays None) of f at dy; dy may be a list."""
    xs = [x.double().requires_grad_() if x is not None else None for x in inputs]
    y = f(*xs)
    wanted = [x for x in xs if x is not None]
    got = iter(torch.autograd.grad(y, wanted, dy.double()))
    return [next(got) if x is not None else None for x in xs]


# ---- elementwise

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.25, nan, inf, -inf]


def unary(op, f, exact, special=SPECIAL, more=()):
    """f on special values, on f64 of rank 0, on 16 bits, and on nothing."""
    for what, x in [
        ("zeros, NaN and infinities", T("f32", special)),
        ("f64, rank 0", T("f64", 0.625)),
        ("bf16, two dimensions", T("bf16", [[0.25, 1.5], [2.0, 0.75], [1.0, 3.0]])),
        ("f16", T("f16", [0.125, 0.333, 2.75, 0.001])),
        ("no elements", T("f32", []).reshape(0, 3)),
        *more,
    ]:
        y = f(compute(x)) if exact else f(wide(x))
        sample(op, what, {"x": x}, rounded(y, dtype_of(x)), tol=None if exact else tolerance(x))


def op_rsqrt(x):
    return 1 / torch.sqrt(x)


for name in ["floor", "ceil", "trunc"]:
    unary(name, getattr(torch, name), True, more=[("halves", T("f64", [-0.5, 0.5, -1.5, 1e300, -1e-300]))])
unary(
    "round",
    torch.round,
    True,
    more=[("halves go to the even one", T("f64", [0.5, 1.5, 2.5, -0.5, -1.5, 4503599627370497.5]))],
)
unary("sqrt", torch.sqrt, True, [0.0, -0.0, 2.0, -1.0, 0.1, 3.25, nan, inf, -inf, 1e-45])
unary("rsqrt", op_rsqrt, False, [0.0, -0.0, 2.0, -1.0, 0.1, 3.25, nan, inf, -inf])
unary("exp", torch.exp, False, more=[("overflow and underflow", T("f32", [100.0, -200.0, 88.0, -87.0, 1e-8]))])
unary("expm1", torch.expm1, False, more=[("near zero", T("f64", [1e-10, -1e-15, 1e-300]))])
unary("log", torch.log, False, more=[("far out", T("f32", [1e-45, 3e38, 1e-8, 123456.0]))])
unary("log1p", torch.log1p, False, more=[("near zero", T("f64", [1e-10, -1e-15, -1.0, -2.0]))])
unary("sin", torch.sin, False, more=[("large arguments", T("f32", [100.0, -1e5, 3.1415927]))])
unary("cos", torch.cos, False, more=[("large arguments", T("f32", [100.0, -1e5, 1.5707964]))])
unary("tan", torch.tan, False)
unary("atan", torch.atan, False)
unary("tanh", torch.tanh, False, more=[("where it is flat", T("f32", [20.0, -20.0, 1e-6]))])
unary("erf", torch.erf, False, more=[("where it is flat", T("f64", [6.0, -6.0, 1e-8]))])
unary("sigmoid", torch.sigmoid, False, more=[("where it is flat", T("f32", [100.0, -100.0, 17.0]))])
unary("gelu", F.gelu, False, [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.25, nan, inf])
unary("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), False, [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.25, nan, inf])
unary("silu", F.silu, False, [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.25, nan, inf, -100.0])
unary("hardswish", F.hardswish, False, [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 2.5, -2.5, nan, inf, -4.0])

signed = [
    ("the lowest integer stays", T("i8", [-128, 127, 0, -1])),
    ("i64", T("i64", [-(2**63), 2**63 - 1, 5])),
    ("u8", T("u8", [0, 1, 255])),
]
unary("neg", torch.neg, True, more=signed)
unary("abs", torch.abs, True, more=signed)
unary("sign", torch.sign, True, more=signed)
unary(
    "relu",
    torch.relu,
    True,
    [0.0, 1.0, -1.0, 0.5, -2.5, 3.25, nan, inf, -inf],
    more=signed[:2] + [("more than a block of elements", ints("i16", -9, 9, 300))],
)


def binary(op, f, cases):
    """cases: (what, a, b); f gets them in the dtype that they compute in."""
    for what, a, b in cases:
        y = f(compute(a), compute(b))
        sample(op, what, {"a": a, "b": b}, y.to(a.dtype))


A = [0.0, -0.0, 1.5, -1.5, nan, 2.0, inf, inf, -inf, 3e38]
B = [-0.0, -0.0, 0.1, 2.5, 1.0, nan, -inf, 2.0, 0.0, 3e38]
arithmetic = [
    ("NaN, infinities, signed zeros", T("f32", A), T("f32", B)),
    ("f64, rank 0 on both sides", T("f64", 0.1), T("f64", 0.2)),
    ("one of rank 0 applies to all", grid("f32", 2, 3), T("f32", 0.3)),
    ("bf16 rounds to even", T("bf16", [256.0, 1.0, 0.1, -3.0]), T("bf16", [1.0, 2.0**-8, 0.2, 1.0078125])),
    ("f16", T("f16", [2048.0, 60000.0, 1e-7]), T("f16", [1.0, 60000.0, 1e-7])),
    ("no elements", T("f32", []), T("f32", [])),
]
wrapping = [
    ("i8 wraps", T("i8", [127, -128, 100, -1]), T("i8", [1, -1, 100, -128])),
    ("u8 wraps", T("u8", [250, 3, 16]), T("u8", [10, 5, 16])),
    ("i32 wraps", T("i32", [2**31 - 1, -(2**31), 65536]), T("i32", [1, 1, 65536])),
    ("i64 wraps", T("i64", [2**63 - 1, -(2**63)]), T("i64", [2, -1])),
]
long = ("more than a block of elements, one of rank 0", ints("i32", -99, 99, 300), T("i32", 1000))
binary("add", torch.add, arithmetic + wrapping + [long])
binary("sub", torch.sub, arithmetic + wrapping)
binary("mul", torch.mul, arithmetic + wrapping)
binary("div", torch.div, arithmetic + [("by zero", T("f64", [1.0, -1.0, 0.0]), T("f64", [0.0, 0.0, 0.0]))])

divided = [
    ("signs", T("f32", [7.0, -7.0, 7.0, -7.0, 6.0, -6.0]), T("f32", [2.0, 2.0, -2.0, -2.0, 3.0, 3.0])),
    ("1 is a little less than ten times 0.1", T("f64", [1.0, -1.0, 0.3, 0.6]), T("f64", [0.1, 0.1, 0.1, 0.2])),
    ("zero, NaN", T("f32", [1.0, -1.0, 0.0, nan, 2.0]), T("f32", [0.0, 0.0, 0.0, 1.0, nan])),
    ("infinities", T("f32", [inf, -5.0, 5.0, -5.0]), T("f32", [2.0, inf, inf, -inf])),
    ("quotients that round to zero", T("f32", [1e-30, -1e-30, 0.0, -0.0]), T("f32", [1e30, 1e30, 3.0, 3.0])),
    ("bf16", T("bf16", [5.5, -5.5, 100.0]), T("bf16", [1.5, 1.5, 0.3])),
    ("i32", T("i32", [7, -7, 7, -7, 6, 0]), T("i32", [2, 2, -2, -2, -3, 5])),
    ("u8", T("u8", [200, 7, 255]), T("u8", [7, 200, 1])),
    ("no elements", T("f32", []), T("f32", [])),
]
binary("floor_div", lambda a, b: torch.div(a, b, rounding_mode="floor"), divided)
binary("remainder", torch.remainder, divided)
sample(
    "floor_div",
    "integers divided by zero give zero, the lowest by -1 itself",
    {"a": T("i32", [5, -5, 0, -(2**31)]), "b": T("i32", [0, 0, 0, -1])},
    T("i32", [0, 0, 0, -(2**31)]),
)
sample(
    "remainder",
    "integers by zero leave zero, the lowest by -1 too",
    {"a": T("i32", [5, -5, 0, -(2**31)]), "b": T("i32", [0, 0, 0, -1])},
    T("i32", [0, 0, 0, 0]),
)

extremes = [c for c in arithmetic if c[0] != "NaN, infinities, signed zeros"] + [
    (
        "a NaN wins on either side",
        T("f32", [nan, 1.0, nan, inf, -inf, -1.0]),
        T("f32", [1.0, nan, nan, 2.0, 2.0, -2.0]),
    ),
    ("i8", T("i8", [127, -128, 0]), T("i8", [-128, 5, 0])),
    ("u8", T("u8", [200, 3]), T("u8", [100, 128])),
]
binary("maximum", torch.maximum, extremes)
binary("minimum", torch.minimum, extremes)

for what, a, b in [
    (
        "corners",
        T("f32", [0.0, -8.0, -2.0, inf, nan, 1.0, 0.0, -0.0]),
        T("f32", [0.0, 1 / 3, 3.0, 0.0, 0.0, nan, -1.0, -3.0]),
    ),
    ("f64", T("f64", [2.0, 10.0, 0.5]), T("f64", [0.5, -3.0, 10.0])),
    ("a number for all", T("bf16", [0.5, 1.5, 3.0]), T("bf16", 2.0)),
    ("f16 overflows", T("f16", [300.0, 0.001]), T("f16", [2.0, 3.0])),
]:
    sample("pow", what, {"a": a, "b": b}, rounded(torch.pow(wide(a), wide(b)), dtype_of(a)), tol=tolerance(a))


def exact_fma(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))


one_more = 1 + 2.0**-27
sample(
    "fma",
    "f64 keeps what a rounded product loses",
    {
        "a": T("f64", [one_more, 0.1, 3.0]),
        "b": T("f64", [one_more, 0.1, 4.0]),
        "c": T("f64", [-(1 + 2.0**-26), -0.01, 5.0]),
    },
    T("f64", [exact_fma(one_more, one_more, -(1 + 2.0**-26)), exact_fma(0.1, 0.1, -0.01), 17.0]),
)
a, b, c = (
    T("f32", [1 + 2.0**-12, 1.5, -2.25]),
    T("f32", [1 + 2.0**-12, 3.0, 0.125]),
    T("f32", [-(1 + 2.0**-11), 0.25, 8.0]),
)
sample("fma", "f32", {"a": a, "b": b, "c": c}, (a.double() * b.double() + c.double()).float())
sample(
    "fma",
    "infinities, NaN, a number for all",
    {"a": T("f32", [inf, 0.0, 1.0]), "b": T("f32", [0.0, 5.0, inf]), "c": T("f32", 2.0)},
    T("f32", [nan, 2.0, inf]),
)
a, b, c = grid("bf16", 4), grid("bf16", 4), grid("bf16", 4)
sample("fma", "bf16", {"a": a, "b": b, "c": c}, (a.float() * b.float() + c.float()).bfloat16())

for what, x, low, high in [
    ("a NaN stays", T("f32", [-5.0, 0.5, 5.0, nan, inf, -inf]), T("f32", -1.0), T("f32", 2.0)),
    ("high where they cross", T("f64", [-5.0, 0.5, 5.0]), T("f64", [2.0, 2.0, 2.0]), T("f64", [-1.0, -1.0, -1.0])),
    ("i32", T("i32", [-5, 0, 5]), T("i32", -2), T("i32", 3)),
    ("bf16, no elements", T("bf16", []), T("bf16", 0.0), T("bf16", 1.0)),
]:
    sample("clamp", what, {"x": x, "low": low, "high": high}, torch.clamp(x, low, high))

compared = [
    (
        "NaN, infinities, zeros",
        T("f32", [nan, 1.0, nan, inf, inf, 0.0, 1.0]),
        T("f32", [nan, nan, 1.0, inf, -inf, -0.0, 2.0]),
    ),
    ("i32 with one for all", T("i32", [-1, 0, 1, 2**31 - 1]), T("i32", 0)),
    ("u8 has no sign", T("u8", [200, 3, 128]), T("u8", [100, 3, 127])),
    ("bool", T("bool", [True, True, False, False]), T("bool", [True, False, True, False])),
    ("bf16, rank 0", T("bf16", 1.0), T("bf16", 1.0078125)),
    ("no elements", T("f64", []).reshape(2, 0), T("f64", []).reshape(2, 0)),
]
for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    for what, a, b in compared:
        sample(name, what, {"a": a, "b": b}, getattr(torch, name)(a, b))

bits = [
    ("i32", T("i32", [12, -1, 0x55555555, -(2**31)]), T("i32", [10, 7, 0x33333333, -1])),
    ("u8 with one for all", T("u8", [0, 255, 170]), T("u8", 15)),
    ("bool", T("bool", [True, True, False, False]), T("bool", [True, False, True, False])),
    ("i64", T("i64", [2**62, -5]), T("i64", [2**62 + 1, 3])),
    ("no elements", T("i8", []), T("i8", [])),
]
binary("bit_and", torch.bitwise_and, bits)
binary("bit_or", torch.bitwise_or, bits)
binary("bit_xor", torch.bitwise_xor, bits)
for what, x, _ in bits:
    sample("bit_not", what, {"x": x}, torch.bitwise_not(x))
shifted = [
    ("i32, too far and negative", T("i32", [1, -1, 1, -8, 5, 5]), T("i32", [31, 4, 32, 1, -1, 0])),
    ("u8", T("u8", [255, 1, 129]), T("u8", [4, 7, 8])),
    ("i8 with its sign", T("i8", [-128, 127, -1]), T("i8", [3, 1, 7])),
    ("i64, one for all", T("i64", [3, -3, 2**62]), T("i64", 1)),
]
binary("shift_left", torch.bitwise_left_shift, shifted)
binary("shift_right", torch.bitwise_right_shift, shifted)

condition = T("bool", [[True, False, True], [False, False, True]])
for what, c, a, b in [
    ("f32", condition, grid("f32", 2, 3), grid("f32", 2, 3)),
    ("NaN and -0.0 are kept", condition, T("f32", -0.0), T("f32", nan)),
    ("one condition for all", T("bool", False), T("i32", [1, 2]), T("i32", [3, 4])),
    ("bool", T("bool", [True, False]), T("bool", [False, False]), T("bool", [True, True])),
    ("no elements", T("bool", []), T("bf16", []), T("bf16", 1.0)),
]:
    sample("select", what, {"condition": c, "a": a, "b": b}, torch.where(c, a, b))

for x, to in [
    (T("f32", [1.9, -1.9, 300.0, 0.0, -0.0, 2147483520.0]), "i32"),
    (T("f64", [0.1, 1e300, -1e-300, nan, inf]), "f32"),
    (T("f32", [1.00390625, 1.01171875, 3.4e38, -0.0, nan, 1e-40]), "bf16"),
    (T("f32", [2049.0, 2051.0, 65519.0, 65520.0, 6e-8, 2e-8, 1e-5]), "f16"),
    (T("f64", [1 + 2.0**-8 + 2.0**-40, 1e-46]), "bf16"),
    (T("f64", [1 + 2.0**-11 + 2.0**-40, 70000.0]), "f16"),
    (T("f32", [0.0, -0.0, 0.5, nan, inf]), "bool"),
    (T("i32", [257, -1, 128]), "u8"),
    (T("i64", [2**40 + 7, -(2**63), 200]), "i8"),
    (T("u8", [255, 0, 128]), "i8"),
    (T("bool", [True, False]), "f16"),
    (T("i64", [2**53 + 1, 2**24 + 1]), "f32"),
    (T("i64", [2**53 + 1]), "f64"),
    (T("bf16", [1.5, -2.5]), "i16"),
    (T("f16", 0.1), "f64"),
    (T("f32", []).reshape(0, 2), "i64"),
    (T("i8", [-1, 0, 5]), "bool"),
]:
    sample("cast", f"{dtype_of(x)} to {to}", {"x": x}, x.to(DTYPES[to]), {"dtype": Raw(to)})
sample(
    "cast",
    "a negative float wraps in u8",
    {"x": T("f32", [-1.5, 300.7, 255.0])},
    T("u8", [255, 44, 255]),
    {"dtype": Raw("u8")},
)


def activation_grad(op, backward):
    for what, dtype, shape in [
        ("f32", "f32", (3, 4)),
        ("f64", "f64", (5,)),
        ("bf16", "bf16", (6,)),
        ("rank 0, f16", "f16", ()),
        ("no elements", "f32", (0, 2)),
    ]:
        dy = grid(dtype, *shape)
        backward(op, what, dtype, dy, grid(dtype, *shape, step=4))


def by_result(forward, slope):
    def run(op, what, dtype, dy, x):
        y = forward(x.double()).to(x.dtype)
        sample(op, what, {"dy": dy, "y": y}, rounded(slope(dy.double(), y.double()), dtype), tol=tolerance(dy))

    return run


def by_input(f):
    def run(op, what, dtype, dy, x):
        sample(op, what, {"dy": dy, "x": x}, rounded(grads(f, [x], dy)[0], dtype), tol=tolerance(dy))

    return run


def tanh_form(x):
    return F.gelu(x, approximate="tanh")


activation_grad("sigmoid_grad", by_result(torch.sigmoid, torch.ops.aten.sigmoid_backward))
activation_grad("tanh_grad", by_result(torch.tanh, torch.ops.aten.tanh_backward))
activation_grad("gelu_grad", by_input(F.gelu))
activation_grad("gelu_tanh_grad", by_input(tanh_form))
activation_grad("silu_grad", by_input(F.silu))
activation_grad("hardswish_grad", by_input(F.hardswish))
edges = T("f32", [-100.0, -5.0, -2.999, 0.0, 2.999, 5.0, 100.0, nan])
for name, f in [
    ("gelu_grad", F.gelu),
    ("gelu_tanh_grad", tanh_form),
    ("silu_grad", F.silu),
    ("hardswish_grad", F.hardswish),
]:
    by_input(f)(name, "far from zero, and a NaN", "f32", torch.ones(8), edges)
sample(
    "hardswish_grad",
    "flat from its edges on",
    {"dy": T("f32", [2.0, 2.0]), "x": T("f32", [-3.0, 3.0])},
    T("f32", [0.0, 2.0]),
)

# ---- reductions

reduced = [
    ("f32, the last dimension", grid("f32", 2, 5), [1], False),
    ("f32, kept", grid("f32", 2, 3, 2), [0, 2], True),
    ("all dimensions", grid("f64", 3, 4), [0, 1], False),
    ("bf16 sums in f32", grid("bf16", 2, 40, reach=64), [1], False),
    ("f16, the first dimension", grid("f16", 12, 2), [0], False),
    ("no dimension", grid("f32", 2, 2), [], False),
    ("rank 0", T("f32", 1.25), [], False),
    ("nothing is left", T("f32", []).reshape(0, 3), [1], False),
]
integers = [
    ("i32", ints("i32", -9, 9, 3, 4), [1], False),
    ("i8 wraps at the end", T("i8", [[100, 100, -50], [127, 127, 127]]), [1], False),
    ("u8", T("u8", [[200, 100], [3, 4]]), [0], True),
    ("i64", T("i64", [[2**62, 2**62, 2**62]]), [1], False),
]
nothing = [("of nothing", T("f32", []).reshape(2, 0), [1], False), ("of no i32", T("i32", []).reshape(0, 2), [0], True)]
strange = [("NaN and infinities", T("f32", [[1.0, nan, 2.0], [inf, 1.0, 2.0], [-inf, -1.0, -0.0]]), [1], False)]


def reduction(op, f, cases, exact=True):
    for what, x, dims, keep in cases:
        y = f(wide(x), dims, keep) if dims else wide(x)
        attrs = {"dims": dims} if dims else {}
        if keep:
            attrs["keep"] = True
        sample(op, what, {"x": x}, rounded(y, dtype_of(x)), attrs, tol=None if exact else tolerance(x))


def product(x, dims, keep):
    for d in sorted(dims, reverse=True):
        x = torch.prod(x, d, keepdim=keep)
    return x


reduction("sum", lambda x, d, k: torch.sum(x, d, k), reduced + integers + nothing + strange)
reduction(
    "sum", lambda x, d, k: torch.sum(x, d, k), [("numbers that round", torch.rand(3, 50), [1], False)], exact=False
)
reduction("mean", lambda x, d, k: torch.mean(x, d, k), reduced + nothing[:1] + strange)
reduction(
    "product",
    product,
    [
        ("f32, small integers", T("f32", [[1.0, -2.0, 3.0], [0.5, 4.0, -8.0]]), [1], False),
        ("two dimensions, kept", T("f64", [[[1.0, 2.0], [3.0, -4.0]]]), [1, 2], True),
        ("bf16", T("bf16", [1.5, 1.25, -3.0, 7.0]), [0], False),
    ]
    + integers
    + nothing
    + strange,
)
reduction("product", product, [("numbers that round", torch.rand(2, 20) + 0.5, [1], False)], exact=False)
reduction("max", lambda x, d, k: torch.amax(x, d, k), reduced + integers + strange)
reduction("min", lambda x, d, k: torch.amin(x, d, k), reduced[:-1] + integers + strange)
for name, f in [("any", torch.any), ("all", torch.all)]:
    flags = T("bool", [[True, True, True], [True, False, False], [False, False, False]])
    for what, x, dims, keep in [
        ("rows", flags, [1], False),
        ("columns, kept", flags, [0], True),
        ("of nothing", flags[:, :0], [1], False),
        ("everything", flags, [0, 1], False),
    ]:
        y = x
        for d in sorted(dims, reverse=True):
            y = f(y, d, keepdim=keep)
        sample(name, what, {"x": x}, y, {"dims": dims, **({"keep": True} if keep else {})})

ties = T("f32", [[1.0, 3.0, 3.0, 0.0], [nan, 1.0, nan, 2.0], [-inf, -inf, -inf, -inf], [-0.0, 0.0, -1.0, -1.0]])
for name, f in [("argmax", np.argmax), ("argmin", np.argmin)]:
    # numpy says which of equals: the first, and a NaN before all.
    for what, x, dim, keep in [
        ("ties and NaN", ties, 1, False),
        ("first dimension, kept", grid("f64", 4, 3), 0, True),
        ("i32", ints("i32", -3, 3, 2, 6), 1, False),
        ("bf16", grid("bf16", 2, 3, 2), 1, False),
        ("nothing is left", T("u8", []).reshape(0, 3), 1, False),
    ]:
        y = f(compute(x).numpy(), axis=dim, keepdims=keep)
        sample(
            name, what, {"x": x}, torch.tensor(y, dtype=torch.int64), {"dim": dim, **({"keep": True} if keep else {})}
        )

running = [
    ("f32 along rows", grid("f32", 2, 5), 1),
    ("f64 along columns", grid("f64", 3, 2), 0),
    ("bf16 rounds each, not the sum", grid("bf16", 9, reach=40), 0),
    ("i8 wraps", T("i8", [100, 27, 1, -128]), 0),
    ("NaN stays", T("f32", [1.0, nan, 2.0, inf]), 0),
    ("no elements", T("f32", []).reshape(0, 2), 0),
]
for name, f in [("cumsum", torch.cumsum), ("cumprod", torch.cumprod)]:
    for what, x, dim in running:
        if name == "cumprod" and dtype_of(x) == "bf16":
            x = T("bf16", [1.5, 1.25, -3.0, 7.0, 0.5])
        if name == "cumprod" and dtype_of(x) == "f32" and x.numel() == 10:
            x = T("f32", [[1.0, 2.0, -0.5, 3.0, 0.0], [0.25, 4.0, 5.0, -1.0, 1.5]])
        sample(name, what, {"x": x}, rounded(f(wide(x), dim), dtype_of(x)), {"dim": dim})

# ---- shape

for x, shape in [
    (grid("f32", 2, 3), [3, 2]),
    (T("i8", [7]), []),
    (T("bf16", []).reshape(0, 3), [3, 0, 2]),
    (T("f64", nan), [1, 1]),
    (T("bool", [True, False]), [2, 1]),
]:
    sample("reshape", f"{type_of(x)} to {shape}", {"x": x}, x.reshape(shape), {"shape": shape} if shape else {})
for x, dims in [
    (grid("f32", 2, 3), [1, 0]),
    (ints("i16", -9, 9, 2, 3, 2), [2, 0, 1]),
    (T("f32", 1.5), []),
    (T("u8", []).reshape(2, 0, 1), [1, 2, 0]),
    (T("f16", [[[-0.0], [nan]]]), [0, 2, 1]),
]:
    sample(
        "permute", f"{type_of(x)} by {dims}", {"x": x}, x.permute(dims) if dims else x, {"dims": dims} if dims else {}
    )
for x, shape in [
    (T("f32", 1.5), [2, 2]),
    (grid("f64", 3), [2, 3]),
    (T("i32", [[1], [2]]), [2, 2, 3]),
    (T("bool", [[True]]), [0, 4]),
    (T("bf16", [-0.0]), [3]),
]:
    sample("broadcast", f"{type_of(x)} to {shape}", {"x": x}, x.expand(shape), {"shape": shape})
for what, x, starts, stops, steps in [
    ("a block", grid("f32", 3, 4), [1, 0], [3, 2], None),
    ("in steps", ints("i32", 0, 99, 7), [1], [7], [3]),
    ("nothing", grid("f64", 2, 2), [1, 2], [1, 2], None),
    ("a step beyond the end", grid("bf16", 2, 3), [0, 1], [2, 3], [9, 1]),
    ("u8, two steps", ints("u8", 0, 255, 4, 4), [0, 1], [4, 4], [2, 2]),
]:
    index = tuple(slice(a, b, s) for a, b, s in zip(starts, stops, steps or [1] * len(starts)))
    sample("slice", what, {"x": x}, x[index], {"starts": starts, "stops": stops, **({"steps": steps} if steps else {})})
for what, x, v, low, high in [
    ("around", grid("f32", 2, 2), -1.5, [1, 0], [0, 2]),
    ("a negative width cuts", grid("f64", 4, 3), 9.0, [-1, 1], [2, -2]),
    ("NaN around nothing", T("f32", []).reshape(0, 2), nan, [1, 0], [0, 0]),
    ("i8", T("i8", [1, 2]), 7, [2], [1]),
    ("bool", T("bool", [[True]]), False, [0, 1], [1, 0]),
    ("cuts everything", grid("f32", 3), 0.0, [-3], [0]),
]:
    flat = [w for d in reversed(range(len(low))) for w in (low[d], high[d])]
    y = F.pad(x.to(torch.uint8) if x.dtype == torch.bool else x, flat, value=v).to(x.dtype)
    sample("pad", what, {"x": x, "value": T(dtype_of(x), v)}, y, {"low": low, "high": high})
for what, xs, dim in [
    ("rows", [grid("f32", 1, 3), grid("f32", 2, 3)], 0),
    ("columns of three", [grid("bf16", 2, 1), grid("bf16", 2, 2), grid("bf16", 2, 1)], 1),
    ("one of nothing", [T("i64", []), T("i64", [1, 2])], 0),
    ("a single one", [T("bool", [True])], 0),
    ("in the middle", [ints("u8", 0, 9, 2, 1, 2), ints("u8", 0, 9, 2, 2, 2)], 1),
]:
    sample("concat", what, {f"x{i}": x for i, x in enumerate(xs)}, torch.cat(xs, dim), {"dim": dim})
for what, x, dims in [
    ("columns", grid("f32", 2, 3), [1]),
    ("both", ints("i32", 0, 99, 2, 3), [0, 1]),
    ("no dimension", grid("bf16", 3), []),
    ("no elements", T("f64", []).reshape(0, 2), [0]),
    ("one of three", ints("u8", 0, 99, 2, 2, 2), [1]),
]:
    sample("flip", what, {"x": x}, torch.flip(x, dims), {"dims": dims} if dims else {})

# ---- products

for what, a, b, ta, tb in [
    ("f32", grid("f32", 3, 4), grid("f32", 4, 2), False, False),
    ("a transposed", grid("f64", 4, 2), grid("f64", 4, 3), True, False),
    ("b transposed, in stacks", grid("f32", 2, 2, 3), grid("f32", 2, 4, 3), False, True),
    ("both, bf16 sums in f32", grid("bf16", 20, 2), grid("bf16", 3, 20), True, True),
    ("f16", grid("f16", 2, 3), grid("f16", 3, 2), False, False),
    ("no inner dimension", grid("f32", 2, 0), grid("f32", 0, 3), False, False),
    ("no rows", grid("f32", 0, 3), grid("f32", 3, 2), False, False),
    ("i8 wraps at the end", ints("i8", -128, 127, 2, 3), ints("i8", -128, 127, 3, 2), False, False),
    ("more columns than a panel", grid("f32", 2, 2), grid("f32", 2, 70), False, False),
    ("NaN and infinities", T("f32", [[nan, 1.0], [inf, 0.0]]), T("f32", [[1.0, 0.0], [1.0, inf]]), False, False),
]:
    x, y = (t.double() if t.dtype.is_floating_point else t.long() for t in (a, b))
    product_ = torch.matmul(x.mT if ta else x, y.mT if tb else y)
    attrs = {k: True for k, on in [("transpose_a", ta), ("transpose_b", tb)] if on}
    sample("matmul", what, {"a": a, "b": b}, rounded(product_, dtype_of(a)), attrs)

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONV_BACK = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def given(**attrs):
    """Attributes that are not left out."""
    return {k: v for k, v in attrs.items() if v is not None}


convolutions = [  # what, dtype, x, w, stride, padding, dilation, groups
    ("one dimension", "f32", (2, 3, 7), (4, 3, 3), None, None, None, None),
    ("stride and padding", "f32", (1, 2, 5, 6), (3, 2, 3, 2), [2, 1], [1, 2], None, None),
    ("dilation", "f64", (2, 1, 7, 5), (2, 1, 2, 3), None, [0, 1], [3, 2], None),
    ("groups", "f32", (1, 4, 4, 4), (6, 2, 2, 2), [1, 2], None, None, 2),
    ("each channel by itself", "bf16", (1, 3, 5), (6, 1, 3), [2], [1], None, 3),
    ("three dimensions", "f32", (1, 2, 3, 4, 3), (2, 2, 2, 2, 2), [1, 2, 1], [1, 0, 1], [1, 2, 1], None),
    ("f16, a window of one", "f16", (2, 2, 3), (2, 2, 1), None, None, None, None),
    ("no batch", "f32", (0, 2, 4), (1, 2, 3), None, None, None, None),
]
for what, dtype, xs, ws, stride, padding, dilation, groups in convolutions:
    x, w = grid(dtype, *xs), grid(dtype, *ws)
    attrs = given(stride=stride, padding=padding, dilation=dilation, groups=groups)

    def f(x, w, n=len(xs) - 2):
        return CONV[n](x, w, stride=stride or 1, padding=padding or 0, dilation=dilation or 1, groups=groups or 1)

    y = f(x.double(), w.double())
    sample("conv", what, {"x": x, "w": w}, rounded(y, dtype), attrs)
    dy = grid(dtype, *y.shape)
    dx, dw = grads(f, [x, w], dy)
    sample("conv_grad_input", what, {"dy": dy, "w": w}, rounded(dx, dtype), {**attrs, "shape": list(xs)})
    sample("conv_grad_weight", what, {"dy": dy, "x": x}, rounded(dw, dtype), {**attrs, "shape": list(ws)})
for what, dtype, xs, ws, stride, padding, dilation, groups, extra in [
    ("transposed", "f32", (1, 2, 4), (2, 3, 3), None, None, None, None, None),
    (
        "transposed with stride, padding and more at the end",
        "f32",
        (1, 2, 3, 2),
        (2, 2, 3, 3),
        [2, 3],
        [1, 0],
        None,
        None,
        [1, 2],
    ),
    ("transposed with groups and dilation", "bf16", (2, 4, 3), (4, 1, 2), [2], [1], [3], 2, None),
    (
        "transposed, three dimensions",
        "f64",
        (1, 1, 2, 2, 2),
        (1, 2, 2, 1, 3),
        [2, 1, 2],
        [0, 0, 1],
        None,
        None,
        [1, 0, 1],
    ),
]:
    x, w = grid(dtype, *xs), grid(dtype, *ws)
    y = CONV_BACK[len(xs) - 2](
        x.double(),
        w.double(),
        stride=stride or 1,
        padding=padding or 0,
        output_padding=extra or 0,
        groups=groups or 1,
        dilation=dilation or 1,
    )
    sample(
        "conv",
        what,
        {"x": x, "w": w},
        rounded(y, dtype),
        given(stride=stride, padding=padding, dilation=dilation, groups=groups, transposed=True, output_padding=extra),
    )

# ---- pooling

MAX_POOL = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG_POOL = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
for what, x, kernel, stride, padding, dilation, ceil in [
    ("one dimension", grid("f32", 1, 2, 6), [2], None, None, None, None),
    (
        "ties: the first",
        T("f32", [[[[1.0, 1.0, 0.0], [1.0, 1.0, 2.0], [0.0, 2.0, 2.0]]]]),
        [2, 2],
        [1, 1],
        None,
        None,
        None,
    ),
    ("padding never wins", -grid("f32", 1, 1, 4, 5).abs() - 1, [3, 3], [2, 2], [1, 1], None, None),
    ("dilation", grid("f64", 1, 1, 6, 6), [2, 3], [2, 1], [1, 0], [3, 2], None),
    ("rounded up", grid("bf16", 2, 1, 5, 4), [2, 2], [2, 3], None, None, True),
    ("rounded up, a window that would start beyond", grid("f32", 1, 1, 4), [2], [3], [1], None, True),
    ("a NaN wins", T("f32", [[[1.0, nan, 3.0, 4.0, -inf, -inf]]]), [2], None, None, None, None),
    ("three dimensions", grid("f32", 1, 1, 3, 4, 2), [2, 2, 1], [1, 2, 1], [1, 0, 0], None, None),
    ("no batch", grid("f32", 0, 1, 4), [2], None, None, None, None),
]:
    n = len(kernel)

    def f(x):
        return MAX_POOL[n](x, kernel, stride, padding or 0, dilation or 1, bool(ceil), return_indices=True)

    # Pooling over a batch of none is refused there; its result is known.
    y, at = f(x.double()) if x.numel() else (x.double()[..., :2], x.long()[..., :2])
    sample(
        "max_pool",
        what,
        {"x": x},
        [y.to(x.dtype), at],
        given(kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil=ceil),
    )
    dy = grid(dtype_of(x), *y.shape)
    dx = grads(lambda x: f(x)[0], [x], dy)[0] if x.numel() else x
    sample(
        "max_pool_grad",
        what,
        {"dy": dy, "indices": at},
        rounded(dx, dtype_of(x)),
        {"spatial": n, "shape": list(x.shape)},
    )
for what, x, kernel, stride, padding, ceil, count, divisor in [
    ("one dimension", grid("f32", 1, 2, 6), [2], None, None, None, None, None),
    ("padding counts", grid("f32", 1, 1, 4, 5), [3, 3], [2, 2], [1, 1], None, None, None),
    ("padding does not count", grid("f32", 1, 1, 4, 5), [3, 2], [2, 1], [1, 1], None, False, None),
    ("rounded up", grid("f64", 1, 2, 5, 4), [2, 3], [2, 2], [1, 1], True, None, None),
    ("rounded up, padding does not count", grid("f32", 1, 1, 6), [4], [3], [2], True, False, None),
    ("a divisor", grid("bf16", 1, 1, 4, 4), [2, 2], None, None, None, None, 3),
    ("three dimensions", grid("f32", 1, 1, 3, 4, 2), [2, 2, 1], [1, 2, 1], [1, 0, 0], None, None, None),
    ("f16", grid("f16", 2, 3, 4), [4], None, None, None, None, None),
]:
    n = len(kernel)

    def f(x):
        more = {"divisor_override": divisor} if n > 1 else {}
        return AVG_POOL[n](x, kernel, stride, padding or 0, bool(ceil), count is not False, **more)

    attrs = given(kernel=kernel, stride=stride, padding=padding, ceil=ceil, count_padding=count, divisor=divisor)
    y = f(x.double())
    sample("avg_pool", what, {"x": x}, rounded(y, dtype_of(x)), attrs)
    dy = grid(dtype_of(x), *y.shape)
    sample(
        "avg_pool_grad",
        what,
        {"dy": dy},
        rounded(grads(f, [x], dy)[0], dtype_of(x)),
        {**attrs, "shape": list(x.shape)},
        tol=tolerance(x),
    )

# ---- indexing

for what, x, index, dim in [
    ("along rows", grid("f32", 2, 4), T("i64", [[3, 0, 0], [1, 2, 3]]), 1),
    ("negative ones count from the end", ints("i8", -9, 9, 3, 2), T("i64", [[-1, 0], [0, -3], [1, -2]]), 0),
    ("i32 index, fewer rows", grid("bf16", 3, 3), T("i32", [[2, 2, 0]]), 1),
    ("nothing", grid("f32", 2, 2), T("i64", []).reshape(0, 2), 0),
    ("NaN keeps", T("f64", [nan, -0.0]), T("i64", [1, 0, 0]), 0),
    ("bool in the middle", ints("bool", 0, 2, 2, 3, 2), ints("i64", 0, 3, 2, 2, 2), 1),
]:
    sample(
        "gather",
        what,
        {"x": x, "index": index},
        torch.gather(x, dim, torch.where(index < 0, index + x.shape[dim], index).long()),
        {"dim": dim},
    )
REDUCTIONS = {"sum": "sum", "product": "prod", "min": "amin", "max": "amax"}
for what, x, index, source, dim, reduce in [
    ("replaced", grid("f32", 3, 3), T("i64", [[0, 2, 1]]), grid("f32", 1, 3), 0, None),
    ("sums in order", grid("f32", 2, 3), T("i64", [[0, 0, 2, 0], [1, 1, 1, -1]]), grid("f32", 2, 4), 1, "sum"),
    ("bf16 products", grid("bf16", 4), T("i32", [0, 3, 0]), grid("bf16", 3), 0, "product"),
    (
        "the smallest, with NaN",
        T("f32", [1.0, 2.0, 3.0]),
        T("i64", [0, 0, 1, 2]),
        T("f32", [0.5, 4.0, nan, -inf]),
        0,
        "min",
    ),
    ("the largest of i32", ints("i32", -9, 9, 3), T("i64", [2, 2, 0]), ints("i32", -9, 9, 3), 0, "max"),
    ("nothing", grid("f64", 2), T("i64", []), T("f64", []), 0, "sum"),
    ("i8 wraps", T("i8", [100, 0]), T("i64", [0, 0]), T("i8", [100, 100]), 0, "sum"),
    ("bool", T("bool", [True, True]), T("i64", [-1]), T("bool", [False]), 0, None),
]:
    at = torch.where(index < 0, index + x.shape[dim], index).long()
    y = torch.scatter_reduce(x, dim, at, source, REDUCTIONS[reduce]) if reduce else torch.scatter(x, dim, at, source)
    sample("scatter", what, {"x": x, "index": index, "source": source}, y, given(dim=dim, reduce=reduce))


def chosen(x, dims, indices):
    place = [slice(None)] * x.dim()
    for d, i in zip(dims, indices):
        place[d] = i.long()
    return tuple(place)


selections = [
    ("one tensor", grid("f32", 3, 2), [0], [T("i64", [2, 0, 0])]),
    ("two neighbours", grid("f32", 2, 3, 4), [1, 2], [T("i64", [0, 2]), T("i64", [3, 1])]),
    (
        "two apart: their dimension comes first",
        ints("i32", 0, 99, 2, 3, 4),
        [0, 2],
        [T("i64", [1, 0]), T("i64", [-1, 2])],
    ),
    ("broadcast together", grid("bf16", 3, 3), [0, 1], [T("i64", [[0], [2]]), T("i32", [1, -1, 0])]),
    ("rank 0", grid("f64", 2, 3), [1], [T("i64", 1)]),
    ("nothing", grid("f32", 2, 3), [0], [T("i64", [])]),
    ("in the middle", ints("u8", 0, 99, 2, 3, 2), [1], [T("i64", [[1, 1], [0, 2]])]),
]
for what, x, dims, indices in selections:
    names = [f"i{k}" for k in range(len(indices))]
    listed = "[" + ",".join("%" + n for n in names) + "]"
    y = x[chosen(x, dims, indices)]
    sample("index", what, {"x": x, **dict(zip(names, indices))}, y, {"dims": dims}, operands=f"%x, {listed}")
    values = grid(dtype_of(x), *y.shape) if x.dtype.is_floating_point else ints(dtype_of(x), 0, 9, *y.shape)
    # Of several values for one place the last stays, as numpy has it.
    put = compute(x).numpy().copy()
    put[tuple(i.numpy() if torch.is_tensor(i) else i for i in chosen(x, dims, indices))] = compute(values).numpy()
    sample(
        "index_put",
        what,
        {"x": x, "values": values, **dict(zip(names, indices))},
        torch.from_numpy(put).to(x.dtype),
        {"dims": dims},
        operands=f"%x, %values, {listed}",
    )
    added = wide(x).clone().numpy()
    np.add.at(
        added, tuple(i.numpy() if torch.is_tensor(i) else i for i in chosen(x, dims, indices)), wide(values).numpy()
    )
    sample(
        "index_put",
        what + ", added",
        {"x": x, "values": values, **dict(zip(names, indices))},
        rounded(torch.from_numpy(added), dtype_of(x)),
        {"dims": dims, "accumulate": True},
        operands=f"%x, %values, {listed}",
        tol=tolerance(x) if dtype_of(x) == "bf16" else None,
    )

for what, table, ids in [
    ("rows", grid("f32", 4, 3), T("i64", [2, 0, 2])),
    ("two dimensions of ids", grid("bf16", 3, 2), T("i32", [[0, 1], [2, -1]])),
    ("rank 0", ints("i32", 0, 9, 3, 2), T("i64", 1)),
    ("no ids", grid("f32", 3, 2), T("i64", [])),
]:
    sample("embedding", what, {"table": table, "ids": ids}, table[ids.long()], {})
for what, dtype, ids, rows, width, padding in [
    ("rows are summed", "f32", T("i64", [2, 0, 2, 2]), 4, 3, None),
    ("a padding row gets none", "f32", T("i64", [[1, 0], [3, 1]]), 4, 2, 1),
    ("bf16 sums in f32", "bf16", T("i32", [0] * 9 + [1]), 2, 2, None),
    ("rank 0", "f64", T("i64", 1), 3, 2, None),
    ("no ids", "f32", T("i64", []), 2, 2, None),
]:
    dy = grid(dtype, *ids.shape, width)
    dw = grads(lambda w: F.embedding(ids.long(), w, padding_idx=padding), [torch.zeros(rows, width)], dy)[0]
    sample("embedding_grad", what, {"dy": dy, "ids": ids}, rounded(dw, dtype), given(rows=rows, padding=padding))

for what, x, dim, descending in [
    ("NaN is the largest", T("f32", [2.0, nan, -inf, 1.0, inf, nan]), 0, None),
    ("equals keep their order", T("i32", [[1, 0, 1, 0], [2, 2, 2, 1]]), 1, None),
    ("largest first, stable", T("f32", [1.0, nan, 3.0, 1.0, 3.0]), 0, True),
    ("along the first dimension", grid("bf16", 4, 2), 0, True),
    ("bool", T("bool", [True, False, True]), 0, None),
    ("u8 in the middle", ints("u8", 0, 255, 2, 3, 2), 1, None),
    ("no elements", T("f64", []).reshape(0, 2), 0, None),
]:
    y, at = torch.sort(x, dim=dim, descending=bool(descending), stable=True)
    sample("sort", what, {"x": x}, [y, at], given(dim=dim, descending=descending))
for what, x, k, dim, smallest in [
    ("the largest", grid("f32", 2, 6), 3, 1, None),
    ("NaN is the largest", T("f32", [2.0, nan, 5.0, -inf]), 2, 0, None),
    ("the smallest", T("f32", [2.0, nan, 5.0, -inf]), 3, 0, True),
    ("the first of equals", T("i32", [1, 3, 3, 2, 3]), 4, 0, None),
    ("none", grid("f64", 3), 0, 0, None),
    ("columns of bf16", grid("bf16", 4, 2), 4, 0, True),
]:
    y, at = torch.sort(x, dim=dim, descending=not smallest, stable=True)  # topk of PyTorch is not stable
    sample("topk", what, {"x": x}, [y.narrow(dim, 0, k), at.narrow(dim, 0, k)], given(dim=dim, k=k, smallest=smallest))

# ---- normalisation

rows = [
    ("f32", grid("f32", 2, 5), 1),
    ("first dimension, f64", grid("f64", 3, 2), 0),
    ("large numbers do not overflow", T("f32", [[1000.0, 1001.0], [-1e30, 3e38]]), 1),
    (
        "-inf has no share, NaN and inf spoil",
        T("f32", [[0.0, -inf, 1.0], [nan, 0.0, 1.0], [inf, 0.0, 1.0], [-inf, -inf, -inf]]),
        1,
    ),
    ("bf16 in the middle", grid("bf16", 2, 3, 2), 1),
    ("f16", grid("f16", 7), 0),
    ("no elements", grid("f32", 0, 3), 1),
    ("rows of nothing", grid("f32", 2, 0), 1),
]
for name, f in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
    for what, x, dim in rows:
        y = rounded(f(x.double(), dim), dtype_of(x))
        sample(name, what, {"x": x}, y, {"dim": dim}, tol=tolerance(x))
        if "share" in what or "large" in what:
            continue
        dy = grid(dtype_of(x), *x.shape)
        back = torch.ops.aten._softmax_backward_data if name == "softmax" else torch.ops.aten._log_softmax_backward_data
        dx = back(dy.double(), y.double(), dim, torch.float64)
        sample(name + "_grad", what, {"dy": dy, "y": y}, rounded(dx, dtype_of(x)), {"dim": dim}, tol=tolerance(x))

STATS = {"f64": "f64", "f32": "f32", "bf16": "f32", "f16": "f32"}


def optional(*names_and_values):
    """The list form of optional operands, and the inputs that are there."""
    inputs = {n: v for n, v in names_and_values if v is not None}
    return inputs, [f"[%{n}]" if v is not None else "[]" for n, v in names_and_values]


norms = [
    ("no weights", "f32", (2, 6), 1, None, False, False),
    ("weight and bias", "f32", (3, 4), 1, None, True, True),
    ("over two dimensions", "f64", (2, 2, 3), 2, 1e-3, True, True),
    ("bias alone", "f32", (2, 4), 1, None, False, True),
    ("bf16 with statistics in f32", "bf16", (2, 8), 1, None, True, True),
    ("f16, weight alone", "f16", (2, 4), 1, 0.1, True, False),
    ("no rows", "f32", (0, 3), 1, None, True, True),
    ("over everything", "f32", (5,), 1, None, True, True),
]
for what, dtype, shape, over, eps, has_w, has_b in norms:
    x, last = grid(dtype, *shape), list(shape[len(shape) - over :])
    w, b = grid(dtype, *last) if has_w else None, grid(dtype, *last) if has_b else None
    attrs, stats = given(over=over if over != 1 else None, eps=eps), STATS[dtype]

    def f(x, w, b):
        return F.layer_norm(x, last, w, b, eps or 1e-5)

    def root(x, w):
        return F.rms_norm(x, last, w, eps or 1e-5)

    dims = list(range(len(shape) - over, len(shape)))
    mean = x.double().mean(dims, keepdim=True)
    rstd = 1 / torch.sqrt(x.double().var(dims, unbiased=False, keepdim=True) + (eps or 1e-5))
    mean, rstd = mean.to(DTYPES[stats]), rstd.to(DTYPES[stats])
    wd, bd = w.double() if has_w else None, b.double() if has_b else None
    y = rounded(f(x.double(), wd, bd), dtype)
    more, slots = optional(("weight", w), ("bias", b))
    sample(
        "layer_norm",
        what,
        {"x": x, **more},
        [y, mean, rstd],
        attrs,
        operands=", ".join(["%x", *slots]),
        tol=tolerance(y, mean, rstd),
    )
    dy = grid(dtype, *shape)
    ones = torch.ones(last)
    dx, dw, db = grads(f, [x, w if has_w else ones, torch.zeros(last)], dy)
    more, slots = optional(("weight", w))
    sample(
        "layer_norm_grad",
        what,
        {"dy": dy, "x": x, "mean": mean, "rstd": rstd, **more},
        [rounded(g, dtype) for g in (dx, dw, db)],
        given(over=over if over != 1 else None),
        operands=", ".join(["%dy", "%x", "%mean", "%rstd", *slots]),
        tol=tolerance(x, x, x),
    )
    rstd = (1 / torch.sqrt((x.double() ** 2).mean(dims, keepdim=True) + (eps or 1e-5))).to(DTYPES[stats])
    y = rounded(root(x.double(), wd), dtype)
    sample(
        "rms_norm", what, {"x": x, **more}, [y, rstd], attrs, operands=", ".join(["%x", *slots]), tol=tolerance(y, rstd)
    )
    dx, dw = grads(root, [x, w if has_w else ones], dy)
    sample(
        "rms_norm_grad",
        what,
        {"dy": dy, "x": x, "rstd": rstd, **more},
        [rounded(g, dtype) for g in (dx, dw)],
        given(over=over if over != 1 else None),
        operands=", ".join(["%dy", "%x", "%rstd", *slots]),
        tol=tolerance(x, x),
    )

for what, dtype, shape, eps, momentum, has_w, has_b, runs in [
    ("no weights, no running statistics", "f32", (4, 3), None, None, False, False, False),
    ("all operands", "f32", (2, 2, 3), None, None, True, True, True),
    ("another momentum and eps", "f64", (2, 3, 2, 2), 1e-3, 0.25, True, True, True),
    ("bf16 with statistics in f32", "bf16", (3, 2, 2), None, None, True, True, True),
    ("weight alone", "f32", (5, 2), None, None, True, False, False),
    ("running statistics alone", "f16", (2, 2, 3), None, None, False, False, True),
    ("no channels", "f32", (2, 0, 3), None, None, True, True, True),
]:
    x, channels, stats = grid(dtype, *shape), shape[1], STATS[dtype]
    w, b = grid(dtype, channels) if has_w else None, grid(dtype, channels) if has_b else None
    m, v = (grid(stats, channels), grid(stats, channels).abs() + 0.5) if runs else (None, None)
    dims = [d for d in range(len(shape)) if d != 1]
    mean, variance = x.double().mean(dims), x.double().var(dims, unbiased=False)
    invstd = 1 / torch.sqrt(variance + (eps or 1e-5))

    def f(x, w, b):
        return F.batch_norm(x, None, None, w, b, True, 0.1, eps or 1e-5)

    wd, bd = w.double() if has_w else None, b.double() if has_b else None
    m2, v2 = (m.double().clone(), v.double().clone()) if runs else (None, None)
    if channels > 0:
        y = F.batch_norm(x.double(), m2, v2, wd, bd, True, 0.1 if momentum is None else momentum, eps or 1e-5)
    else:
        y = x
    results = [rounded(y, dtype), mean.to(DTYPES[stats]), invstd.to(DTYPES[stats])] + (
        [m2.to(DTYPES[stats]), v2.to(DTYPES[stats])] if runs else []
    )
    more, slots = optional(("weight", w), ("bias", b), ("running_mean", m), ("running_var", v))
    sample(
        "batch_norm",
        what,
        {"x": x, **more},
        results,
        given(momentum=momentum, eps=eps),
        operands=", ".join(["%x", *slots]),
        tol=tolerance(*results),
    )
    dy = grid(dtype, *shape)
    dx, dw, db = (
        grads(f, [x, w if has_w else torch.ones(channels), torch.zeros(channels)], dy) if channels else (x, w, b)
    )
    more, slots = optional(("weight", w))
    sample(
        "batch_norm_grad",
        what,
        {"dy": dy, "x": x, "mean": results[1], "invstd": results[2], **more},
        [rounded(g, dtype) for g in (dx, dw, db)],
        {},
        operands=", ".join(["%dy", "%x", "%mean", "%invstd", *slots]),
        tol=tolerance(x, x, x),
    )
for what, dtype, shape, eps, has_w, has_b in [
    ("no weights", "f32", (2, 3), None, False, False),
    ("weight and bias", "f64", (2, 2, 2), 1e-3, True, True),
    ("bf16, bias alone", "bf16", (1, 2, 3), None, False, True),
    ("no batch", "f32", (0, 2, 3), None, True, True),
]:
    x, channels, stats = grid(dtype, *shape), shape[1], STATS[dtype]
    w, b = grid(dtype, channels) if has_w else None, grid(dtype, channels) if has_b else None
    m, v = grid(stats, channels), grid(stats, channels).abs() + 0.5
    y = F.batch_norm(
        x.double(),
        m.double(),
        v.double(),
        w.double() if has_w else None,
        b.double() if has_b else None,
        False,
        0.1,
        eps or 1e-5,
    )
    more, slots = optional(("weight", w), ("bias", b))
    sample(
        "batch_norm_eval",
        what,
        {"x": x, "mean": m, "var": v, **more},
        rounded(y, dtype),
        given(eps=eps),
        operands=", ".join(["%x", "%mean", "%var", *slots]),
        tol=tolerance(x),
    )

# ---- losses and attention

for what, dtype, n, classes, target, reduce, ignore in [
    ("mean", "f32", 4, 3, [0, 2, 1, 1], None, None),
    ("ignored rows do not count", "f32", 4, 3, [0, -100, 1, -100], None, None),
    ("sum, another ignored target", "f64", 3, 4, [1, 3, 0], "sum", 1),
    ("each row", "bf16", 3, 5, [4, -100, 0], "none", None),
    ("all ignored: nothing by nothing", "f32", 2, 2, [-100, -100], None, None),
    ("all ignored: their sum", "f32", 2, 2, [5, 5], "sum", 5),
    ("no rows", "f32", 0, 3, [], "sum", None),
    ("one class, f16", "f16", 2, 1, [0, 0], None, None),
]:
    logits, at = grid(dtype, n, classes), T("i64", target)

    def f(x):
        return F.cross_entropy(x, at, reduction=reduce or "mean", ignore_index=-100 if ignore is None else ignore)

    y = rounded(f(logits.double()), dtype)
    attrs = given(reduce=reduce, ignore=ignore)
    sample("cross_entropy", what, {"logits": logits, "target": at}, y, attrs, tol=tolerance(y))
    dy = grid(dtype, *y.shape)
    dx = grads(f, [logits], dy)[0]
    sample(
        "cross_entropy_grad",
        what,
        {"dy": dy, "logits": logits, "target": at},
        rounded(dx, dtype),
        attrs,
        operands="%dy, %logits, %target",
        tol=tolerance(y),
    )
big = T("f32", [[1000.0, 0.0, -1000.0], [88.0, 89.0, -inf]])
sample(
    "cross_entropy",
    "large logits",
    {"logits": big, "target": T("i64", [2, 1])},
    F.cross_entropy(big.double(), T("i64", [2, 1])).float(),
    tol=1e-6,
)

for what, dtype, b, h, l, s, d, e, mask, causal, scale in [
    ("plain", "f32", 1, 2, 3, 4, 2, 3, None, None, None),
    ("causal, square", "f32", 2, 1, 3, 3, 4, 4, None, True, None),
    ("causal, more keys than queries", "f64", 1, 1, 2, 4, 2, 2, None, True, None),
    (
        "a bool mask for all heads",
        "f32",
        1,
        2,
        3,
        3,
        2,
        2,
        T("bool", [[[[True, False, True], [True, True, True], [False, False, True]]]]),
        None,
        None,
    ),
    (
        "an added mask, with -inf",
        "f32",
        2,
        1,
        2,
        3,
        2,
        1,
        T("f32", [[[[0.5, -inf, 0.0], [0.0, -1.0, 2.0]]]]),
        None,
        None,
    ),
    ("a scale of its own, mask by key", "f64", 1, 1, 2, 3, 2, 2, T("bool", [[[[True, True, False]]]]), None, 0.3),
    (
        "mask and causal together",
        "f32",
        1,
        1,
        3,
        3,
        2,
        2,
        T("bool", [[[[True, True, True], [True, False, True], [True, True, False]]]]),
        True,
        None,
    ),
    ("bf16", "bf16", 1, 1, 3, 3, 4, 2, None, True, None),
    ("no queries", "f32", 1, 1, 0, 2, 2, 2, None, None, None),
    ("no batch", "f32", 0, 2, 2, 2, 2, 2, None, None, None),
]:
    q, k, v = grid(dtype, b, h, l, d), grid(dtype, b, h, s, d), grid(dtype, b, h, s, e)
    factor = scale if scale is not None else 1 / math.sqrt(d)

    def scores(q, k):
        z = q @ k.mT * factor
        if mask is not None:
            z = z.masked_fill(~mask, -inf) if mask.dtype == torch.bool else z + mask.double()
        return z.masked_fill(~torch.ones(l, s, dtype=torch.bool).tril(), -inf) if causal else z

    def f(q, k, v):
        if mask is not None and causal:
            return torch.softmax(scores(q, k), -1) @ v
        m = mask if mask is None or mask.dtype == torch.bool else mask.double()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m, is_causal=bool(causal), scale=scale)

    y = rounded(f(q.double(), k.double(), v.double()), dtype)
    lse = torch.logsumexp(scores(q.double(), k.double()), -1).to(DTYPES[STATS[dtype]])
    more, slots = optional(("mask", mask))
    sample(
        "attention",
        what,
        {"q": q, "k": k, "v": v, **more},
        [y, lse],
        given(causal=causal, scale=scale),
        operands=", ".join(["%q", "%k", "%v", *slots]),
        tol=tolerance(y, lse),
    )
    dy = grid(dtype, b, h, l, e)
    back = [rounded(g, dtype) for g in grads(f, [q, k, v], dy)]
    sample(
        "attention_grad",
        what,
        {"dy": dy, "q": q, "k": k, "v": v, "y": y, "lse": lse, **more},
        back,
        given(causal=causal, scale=scale),
        operands=", ".join(["%dy", "%q", "%k", "%v", "%y", "%lse", *slots]),
        tol=tolerance(*back),
    )

# ---- values out of nothing

for what, value, dtype in [
    ("f32 with all its corners", [1.0, 0.5, -0.0, -inf, nan, 0.1], "f32"),
    ("i64, its ends", [2**63 - 1, -(2**63)], "i64"),
    ("bool", [True, False, True], "bool"),
    ("u8", [0, 255], "u8"),
    ("bf16 rounds", [0.1, 1.00390625], "bf16"),
    ("nothing", [], "i32"),
    ("f16", [65504.0, 6e-08], "f16"),
]:
    sample("constant", what, {}, T(dtype, value), {"value": value} if value else {})
for what, value, dtype, shape in [
    ("f32", 0.1, "f32", (2, 3)),
    ("rank 0", nan, "f64", ()),
    ("i8", -128, "i8", (3,)),
    ("bool", True, "bool", (1, 2)),
    ("bf16 rounds", 0.3, "bf16", (2,)),
    ("nothing", 1.0, "f32", (0, 2)),
]:
    sample(
        "full",
        what,
        {},
        torch.full(shape, value, dtype=torch.float64 if isinstance(value, float) else None).to(DTYPES[dtype]),
        {"value": value},
    )
for what, dtype, shape, dim in [
    ("the last dimension", "i64", (2, 3), 1),
    ("the first", "f32", (3, 2), 0),
    ("in the middle", "i32", (2, 2, 2), 1),
    ("bf16 rounds", "bf16", (260,), 0),
    ("nothing", "f64", (0, 3), 1),
    ("u8 wraps", "u8", (258,), 0),
]:
    shaped = [1] * len(shape)
    shaped[dim] = shape[dim]
    sample("iota", what, {}, torch.arange(shape[dim]).reshape(shaped).expand(shape).to(DTYPES[dtype]), {"dim": dim})

# ---- random numbers: Philox 4x32-10 in integers


def philox(counter, key):
    c, (k0, k1), low = list(counter), key, 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & low, (a >> 32) ^ c[3] ^ k1, a & low]
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return c


assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
assert philox([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]) == [
    0xD16CFE09,
    0x94FDCCEB,
    0x5001E420,
    0x24126EA1,
]


def block(seed, offset, i):
    words = [x & (2**64 - 1) for x in (i, offset, seed)]
    i, offset, seed = ([x & 0xFFFFFFFF, x >> 32] for x in words)
    return philox(i + offset, seed)


def unit(high, low, n):
    return (((high << 32) | low) >> (64 - n)) / 2.0**n


def uniforms(seed, offset, count, n):
    return [unit(*block(seed, offset, i)[:2], n) for i in range(count)]


def normals(seed, offset, count):
    result = []
    for i in range(count):
        w = block(seed, offset, i)
        u, v = unit(w[0], w[1], 53), unit(w[2], w[3], 53)
        result.append(math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v))
    return result


BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
for what, dtype, shape, seed, offset, low, high in [
    ("f32", "f32", (2, 4), 1, 0, None, None),
    ("f64", "f64", (5,), 12345678901234, 7, None, None),
    ("bf16, other bounds", "bf16", (6,), -1, 2**40, -2.0, 2.0),
    ("f16", "f16", (4,), 0, -1, None, None),
    ("rank 0", "f32", (), 42, 1, 0.5, 4.0),
    ("nothing", "f32", (0,), 1, 1, None, None),
]:
    u = uniforms(seed, offset, math.prod(shape), BITS[dtype])
    lo, hi = low if low is not None else 0.0, high if high is not None else 1.0
    y = rounded(T("f64", [lo + (hi - lo) * v for v in u]).reshape(shape), dtype)
    sample("uniform", what, {"key": T("i64", [seed, offset])}, y, given(low=low, high=high))
# The largest draws of bf16 round up to high, which is not below high: low stands for them.
seed = next(s for s in range(10000) if max(uniforms(s, 0, 8, 8)) == 1 - 2.0**-8)
y = rounded(T("f64", [1.0 + v for v in uniforms(seed, 0, 8, 8)]), "bf16")
sample(
    "uniform",
    "never high itself",
    {"key": T("i64", [seed, 0])},
    torch.where(y == 2.0, torch.ones_like(y), y),
    {"low": 1.0, "high": 2.0},
)
for what, dtype, shape, seed, offset, mean, std in [
    ("f32", "f32", (3, 4), 1, 0, None, None),
    ("f64", "f64", (16,), 99, 2**33, None, None),
    ("bf16, other mean and deviation", "bf16", (6,), 7, 3, 10.0, 2.5),
    ("f16", "f16", (4,), -5, 0, None, None),
    ("rank 0", "f32", (), 0, 0, None, 0.5),
    ("no deviation", "f32", (3,), 1, 1, 1.5, 0.0),
]:
    z = normals(seed, offset, math.prod(shape))
    y = rounded(T("f64", [(mean or 0.0) + (1.0 if std is None else std) * v for v in z]).reshape(shape), dtype)
    sample("normal", what, {"key": T("i64", [seed, offset])}, y, given(mean=mean, std=std), tol=tolerance(y))
for what, shape, seed, offset, p in [
    ("a third", (3, 5), 1, 0, 0.3),
    ("never", (4,), 2, 5, 0.0),
    ("always", (4,), 3, 5, 1.0),
    ("rank 0", (), -9, 2**50, 0.5),
]:
    sample(
        "bernoulli",
        what,
        {"key": T("i64", [seed, offset])},
        T("bool", [u < p for u in uniforms(seed, offset, math.prod(shape), 53)]).reshape(shape),
        {"p": p},
    )
for what, x, seed, offset, p in [
    ("f32", grid("f32", 3, 4), 1, 0, 0.3),
    ("bf16", grid("bf16", 8), 5, 1, 0.5),
    ("nothing is dropped", grid("f64", 4), 1, 1, 0.0),
    ("everything is dropped", grid("f32", 4), 1, 1, 1.0),
    ("what is dropped is zero, infinite or not", T("f32", [inf, -inf, nan, 1.0, inf, -inf, nan, -1.0]), 4, 4, 0.5),
    ("rank 0, f16", T("f16", 1.5), 11, 0, 0.25),
    ("no elements", T("f32", []), 1, 1, 0.5),
]:
    kept = T("bool", [u >= p for u in uniforms(seed, offset, x.numel(), 53)]).reshape(x.shape)
    factor = torch.tensor(1 / (1 - p) if p < 1 else 0.0, dtype=torch.float64).to(compute(x).dtype)
    y = torch.where(kept, compute(x) * factor, torch.zeros_like(compute(x))).to(x.dtype)
    sample("dropout", what, {"x": x, "key": T("i64", [seed, offset])}, [y, kept], {"p": p})

# ---- optimizers


def listed(name, tensors):
    """Operands of one slot."""
    return {f"{name}{i}": t for i, t in enumerate(tensors)}, "[" + ",".join(
        f"%{name}{i}" for i in range(len(tensors))
    ) + "]"


def optimizer_sample(op, what, slots, results, attrs):
    """slots: (name, list of tensors) or (name, tensor)."""
    inputs, texts = {}, []
    for name, value in slots:
        if isinstance(value, list):
            more, text = listed(name, value)
        else:
            more, text = {name: value}, "%" + name
        inputs.update(more)
        texts.append(text)
    sample(op, what, inputs, results, attrs, operands=", ".join(texts), tol=tolerance(*results))


def scaled(gradients, scale):
    return [g.double() / (scale.double() if scale is not None else 1) for g in gradients]


def skipped(skip, old, new):
    return old if skip is not None and bool(skip) else [rounded(n, dtype_of(o)) for o, n in zip(old, new)]


for what, dtypes, momentum, dampening, decay, nesterov, maximize, first, scale, skip in [
    ("plain", ["f32"], None, None, None, None, None, None, None, None),
    ("several tensors, decay", ["f32", "f64", "f32"], None, None, 0.01, None, None, None, None, None),
    ("momentum and dampening", ["f32", "f32"], 0.9, 0.25, None, None, None, None, None, None),
    ("nesterov with decay", ["f64"], 0.9, None, 0.1, True, None, None, None, None),
    ("maximize", ["f32"], 0.5, None, 0.1, None, True, None, None, None),
    ("the first step", ["f32"], 0.9, 0.5, None, None, None, True, None, None),
    ("the first step of nesterov", ["f32"], 0.9, None, None, True, None, True, None, None),
    ("scaled gradients", ["f32"], 0.9, None, None, None, None, None, T("f32", 1024.0), T("f32", 0.0)),
    ("skipped", ["f32", "bf16"], 0.9, None, 0.1, None, None, None, T("f32", 2.0), T("f32", 1.0)),
    ("skipped by bool", ["f32"], None, None, None, None, None, None, None, T("bool", True)),
    ("not skipped by bool", ["f32"], None, None, None, None, None, None, None, T("bool", False)),
    ("bf16 computes in f32", ["bf16"], 0.9, None, 0.01, None, None, None, None, None),
]:
    p, g = [grid(d, 2, 3) for d in dtypes], [grid(d, 2, 3) for d in dtypes]
    m = [grid(d, 2, 3) for d in dtypes] if momentum else []
    lr = T("f32", 0.1)
    ps = [t.double().clone().requires_grad_() for t in p]
    for t, gradient in zip(ps, scaled(g, scale)):
        t.grad = gradient
    opt = torch.optim.SGD(
        ps,
        lr=lr.item(),
        momentum=momentum or 0,
        dampening=dampening or 0,
        weight_decay=decay or 0,
        nesterov=bool(nesterov),
        maximize=bool(maximize),
        foreach=False,
    )
    if momentum and not first:
        for t, buffer in zip(ps, m):
            opt.state[t]["momentum_buffer"] = buffer.double().clone()
    opt.step()
    news = [t.detach() for t in ps]
    moved = [opt.state[t]["momentum_buffer"] for t in ps] if momentum else []
    results = list(skipped(skip, p, news)) + list(skipped(skip, m, moved))
    slots = [
        ("p", p),
        ("g", g),
        ("m", m),
        ("lr", lr),
        ("scale", [scale] if scale is not None else []),
        ("skip", [skip] if skip is not None else []),
    ]
    optimizer_sample(
        "sgd",
        what,
        slots,
        results,
        given(
            momentum=momentum,
            dampening=dampening,
            weight_decay=decay,
            nesterov=nesterov,
            maximize=maximize,
            first=first,
        ),
    )

for op, make in [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)]:
    for what, dtypes, steps, betas, eps, decay, amsgrad, maximize, scale, skip in [
        ("the first step", ["f32"], [1], None, None, None, False, None, None, None),
        ("several tensors, later", ["f32", "f64"], [10, 3], None, None, 0.01, False, None, None, None),
        ("amsgrad", ["f32"], [4], None, None, None, True, None, None, None),
        ("other betas and eps, amsgrad, decay", ["f64"], [7], (0.8, 0.95), 1e-3, 0.1, True, None, None, None),
        ("maximize", ["f32"], [2], None, None, 0.1, False, True, None, None),
        ("scaled gradients", ["f32"], [3], None, None, None, False, None, T("f32", 8.0), T("f32", 0.0)),
        ("skipped", ["f32", "f32"], [3, 3], None, None, 0.1, True, None, T("f32", 8.0), T("f32", 1.0)),
        ("skipped by bool", ["f64"], [3], None, None, None, False, None, None, T("bool", True)),
        ("bf16 parameters, moments in f32", ["bf16"], [5], None, None, 0.01, False, None, None, None),
    ]:
        p, g = [grid(d, 2, 2) for d in dtypes], [grid(d, 2, 2) for d in dtypes]
        m = [grid(STATS[d], 2, 2) for d in dtypes]
        v = [grid(STATS[d], 2, 2).abs() + 0.125 for d in dtypes]
        top = [grid(STATS[d], 2, 2).abs() + 0.125 for d in dtypes] if amsgrad else []
        if what == "the first step":
            m, v = [torch.zeros_like(t) for t in m], [torch.zeros_like(t) for t in v]
        lr = T("f32", 0.05)
        ps = [t.double().clone().requires_grad_() for t in p]
        for t, gradient in zip(ps, scaled(g, scale)):
            t.grad = gradient
        opt = make(
            ps,
            lr=lr.item(),
            betas=betas or (0.9, 0.999),
            eps=eps or 1e-8,
            weight_decay=decay or 0,
            amsgrad=amsgrad,
            maximize=bool(maximize),
            foreach=False,
        )
        for i, t in enumerate(ps):
            opt.state[t].update(
                step=torch.tensor(float(steps[i] - 1)), exp_avg=m[i].double().clone(), exp_avg_sq=v[i].double().clone()
            )
            if amsgrad:
                opt.state[t]["max_exp_avg_sq"] = top[i].double().clone()
        opt.step()
        results = []
        for old, key in [(p, None), (m, "exp_avg"), (v, "exp_avg_sq"), (top, "max_exp_avg_sq")]:
            if old:
                results += skipped(skip, old, [t.detach() if key is None else opt.state[t][key] for t in ps])
        slots = [
            ("p", p),
            ("g", g),
            ("m", m),
            ("v", v),
            ("w", top),
            ("step", [T("f32", float(n)) for n in steps]),
            ("lr", lr),
            ("scale", [scale] if scale is not None else []),
            ("skip", [skip] if skip is not None else []),
        ]
        beta1, beta2 = betas or (None, None)
        optimizer_sample(
            op, what, slots, results, given(beta1=beta1, beta2=beta2, eps=eps, weight_decay=decay, maximize=maximize)
        )

for what, xs, d in [
    ("two tensors", [grid("f32", 2, 2), grid("f32", 3)], T("f32", 3.0)),
    ("bf16", [grid("bf16", 4)], T("bf16", 0.3)),
    ("by zero", [T("f64", [1.0, 0.0, -1.0])], T("f64", 0.0)),
    ("nothing and rank 0", [T("f32", []), T("f32", 1.0)], T("f32", 7.0)),
]:
    inputs, text = listed("x", xs)
    sample(
        "div_each",
        what,
        {**inputs, "d": d},
        [(compute(x) / compute(d)).to(x.dtype) for x in xs],
        operands=f"{text}, %d",
    )

# ---- between ranks


def collective(op, what, mesh, xs, expected, attrs, tol=0):
    """Every rank runs op on its tensors and waits. xs and expected: [rank][operand]."""
    inputs = [f"%x{i}: {type_of(t)}" for i, t in enumerate(xs[0])]
    many = range(len(xs[0]))
    started = ", ".join(f"%s{i}: pending {type_of(expected[0][i])}" for i in many)
    arrived = ", ".join(f"%y{i}: {type_of(expected[0][i])}" for i in many)
    body = [
        f"{started} = {op}({', '.join(f'%x{i}' for i in many)}){attributes({**attrs, 'channel': 0})}",
        f"{arrived} = wait({', '.join(f'%s{i}' for i in many)})",
        "return " + ", ".join(f"%y{i}" for i in many),
    ]
    program(
        op,
        what,
        mesh + "\n" + graph(inputs, body),
        [(r, f"x{i}", t) for r, ts in enumerate(xs) for i, t in enumerate(ts)],
        [(r, i, tol, t) for r, ts in enumerate(expected) for i, t in enumerate(ts)],
    )


def reduced_over(tensors, reduce):
    """Member after member in the accumulate dtype, rounded once."""
    dtype = tensors[0].dtype
    acc = [compute(t) if dtype.is_floating_point else t.long() for t in tensors]
    total = acc[0]
    for t in acc[1:]:
        total = {"sum": torch.add, "avg": torch.add, "min": torch.minimum, "max": torch.maximum, "product": torch.mul}[
            reduce
        ](total, t)
    return (total / len(acc) if reduce == "avg" else total).to(dtype)


PAIRS = 'mesh(rank=4)\ngroup "pairs" = [[0,3],[1,2]]'
SETS = {
    "mesh(dp=2)": {"dp": [[0, 1]], "world": [[0, 1]]},
    "mesh(dp=4)": {"dp": [[0, 1, 2, 3]]},
    "mesh(dp=2, tp=2)": {"dp": [[0, 2], [1, 3]], "tp": [[0, 1], [2, 3]], "world": [[0, 1, 2, 3]]},
    PAIRS: {"pairs": [[0, 3], [1, 2]]},
}


def by_set(mesh, group, xs, f):
    """f(members' tensors of one operand, index of the member) for every rank and operand."""
    expected = [[None] * len(x) for x in xs]
    for members in SETS[mesh][group]:
        for me, r in enumerate(members):
            for i in range(len(xs[0])):
                expected[r][i] = f([xs[m][i] for m in members], me)
    return expected


def make(ranks, *specs):
    return [
        [
            grid(d, *s) if DTYPES[d].is_floating_point else ints(d, -9, 9, *s) if d != "bool" else ints(d, 0, 2, *s)
            for d, s in specs
        ]
        for _ in range(ranks)
    ]


for what, mesh, group, reduce, xs in [
    ("sum on two ranks", "mesh(dp=2)", "dp", "sum", make(2, ("f32", (3,)))),
    ("average of bf16 and f64 in one bucket", "mesh(dp=4)", "dp", "avg", make(4, ("bf16", (2, 2)), ("f64", ()))),
    (
        "largest along an axis, with NaN",
        "mesh(dp=2, tp=2)",
        "dp",
        "max",
        [[T("f32", [1.0, nan])], [T("f32", [2.0, 5.0])], [T("f32", [nan, 0.0])], [T("f32", [-inf, 6.0])]],
    ),
    ("smallest along the other", "mesh(dp=2, tp=2)", "tp", "min", make(4, ("i32", (3,)))),
    (
        "product in a listed group; i8 wraps",
        PAIRS,
        "pairs",
        "product",
        [[T("i8", [100, 2])], [T("i8", [3, -128])], [T("i8", [5, -1])], [T("i8", [100, 7])]],
    ),
    ("nothing", "mesh(dp=2)", "world", "sum", make(2, ("f32", (0, 2)))),
]:
    collective(
        "all_reduce",
        what,
        mesh,
        xs,
        by_set(mesh, group, xs, lambda ts, me: reduced_over(ts, reduce)),
        {"group": group, "reduce": reduce},
    )
for what, mesh, group, reduce, root, xs in [
    ("the root has the sum", "mesh(dp=2)", "dp", "sum", 0, make(2, ("f32", (3,)))),
    ("another root, largest", "mesh(dp=4)", "dp", "max", 2, make(4, ("i32", (2,)), ("bf16", (2,)))),
    ("average along an axis", "mesh(dp=2, tp=2)", "tp", "avg", 1, make(4, ("f64", (2,)))),
    ("rank 0 in a listed group", PAIRS, "pairs", "product", 1, make(4, ("f32", ()))),
]:
    attrs = {"group": group, "reduce": reduce, **({"root": root} if root else {})}
    collective(
        "reduce",
        what,
        mesh,
        xs,
        by_set(mesh, group, xs, lambda ts, me: reduced_over(ts, reduce) if me == root else ts[me]),
        attrs,
    )
for what, mesh, group, xs in [
    ("two ranks", "mesh(dp=2)", "dp", make(2, ("f32", (2, 2)))),
    ("rank 0", "mesh(dp=4)", "dp", make(4, ("i64", ()))),
    ("along an axis, a bucket", "mesh(dp=2, tp=2)", "dp", make(4, ("bf16", (1, 2)), ("bool", (3,)))),
    ("a listed group", PAIRS, "pairs", make(4, ("f64", (2,)))),
    ("nothing", "mesh(dp=2)", "dp", make(2, ("f32", (0, 3)))),
]:
    collective(
        "all_gather",
        what,
        mesh,
        xs,
        by_set(mesh, group, xs, lambda ts, me: torch.cat([t.reshape(1) if t.dim() == 0 else t for t in ts])),
        {"group": group},
    )
for what, mesh, group, reduce, xs in [
    ("sum", "mesh(dp=2)", "dp", "sum", make(2, ("f32", (4,)))),
    ("average of rows, bf16", "mesh(dp=4)", "dp", "avg", make(4, ("bf16", (4, 2)))),
    ("smallest, a bucket", "mesh(dp=2, tp=2)", "tp", "min", make(4, ("i32", (2, 2)), ("f64", (4,)))),
    ("nothing", "mesh(dp=2)", "dp", "sum", make(2, ("f32", (0, 3)))),
]:
    collective(
        "reduce_scatter",
        what,
        mesh,
        xs,
        by_set(mesh, group, xs, lambda ts, me: reduced_over(ts, reduce).chunk(len(ts))[me] if ts[0].numel() else ts[0]),
        {"group": group, "reduce": reduce},
    )
for what, mesh, group, root, xs in [
    ("from the first", "mesh(dp=2)", "dp", 0, make(2, ("f32", (3,)))),
    ("from the last, a bucket", "mesh(dp=4)", "dp", 3, make(4, ("bool", (2,)), ("bf16", ()))),
    ("along an axis", "mesh(dp=2, tp=2)", "tp", 1, make(4, ("i64", (2,)))),
    ("NaN keeps, a listed group", PAIRS, "pairs", 1, [[T("f32", [float(r), nan])] for r in range(4)]),
]:
    collective(
        "broadcast_from",
        what,
        mesh,
        xs,
        by_set(mesh, group, xs, lambda ts, me: ts[root]),
        {"group": group, **({"root": root} if root else {})},
    )
for what, mesh, group, xs in [
    ("equal shares", "mesh(dp=2)", "dp", make(2, ("f32", (4,)))),
    ("rows, a bucket", "mesh(dp=4)", "dp", make(4, ("bf16", (4, 2)), ("i32", (8,)))),
    ("along an axis", "mesh(dp=2, tp=2)", "dp", make(4, ("i64", (2,)))),
    ("nothing", "mesh(dp=2)", "dp", make(2, ("f32", (0, 2)))),
]:
    collective(
        "all_to_all",
        what,
        mesh,
        xs,
        by_set(mesh, group, xs, lambda ts, me: torch.cat([t.chunk(len(ts))[me] if t.numel() else t for t in ts])),
        {"group": group},
    )
xs = make(2, ("f32", (5, 2)))
split = [t[0].split([2, 3]) for t in xs]
program(
    "all_to_all",
    "splits that are not equal; each rank has its own",
    "mesh(dp=2)\n"
    + "\n\n".join(
        graph(
            ["%x: f32[5,2]"],
            [
                f'%s: pending f32[{2 * n},2] = all_to_all(%x) {{group="dp", send=[2,3], receive=[{n},{n}], channel=0}}',
                f"%y: f32[{2 * n},2] = wait(%s)",
                "return %y",
            ],
            name,
            f" on [{r}] ",
        )
        for r, (name, n) in enumerate([("first", 2), ("second", 3)])
    ),
    [(r, "x", xs[r][0]) for r in range(2)],
    [(r, 0, 0, torch.cat([split[0][r], split[1][r]])) for r in range(2)],
)
a, b = grid("f32", 3), grid("f32", 1)
program(
    "all_to_all",
    "splits with nothing for some, and other sizes on every rank",
    "mesh(dp=2)\n"
    + graph(
        ["%x: f32[3]"],
        [
            '%s: pending f32[1] = all_to_all(%x) {group="dp", send=[0,3], receive=[0,1], channel=0}',
            "%y: f32[1] = wait(%s)",
            "return %y",
        ],
        "first",
        " on [0] ",
    )
    + "\n\n"
    + graph(
        ["%x: f32[1]"],
        [
            '%s: pending f32[3] = all_to_all(%x) {group="dp", send=[1,0], receive=[3,0], channel=0}',
            "%y: f32[3] = wait(%s)",
            "return %y",
        ],
        "second",
        " on [1] ",
    ),
    [(0, "x", a), (1, "x", b)],
    [(0, 0, 0, b), (1, 0, 0, a)],
)


def pair(op, what, x, mesh="mesh(dp=2)", group="dp", sender=0, receiver=1, to=1, source=0, others=()):
    """Two ranks; the sender's wait gives what it sent."""
    send = graph(
        [f"%x: {type_of(x)}"],
        [
            f'%s: pending {type_of(x)} = send(%x) {{group="{group}", to={to}, channel=3}}',
            f"%y: {type_of(x)} = wait(%s)",
            "return %y",
        ],
        "sender",
        f" on [{sender}] ",
    )
    recv = graph(
        [],
        [
            f'%s: pending {type_of(x)} = recv {{group="{group}", from={source}, type={type_of(x)}, channel=3}}',
            f"%y: {type_of(x)} = wait(%s)",
            "return %y",
        ],
        "receiver",
        f" on [{receiver}] ",
    )
    idle = ["graph idle on [" + ",".join(map(str, others)) + "] () {\n}"] if others else []
    program(
        op,
        what,
        mesh + "\n" + "\n\n".join([send, recv, *idle]),
        [(sender, "x", x)],
        [(r, 0, 0, x) for r in sorted((sender, receiver))],
    )


for op in ["send", "recv"]:
    pair(op, "f32", grid("f32", 2, 2))
    pair(op, "the other way round, bf16", grid("bf16", 3), sender=1, receiver=0, to=0, source=1)
    pair(op, "on an axis, among others", T("i64", [2**62, -1]), "mesh(dp=2, tp=2)", "tp", 3, 2, 0, 1, (0, 1))
    pair(op, "nothing", T("bool", []).reshape(0, 2))

a, b = grid("f32", 2), grid("f32", 2)
both_ways = [
    f'%s: pending f32[2] = send(%x) {{group="dp", to={1 - r}, channel={r}}}\n  %r: pending f32[2] = recv {{group="dp", from={1 - r}, type=f32[2], channel={1 - r}}}'
    for r in range(2)
]
program(
    "recv",
    "both ways at once",
    "mesh(dp=2)\n"
    + "\n\n".join(
        graph(
            ["%x: f32[2]"],
            [both_ways[r], "%y: f32[2] = wait(%r)", "%z: f32[2] = wait(%s)", "return %y, %z"],
            n,
            f" on [{r}] ",
        )
        for r, n in enumerate(["first", "second"])
    ),
    [(0, "x", a), (1, "x", b)],
    [(0, 0, 0, b), (0, 1, 0, a), (1, 0, 0, a), (1, 1, 0, b)],
)

program(
    "barrier",
    "two ranks",
    "mesh(dp=2)\n" + graph(["%x: f32[2]"], ['barrier {group="dp", channel=0}', "%y: f32[2] = neg(%x)", "return %y"]),
    [(0, "x", a), (1, "x", b)],
    [(0, 0, 0, -a), (1, 0, 0, -b)],
)
program(
    "barrier",
    "of different graphs",
    "mesh(dp=2)\n"
    + graph(["%x: f32[2]"], ['barrier {group="world", channel=5}', "return %x"], "first", " on [0] ")
    + "\n\n"
    + graph([], ["%y: i8[] = full {value=3}", 'barrier {group="world", channel=5}', "return %y"], "second", " on [1] "),
    [(0, "x", a)],
    [(0, 0, 0, a), (1, 0, 0, T("i8", 3))],
)
xs = make(4, ("f32", (2,)))
program(
    "barrier",
    "while a transfer is on its way",
    "mesh(dp=2, tp=2)\n"
    + graph(
        ["%x: f32[2]"],
        [
            '%s: pending f32[2] = all_reduce(%x) {group="tp", reduce="sum", channel=0}',
            'barrier {group="dp", channel=1}',
            "%y: f32[2] = wait(%s)",
            "return %y",
        ],
    ),
    [(r, "x", xs[r][0]) for r in range(4)],
    [(r, 0, 0, xs[r & 2][0] + xs[r | 1][0]) for r in range(4)],
)

p, q = make(2, ("f32", (2,)), ("i32", (2,)))
program(
    "wait",
    "a bucket in two pieces, the last first",
    "mesh(dp=2)\n"
    + graph(
        ["%x: f32[2]", "%n: i32[2]"],
        [
            '%s: pending f32[2], %t: pending i32[2] = all_reduce(%x, %n) {group="dp", reduce="sum", channel=0}',
            "%m: i32[2] = wait(%t)",
            "%y: f32[2] = wait(%s)",
            "return %y, %m",
        ],
    ),
    [(r, n, t) for r, ts in enumerate([p, q]) for n, t in zip("xn", ts)],
    [(r, i, 0, p[i] + q[i]) for r in range(2) for i in range(2)],
)
program(
    "wait",
    "only one of a bucket",
    "mesh(dp=2)\n"
    + graph(
        ["%x: f32[2]", "%n: i32[2]"],
        [
            '%s: pending f32[2], %t: pending i32[2] = all_reduce(%x, %n) {group="dp", reduce="max", channel=0}',
            "%m: i32[2] = wait(%t)",
            "return %m",
        ],
    ),
    [(r, n, t) for r, ts in enumerate([p, q]) for n, t in zip("xn", ts)],
    [(r, 0, 0, torch.maximum(p[1], q[1])) for r in range(2)],
)
program(
    "wait",
    "two transfers, waited for in the other order",
    "mesh(dp=2)\n"
    + graph(
        ["%x: f32[2]"],
        [
            '%s: pending f32[2] = all_reduce(%x) {group="dp", reduce="sum", channel=0}',
            '%t: pending f32[4] = all_gather(%x) {group="dp", channel=1}',
            "%y: f32[4] = wait(%t)",
            "%z: f32[2] = wait(%s)",
            "return %y, %z",
        ],
    ),
    [(0, "x", p[0]), (1, "x", q[0])],
    [(r, i, 0, t) for r in range(2) for i, t in enumerate([torch.cat([p[0], q[0]]), p[0] + q[0]])],
)

for what, mesh, group in [
    ("all ranks", "mesh(dp=2)", "world"),
    ("along an axis", "mesh(dp=2, tp=2)", "tp"),
    ("along the other", "mesh(dp=2, tp=2)", "dp"),
    ("a listed group", PAIRS, "pairs"),
]:
    program(
        "rank",
        what,
        mesh + "\n" + graph([], [f'%y: i64[] = rank {{group="{group}"}}', "return %y"]),
        [],
        sorted(
            ((r, 0, 0, T("i64", me)) for members in SETS[mesh][group] for me, r in enumerate(members)),
            key=lambda o: o[0],
        ),
    )
program(
    "rank", "one rank alone", graph([], ['%y: i64[] = rank {group="world"}', "return %y"]), [], [(0, 0, 0, T("i64", 0))]
)
for what, mesh, group, shape, dtype in [
    ("even pieces", "mesh(dp=2)", "dp", (2, 2), "f32"),
    ("padded with zeros", "mesh(dp=4)", "dp", (3, 3), "bf16"),
    ("a rank with nothing but zeros", "mesh(dp=4)", "dp", (2,), "i64"),
    ("along an axis", "mesh(dp=2, tp=2)", "dp", (5,), "f64"),
    ("a listed group, rank 0", PAIRS, "pairs", (), "f32"),
    ("no elements", "mesh(dp=2)", "dp", (0, 3), "f32"),
]:
    size = len(SETS[mesh][group][0])
    xs = make(sum(map(len, SETS[mesh][group])), (dtype, shape))
    piece = -(-xs[0][0].numel() // size)
    expected = {
        r: F.pad(xs[r][0].reshape(-1), (0, piece * size - xs[r][0].numel()))[me * piece : (me + 1) * piece]
        for members in SETS[mesh][group]
        for me, r in enumerate(members)
    }
    program(
        "shard",
        what,
        mesh
        + "\n"
        + graph(
            [f"%x: {type_of(xs[0][0])}"], [f'%y: {type_of(expected[0])} = shard(%x) {{group="{group}"}}', "return %y"]
        ),
        [(r, "x", x[0]) for r, x in enumerate(xs)],
        [(r, 0, 0, expected[r]) for r in sorted(expected)],
    )

# ---- structure

for what, xs in [
    ("two", [grid("f32", 2), grid("f64", 1)]),
    ("itself alone", [T("bf16", [nan, -0.0])]),
    ("three", [T("bool", True), grid("f32", 2, 2), T("i64", [])]),
]:
    sample("after", what, {f"x{i}": x for i, x in enumerate(xs)}, xs[0])
for what, x in [
    ("f32", grid("f32", 2, 2)),
    ("i8, rank 0", T("i8", -3)),
    ("NaN keeps, nothing changes", T("f16", [nan, -0.0, inf])),
    ("no elements", T("f64", [])),
]:
    sample("stop_gradient", what, {"x": x}, x)
x, w = grid("f32", 3), grid("f32", 3)
program(
    "call",
    "a region of two nodes",
    graph(
        ["%x: f32[3]", "%w: f32[3]"],
        [
            "%y: f32[3] = call(%x, %w) region(%a: f32[3], %b: f32[3]) {\n    %c: f32[3] = mul(%a, %b)\n    %d: f32[3] = relu(%c)\n    return %d\n  }",
            "return %y",
        ],
    ),
    [(0, "x", x), (0, "w", w)],
    [(0, 0, 0, torch.clamp(x * w, min=0) + 0.0)],
)
program(
    "call",
    "two results, one of them a parameter",
    graph(
        ["%x: f32[3]", "%w: f32[3]"],
        [
            '%y: f32[3], %z: f32[3] = call(%x, %w) {backend="llvm"} region(%a: f32[3], %b: f32[3]) {\n    %c: f32[3] = sub(%b, %a)\n    return %c, %a\n  }',
            "return %y, %z",
        ],
    ),
    [(0, "x", x), (0, "w", w)],
    [(0, 0, 0, w - x), (0, 1, 0, x)],
)
program(
    "call",
    "without operands",
    graph([], ["%y: i32[2] = call region() {\n    %c: i32[2] = iota {dim=0}\n    return %c\n  }", "return %y"]),
    [],
    [(0, 0, 0, T("i32", [0, 1]))],
)
program(
    "call",
    "a region in a region",
    graph(
        ["%x: f32[3]"],
        [
            "%y: f32[3] = call(%x) region(%a: f32[3]) {\n    %c: f32[3] = call(%a) region(%p: f32[3]) {\n      %q: f32[3] = neg(%p)\n      return %q\n    }\n    %d: f32[3] = add(%c, %c)\n    return %d\n  }",
            "return %y",
        ],
    ),
    [(0, "x", x)],
    [(0, 0, 0, -x - x)],
)

pathlib.Path(__file__).with_name("samples.txt").write_text("\n".join(out))
print(sum(line.startswith("== ") for line in out), "samples")

"""Operators of core ATen that few training steps contain, each in a folder of its own, and refusals."""

import torch

from .capture import Case, aten


def case(name, about):
    return Case(f"rare_{name}", about)


def pools():
    c = case("pools_3d", "pools of three dims")
    x = c.input("x", c.randn(1, 2, 4, 4, 3))
    c.op("avg_pool3d", aten.avg_pool3d.default, x, [2, 2, 2])
    c.op("avg_pool3d_args", aten.avg_pool3d.default, x, [3, 2, 2], [1, 2, 1], [1, 0, 1], False, False)
    c.op("max_pool3d", aten.max_pool3d_with_indices.default, x, [2, 2, 2])
    c.op("max_pool3d_args", aten.max_pool3d_with_indices.default, x, [2, 3, 2], [1, 2, 1], [1, 1, 0])
    c.op("adaptive_avg_pool3d", aten._adaptive_avg_pool3d.default, x, [2, 1, 3])


def pads():
    c = case("pads", "reflection and replication pads and their backward")
    v, m, t = c.input("v", c.randn(2, 5)), c.input("m", c.randn(2, 4, 5)), c.input("t", c.randn(1, 2, 3, 3, 3))
    for kind in ("reflection", "replication"):
        for dims, x, pad in ((1, v, [2, 1]), (2, m, [1, 2, 2, 0]), (3, t, [1, 0, 2, 1, 0, 1])):
            y = c.op(f"{kind}_pad{dims}d", getattr(aten, f"{kind}_pad{dims}d").default, x, pad)
            g = c.call(f"{kind}_{dims}_g", aten.sin.default, y)
            c.op(f"{kind}_pad{dims}d_backward", getattr(aten, f"{kind}_pad{dims}d_backward").default, g, x, pad)


def upsampling():
    c = case("upsample_nearest", "nearest neighbours, up and down, by size and by factor, and backward")
    x = c.input("x", c.randn(1, 2, 3, 4))
    c.op("vec_size", aten.upsample_nearest2d.vec, x, [6, 8], None)
    c.op("vec_factor", aten.upsample_nearest2d.vec, x, None, [2.0, 2.0])
    c.op("vec_uneven", aten.upsample_nearest2d.vec, x, [5, 7], None)
    c.op("default_size", aten.upsample_nearest2d.default, x, [6, 8])
    c.op("default_scales", aten.upsample_nearest2d.default, x, [6, 8], 2.0, 2.0)
    c.op("down", aten.upsample_nearest2d.default, x, [2, 3])
    c.op("nearest1d", aten.upsample_nearest1d.vec, c.input("v", c.randn(1, 2, 3)), [6], None)
    c.op("backward", aten.upsample_nearest2d_backward.default, c.input("g", c.randn(1, 2, 6, 8)), [6, 8], [1, 2, 3, 4])

    c = case("upsample_bilinear", "bilinear interpolation with corners aligned and not, and backward")
    x = c.input("x", c.randn(1, 2, 3, 4))
    for aligned in (False, True):
        n = "aligned" if aligned else "plain"
        c.op(f"{n}_size", aten.upsample_bilinear2d.vec, x, [6, 7], aligned, None)
        c.op(f"{n}_factor", aten.upsample_bilinear2d.vec, x, None, aligned, [2.0, 1.5])
        c.op(f"{n}_default", aten.upsample_bilinear2d.default, x, [2, 3], aligned)
        c.op(f"{n}_backward", aten.upsample_bilinear2d_backward.default, c.input(f"g_{n}", c.randn(1, 2, 6, 7)), [6, 7], [1, 2, 3, 4], aligned)


def others():
    c = case("grid_sampler", "grid_sampler_2d, bilinear and nearest, with each padding")
    x, grid = c.input("x", c.randn(1, 2, 4, 4)), c.input("grid", c.randn(1, 3, 3, 2) * 0.8)
    for mode in (0, 1):
        for padding in (0, 1, 2):
            c.op(f"mode{mode}_padding{padding}", aten.grid_sampler_2d.default, x, grid, mode, padding, False)
    c.op("aligned", aten.grid_sampler_2d.default, x, grid, 0, 0, True)

    c = case("im2col", "im2col and col2im")
    x = c.input("x", c.randn(1, 2, 4, 5))
    y = c.op("im2col", aten.im2col.default, x, [2, 3], [1, 1], [1, 0], [2, 1])
    c.op("col2im", aten.col2im.default, y, [4, 5], [2, 3], [1, 1], [1, 0], [2, 1])

    c = case("distances", "_cdist_forward and _pdist_forward")
    a, b = c.input("a", c.randn(3, 4)), c.input("b", c.randn(2, 4))
    c.op("cdist", aten._cdist_forward.default, a, b, 2.0, None)
    c.op("cdist_1", aten._cdist_forward.default, a, b, 1.0, None)
    c.op("cdist_inf", aten._cdist_forward.default, a, b, float("inf"), None)
    c.op("pdist", aten._pdist_forward.default, a, 2.0)

    c = case("embedding_bag", "_embedding_bag: sums, means and maxima of bags")
    w, ids = c.input("w", c.randn(6, 3)), c.input("ids", torch.tensor([1, 4, 4, 0, 5]))
    offsets = c.input("offsets", torch.tensor([0, 2]))
    for mode, n in enumerate(("sum", "mean", "max")):
        c.op(n, aten._embedding_bag.default, w, ids, offsets, False, mode, only=[0])

    c = case("masked_scatter", "masked_scatter: the shape is static though the source is read by count")
    x, m, s = c.input("x", c.randn(2, 3)), c.input("m", c.randint(0, 2, (2, 3), torch.bool)), c.input("s", c.randn(6))
    c.op("masked_scatter", aten.masked_scatter.default, x, m, s)

    c = case("weight_norm", "_weight_norm_interface and its backward")
    v, g = c.input("v", c.randn(3, 4)), c.input("g", c.rand(3, 1))
    r = c.op("weight_norm", aten._weight_norm_interface.default, v, g)
    c.op("backward", aten._weight_norm_interface_backward.default, c.input("dw", c.randn(3, 4)), v, g, c.get("norms", r, 1), 0)

    c = case("cumulative_maxima", "cummax, cummin, logcumsumexp")
    x = c.input("x", c.randn(2, 4))
    c.op("cummax", aten.cummax.default, x, 1)
    c.op("cummin", aten.cummin.default, x, 0)
    c.op("logcumsumexp", aten.logcumsumexp.default, x, 1)


def image_forms():
    c = case("pad_modes", "aten.pad by each mode, negative pads among them")
    x = c.input("x", c.randn(2, 4, 5))
    for mode in ("reflect", "replicate", "circular"):
        c.op(mode, aten.pad.default, x, [2, 1, 0, 3], mode, exact=True)
        c.op(f"{mode}_cut", aten.pad.default, x, [-1, 2], mode, exact=True)

    c = case("resample_forms", "linear interpolation in one and three dims, of bf16, by factors; grids that reach far out")
    v, t = c.input("v", c.randn(2, 3, 5)), c.input("t", c.randn(1, 2, 2, 3, 4))
    c.op("linear1d", aten.upsample_linear1d.vec, v, None, False, [1.7])
    c.op("linear1d_one", aten.upsample_linear1d.default, v, [1], True)
    c.op("linear1d_backward", aten.upsample_linear1d_backward.default, c.input("dv", c.randn(2, 3, 8)), [8], [2, 3, 5], False, 1.7)
    c.op("trilinear3d", aten.upsample_trilinear3d.vec, t, [5, 2, 6], True, None)
    c.op("trilinear3d_backward", aten.upsample_trilinear3d_backward.default, c.input("dt", c.randn(1, 2, 5, 2, 6)), [5, 2, 6], [1, 2, 2, 3, 4], False)
    c.op("bf16", aten.upsample_bilinear2d.vec, c.input("b", c.randn(1, 2, 3, 3, dtype=torch.bfloat16)), [5, 4], False, None)
    x, grid = c.input("x", c.randn(2, 3, 4, 5)), c.input("grid", c.randn(2, 3, 6, 2) * 3)
    for mode in (0, 1):
        for padding in (0, 1, 2):
            for aligned in (False, True):
                c.op(f"grid_{mode}_{padding}_{aligned}", aten.grid_sampler_2d.default, x, grid, mode, padding, aligned)

    c = case("im2col_forms", "im2col and col2im with dilation, of one image, of bf16")
    y = c.op("im2col", aten.im2col.default, c.input("x", c.randn(3, 7, 6)), [2, 3], [2, 1], [1, 2], [1, 2])
    c.op("col2im", aten.col2im.default, y, [7, 6], [2, 3], [2, 1], [1, 2], [1, 2])
    c.op("col2im_bf16", aten.col2im.default, c.input("b", c.randn(1, 8, 9, dtype=torch.bfloat16)), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])


def other_forms():
    c = case("scan_forms", "running maxima with ties, NaN, ints and bools; logcumsumexp with infinities; no dims")
    inf, nan = float("inf"), float("nan")
    x = c.input("x", torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0, nan, 4.0, nan], [-inf, -inf, 0.0, -0.0, 1.0, inf, inf, 2.0]]))
    i, b = c.input("i", c.randint(0, 4, (3, 7))), c.input("b", c.randint(0, 2, (5,), torch.bool))
    zero = c.input("zero", c.randn())
    for name in ("cummax", "cummin"):
        target = getattr(aten, name).default
        for n, v in (("floats", x), ("ints", i), ("bools", b), ("zero", zero)):
            c.op(f"{name}_{n}", target, v, -1)
    c.op("logcumsumexp", aten.logcumsumexp.default, x, 1)
    c.op("logcumsumexp_zero", aten.logcumsumexp.default, zero, 0)
    c.op("logcumsumexp_long", aten.logcumsumexp.default, c.input("long", c.randn(37, 2) * 20), 0)
    c.op("logcumsumexp_bf16", aten.logcumsumexp.default, c.input("bf16", c.randn(2, 5, dtype=torch.bfloat16)), 1)

    c = case("distance_forms", "distances of batches and of many pairs, in other norms")
    a, b = c.input("a", c.randn(2, 1, 4, 3)), c.input("b", c.randn(5, 6, 3))
    m = c.input("m", c.randn(9, 3))
    for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
        c.op(f"cdist_{p:g}", aten._cdist_forward.default, a, b, p, None)
        c.op(f"pdist_{p:g}", aten._pdist_forward.default, m, p)

    c = case("bag_forms", "bags without elements, padding, weights of samples, last offsets; all results of maxima; backward")
    w, ids = c.input("w", c.randn(7, 3)), c.input("ids", torch.tensor([1, 4, 4, 0, 5, 2, 4]))
    offsets = c.input("offsets", torch.tensor([0, 2, 2, 6, 7]))
    weights, g = c.input("weights", c.randn(7)), c.input("g", c.randn(5, 3))
    for mode, n in enumerate(("sum", "mean", "max")):
        c.op(f"{n}_padding", aten._embedding_bag.default, w, ids, offsets, False, mode, False, None, False, 4, only=[0])
        c.op(f"{n}_last", aten._embedding_bag.default, w, ids, offsets, False, mode, False, None, True, only=[0])
        r = c.call(f"{n}_all", aten._embedding_bag.default, w, ids, offsets, False, mode)
        results = [c.get(f"{n}_{i}", r, i) for i in range(4)]
        c.out(*(results if mode == 2 else results[:3] if mode == 1 else results[:1]))
        bag = c.input(f"{n}_bag", torch.tensor([0, 0, 2, 2, 2, 2, 3]))
        size = c.input(f"{n}_size", torch.tensor([2, 0, 4, 1, 0]))
        c.op(f"{n}_backward", aten._embedding_bag_dense_backward.default, g, ids, bag, size, results[3], 7, False, mode, None)
    c.op("weighted", aten._embedding_bag.default, w, ids, offsets, False, 0, False, weights, only=[0])
    c.op("weighted_backward", aten._embedding_bag_dense_backward.default, g, ids, bag, size, results[3], 7, False, 0, weights, 4)

    c = case("mask_and_norm_forms", "masked_scatter that broadcasts; weight norms along the last dim, and of bf16")
    m, s = c.input("m", torch.tensor([True, False, True])), c.input("s", c.randn(3, 3))
    c.op("masked_scatter", aten.masked_scatter.default, c.input("x", c.randn(2, 3)), m, s, exact=True)
    v, g, dw = c.input("v", c.randn(2, 3, 4)), c.input("g", c.rand(1, 1, 4)), c.input("dw", c.randn(2, 3, 4))
    r = c.op("last", aten._weight_norm_interface.default, v, g, 2)
    c.op("last_backward", aten._weight_norm_interface_backward.default, dw, v, g, c.get("norms", r, 1), 2)
    b, h = c.input("b", c.randn(3, 4, dtype=torch.bfloat16)), c.input("h", c.rand(3, 1, dtype=torch.bfloat16))
    c.op("bf16", aten._weight_norm_interface.default, b, h, 0)


def dynamic():
    def refusal(name, target, *args):
        c = Case(f"refuse_{name}", f"{target}: a shape or a number that depends on values")
        x = c.input("x", torch.tensor([3.0, 0.0, 3.0]))
        m = c.input("m", torch.tensor([True, False, True]))
        args = [{"x": x, "m": m}.get(a, a) if isinstance(a, str) else a for a in args]
        r = c.call(f"dynamic_{name}", target, *args)
        value = c.env[0][r.name]
        if isinstance(value, torch.Tensor):
            c.out(r)
        elif isinstance(value, tuple):
            c.out(c.get("getitem", r, 0))
        else:
            c.out(x)
        c.refuse(f"dynamic_{name}", str(target))

    refusal("masked_select", aten.masked_select.default, "x", "m")
    refusal("unique", aten._unique2.default, "x")


def item():
    c = Case("refuse_item", "a Python number taken from a tensor, and used")
    x = c.input("x", c.randn())
    n = c.call("number", aten._local_scalar_dense.default, x)
    c.out(c.call("mul", aten.mul.Tensor, x, n))
    c.refuse("number", "aten._local_scalar_dense.default")


def make():
    pools()
    pads()
    upsampling()
    others()
    image_forms()
    other_forms()
    dynamic()
    item()

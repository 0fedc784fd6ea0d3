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
    dynamic()
    item()

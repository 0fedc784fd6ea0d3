"""Matrix products, convolutions, pools, norms, losses, attention, and the backward operators of all of them."""

import math

import torch

from .capture import Case, Named, aten, split_off

bf16, f32, f64 = torch.bfloat16, torch.float32, torch.float64
inf, nan = math.inf, math.nan


def tensor(values, dtype=None):
    return torch.tensor(values, dtype=dtype)


def matmul():
    c = Case("ops_matmul", "matrix products of every pair of ranks, linear, addmm and their kin, sizes of zero")
    shapes = {
        "v": (4,), "m": (3, 4), "n": (4, 5), "b": (2, 3, 4), "k": (2, 4, 5), "one": (1, 4, 5), "q": (2, 1, 3, 4),
        "r": (3, 4, 5), "w": (5,), "s": (2, 3, 4, 5),
    }  # fmt: skip
    t = {n: c.input(n, c.randn(*s)) for n, s in shapes.items()}
    pairs = "v.v m.v v.n m.n b.v v.k b.n m.k b.k b.one q.r q.n m.r v.r q.v s.w"
    for p in pairs.split():
        a, b = p.split(".")
        c.op(f"matmul_{a}_{b}", aten.matmul.default, t[a], t[b])
    m, n, v = t["m"], t["n"], t["v"]
    c.op("mm", aten.mm.default, m, n)
    c.op("mm_of_transposed", aten.mm.default, c.call("nt", aten.t.default, n), c.call("mt", aten.t.default, m))
    c.op("bmm", aten.bmm.default, t["b"], t["k"])
    c.op("mv", aten.mv.default, m, v)
    c.op("dot", aten.dot.default, v, v)
    c.op("vdot", aten.vdot.default, v, v)
    c.op("outer", aten.outer.default, v, t["w"])
    c.op("addmm_row", aten.addmm.default, t["w"], m, n)
    c.op("addmm_matrix", aten.addmm.default, c.input("bias2", c.randn(3, 5)), m, n, beta=2, alpha=0.5)
    c.op("addmm_column", aten.addmm.default, c.input("bias3", c.randn(3, 1)), m, n)
    c.op("addmm_0d", aten.addmm.default, c.input("bias0", c.randn()), m, n)
    c.op("addmv", aten.addmv.default, c.input("bias4", c.randn(3)), m, v)
    c.op("baddbmm", aten.baddbmm.default, c.input("bias5", c.randn(2, 1, 5)), t["b"], t["k"])
    c.op("baddbmm_scaled", aten.baddbmm.default, c.input("bias6", c.randn(5)), t["b"], t["k"], beta=0, alpha=0.5)
    w, bias = c.input("lw", c.randn(2, 4)), c.input("lb", c.randn(2))
    c.op("linear_vector", aten.linear.default, v, w, bias)
    c.op("linear_matrix", aten.linear.default, m, w, bias)
    c.op("linear_batch", aten.linear.default, t["b"], w, bias)
    c.op("linear_no_bias", aten.linear.default, t["q"], w)
    c.op("linear_none_bias", aten.linear.default, m, w, None)
    c.op("linear_vector_weight", aten.linear.default, m, v)
    empty = c.input("empty", torch.zeros(3, 0))
    c.op("mm_inner_zero", aten.mm.default, empty, c.call("et", aten.t.default, empty))
    c.op("addmm_inner_zero", aten.addmm.default, c.input("b33", c.randn(3)), empty, c.call("et1", aten.t.default, empty))
    c.op("mm_outer_zero", aten.mm.default, c.call("et2", aten.t.default, empty), m)
    c.op("matmul_inner_zero", aten.matmul.default, c.input("e3", torch.zeros(2, 3, 0)), c.input("e4", torch.zeros(0, 2)))
    c.op("mm_f64", aten.mm.default, c.input("d1", c.randn(2, 3, dtype=f64)), c.input("d2", c.randn(3, 2, dtype=f64)))
    c.op("mm_i64", aten.mm.default, c.input("i1", c.randint(-5, 5, (2, 3))), c.input("i2", c.randint(-5, 5, (3, 2))))
    c.op("mm_nan", aten.mm.default, c.input("nn", tensor([[nan, 0.0], [inf, 1.0]])), c.input("zz", tensor([[0.0, 1.0], [1.0, 0.0]])))
    c.op("addmm_activation", aten._addmm_activation.default, t["w"], m, n)
    c.op("addmm_activation_gelu", aten._addmm_activation.default, t["w"], m, n, use_gelu=True)
    c.op("einsum_attention", aten.einsum.default, "bij,bjk->bik", [t["b"], t["k"]])
    c.op("einsum_trace", aten.einsum.default, "ij,ij->", [m, m])
    c.op("chain_matmul", aten.linalg_multi_dot.default, [m, n])
    c.op("tensordot", aten.tensordot.default, t["b"], t["n"], [2], [0])
    c.op("bilinear", aten.bilinear.default, c.input("bx", c.randn(3, 2)), c.input("by", c.randn(3, 4)), c.input("bw", c.randn(5, 2, 4)), None)
    c.op("kron", aten.kron.default, w, bias)
    split_off(
        c,
        "ops_matmul_more",
        "products that few graphs contain",
        "_addmm_activation einsum linalg_multi_dot tensordot bilinear kron addbmm vdot",
    )


def conv():
    c = Case("ops_conv", "convolutions with strides, pads, dilation, groups, transposed, of one to three dims")
    x, w, b = c.input("x", c.randn(2, 4, 6, 5)), c.input("w", c.randn(6, 4, 3, 2)), c.input("b", c.randn(6))
    gw, dw = c.input("gw", c.randn(6, 2, 3, 3)), c.input("dw", c.randn(8, 1, 3, 3))
    tw = c.input("tw", c.randn(4, 3, 3, 2))
    c.op("plain", aten.convolution.default, x, w, b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    c.op("no_bias", aten.convolution.default, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    c.op("strides", aten.convolution.default, x, w, b, [2, 3], [1, 0], [1, 1], False, [0, 0], 1)
    c.op("dilation", aten.convolution.default, x, w, b, [1, 1], [2, 1], [2, 1], False, [0, 0], 1)
    c.op("groups", aten.convolution.default, x, gw, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)
    c.op("depthwise_twice", aten.convolution.default, x, dw, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 4)
    c.op("one_number", aten.convolution.default, x, gw, None, [2], [1], [1], False, [0], 2)
    c.op("pointwise", aten.convolution.default, x, c.input("pw", c.randn(3, 4, 1, 1)), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    c.op("transposed", aten.convolution.default, x, tw, c.input("tb", c.randn(3)), [2, 2], [1, 0], [1, 1], True, [1, 0], 1)
    c.op("transposed_groups", aten.convolution.default, x, tw, None, [1, 2], [0, 1], [2, 1], True, [0, 1], 2)
    c.op("kernel_as_wide_as_input", aten.convolution.default, x, c.input("ww", c.randn(2, 4, 6, 5)), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    x1, w1 = c.input("x1", c.randn(2, 3, 8)), c.input("w1", c.randn(4, 3, 3))
    x3, w3 = c.input("x3", c.randn(1, 2, 3, 4, 4)), c.input("w3", c.randn(3, 2, 2, 2, 2))
    c.op("one_dim", aten.convolution.default, x1, w1, None, [2], [1], [1], False, [0], 1)
    c.op("three_dims", aten.convolution.default, x3, w3, None, [1, 1, 2], [0, 1, 0], [1, 1, 1], False, [0, 0, 0], 1)
    c.op("conv2d", aten.conv2d.default, x, w, b)
    c.op("conv2d_args", aten.conv2d.default, x, gw, None, [2, 2], [1, 1], [1, 1], 2)
    c.op("conv2d_one_number", aten.conv2d.default, x, gw, None, [2], [1], [1], 2)
    c.op("conv2d_same", aten.conv2d.padding, x, w, b, [1, 1], "same")
    c.op("conv2d_valid", aten.conv2d.padding, x, w, b, [2, 1], "valid")
    c.op("conv2d_no_batch", aten.conv2d.default, c.call("x0", aten.select.int, x, 0, 0), w, b)
    c.op("conv1d", aten.conv1d.default, x1, w1, c.input("b1", c.randn(4)), [1], [1])
    c.op("conv3d", aten.conv3d.default, x3, w3)
    c.op("conv_transpose2d", aten.conv_transpose2d.input, x, tw, None, [2, 2], [1, 1], [1, 1])
    c.op("conv_transpose1d", aten.conv_transpose1d.default, x1, c.input("tw1", c.randn(3, 2, 3)), None, [2])

    c = Case("ops_conv_backward", "convolution_backward in the same forms")
    x = c.input("x", c.randn(2, 4, 5, 5))

    def backward(name, x, w, args, bias_sizes, mask):
        with_bias = bias_sizes and bias_sizes[0]
        b = c.input(f"{name}_b", c.randn(*bias_sizes)) if with_bias else None
        y = c.call(f"{name}_y", aten.convolution.default, x, w, b, *args)
        g = c.call(f"{name}_g", aten.sin.default, y)
        r = c.call(name, aten.convolution_backward.default, g, x, w, bias_sizes, *args, mask)
        for i, m in enumerate(mask):
            if m:
                c.out(c.get(f"{name}_r{i}", r, i))

    w = c.input("w", c.randn(6, 4, 3, 3))
    backward("plain", x, w, ([1, 1], [1, 1], [1, 1], False, [0, 0], 1), [6], [True, True, True])
    backward("strides_with_rest", x, c.input("w2", c.randn(3, 4, 2, 2)), ([2, 2], [0, 0], [1, 1], False, [0, 0], 1), [0], [True, True, False])
    backward("pointwise_strided", x, c.input("w11", c.randn(3, 4, 1, 1)), ([2, 2], [0, 0], [1, 1], False, [0, 0], 1), [0], [True, True, False])
    backward("dilation", x, w, ([1, 2], [2, 1], [2, 1], False, [0, 0], 1), [6], [True, True, True])
    backward("groups", x, c.input("gw", c.randn(4, 2, 3, 3)), ([1, 1], [1, 1], [1, 1], False, [0, 0], 2), None, [True, True, False])
    backward("depthwise", x, c.input("dw", c.randn(4, 1, 3, 3)), ([1, 1], [1, 1], [1, 1], False, [0, 0], 4), [0], [True, True, False])
    backward("transposed", x, c.input("tw", c.randn(4, 2, 3, 3)), ([2, 2], [0, 1], [1, 1], True, [1, 1], 1), [2], [True, True, True])
    backward("one_dim", c.input("x1", c.randn(2, 3, 8)), c.input("w1", c.randn(4, 3, 3)), ([2], [1], [1], False, [0], 1), [4], [True, True, True])


def pool():
    c = Case("ops_pool", "pools and their backward")
    x = c.input("x", c.randn(2, 2, 7, 6))
    x3 = c.input("chw", c.randn(2, 6, 4))

    def average(name, *args):
        full = list(args) + [[], [0, 0], False, True, None][len(args) - 1 :]
        y = c.op(name, aten.avg_pool2d.default, x, *args)
        c.op(f"{name}_backward", aten.avg_pool2d_backward.default, c.call(f"{name}_g", aten.sin.default, y), x, *full)

    average("avg", [2, 2])
    average("avg_stride", [3, 2], [2, 1])
    average("avg_pad", [3, 3], [2, 2], [1, 1])
    average("avg_pad_excluded", [3, 3], [2, 2], [1, 1], False, False)
    average("avg_ceil", [2, 3], [2, 2], [0, 1], True)
    average("avg_ceil_excluded", [3, 3], [2, 2], [1, 1], True, False)
    average("avg_divisor", [2, 2], [2, 2], [0, 0], False, True, 3)
    c.op("avg_no_batch", aten.avg_pool2d.default, x3, [2, 2])
    c.op("avg_pool1d", aten.avg_pool1d.default, x3, [2], [2])
    c.op("avg_pool1d_pad", aten.avg_pool1d.default, x3, [3], [1], [1], False, False)
    c.op("max_pool2d", aten.max_pool2d.default, x, [3, 3], [2, 2], [1, 1])
    c.op("max_pool2d_ceil", aten.max_pool2d.default, x, [2, 2], [2, 2], [0, 0], [1, 1], True)
    c.op("max_pool1d", aten.max_pool1d.default, x3, [2], [2])
    c.op("max_pool_indices", aten.max_pool2d_with_indices.default, x, [2, 2], [2, 2])
    for n, size in (("one", [1, 1]), ("even", [7, 3]), ("uneven", [3, 4]), ("larger", [9, 6])):
        y = c.op(f"adaptive_{n}", aten._adaptive_avg_pool2d.default, x, size)
        c.op(f"adaptive_{n}_backward", aten._adaptive_avg_pool2d_backward.default, c.call(f"adaptive_{n}_g", aten.sin.default, y), x)
        c.op(f"adaptive_{n}_composite", aten.adaptive_avg_pool2d.default, x, size)
    c.op("adaptive_avg_pool1d", aten.adaptive_avg_pool1d.default, x3, [2])
    y = c.op("adaptive_max", aten.adaptive_max_pool2d.default, x, [3, 2])
    g = c.call("adaptive_max_g", aten.sin.default, c.get("adaptive_max_y", y, 0))
    c.op("adaptive_max_backward", aten.adaptive_max_pool2d_backward.default, g, x, c.get("adaptive_max_i", y, 1))
    split_off(
        c,
        "ops_pool_more",
        "pools that few graphs contain",
        "adaptive_max_pool2d adaptive_max_pool2d_backward adaptive_avg_pool1d max_pool1d avg_pool1d",
    )


def norm():
    c = Case("ops_norm", "layer, group, batch and RMS norms, in training and not, and their backward", iterations=2)
    rm = [c.state(f"bufs_{i}", c.randn(4), "buffer") for i in range(1, 5)]
    rv = [c.state(f"bufs_{i + 4}", c.rand(4), "buffer") for i in range(1, 5)]
    x = c.input("x", lambda k, r: c.randn(3, 4, 2, 5))
    g = c.input("g", lambda k, r: c.randn(3, 4, 2, 5))
    w, b = c.input("w", c.rand(4)), c.input("b", c.randn(4))
    lw, lb = c.input("lw", c.rand(5)), c.input("lb", c.randn(5))

    c.op("native_batch_norm", aten.native_batch_norm.default, x, w, b, rm[0], rv[0], True, 0.1, 1e-5)
    c.op("native_batch_norm_eval", aten.native_batch_norm.default, x, w, b, rm[1], rv[1], False, 0.1, 1e-5, only=[0])
    c.op("native_batch_norm_plain", aten.native_batch_norm.default, x, None, None, None, None, True, 0.1, 1e-5)
    c.op("legit", aten._native_batch_norm_legit.default, x, w, b, rm[1], rv[1], True, 0.2, 1e-3)
    c.op("legit_eval", aten._native_batch_norm_legit.default, x, w, None, rm[1], rv[1], False, 0.2, 1e-3, only=[0])
    c.op("legit_no_stats", aten._native_batch_norm_legit.no_stats, x, w, b, True, 0.1, 1e-5)
    c.op("legit_functional", aten._native_batch_norm_legit_functional.default, x, w, b, rm[2], rv[2], True, 0.1, 1e-5)
    c.op("legit_no_training", aten._native_batch_norm_legit_no_training.default, x, w, b, rm[2], rv[2], 0.1, 1e-5, only=[0])
    c.op("batch_norm_training", aten.batch_norm.default, x, w, b, rm[3], rv[3], True, 0.1, 1e-5, True)
    c.op("batch_norm_eval", aten.batch_norm.default, x, None, None, rm[3], rv[3], False, 0.1, 1e-5, False)
    c.op("batch_norm_no_stats", aten.batch_norm.default, x, w, b, None, None, True, 0.0, 1e-5, False)
    c.op("batch_norm_2d", aten.native_batch_norm.default, c.input("rows", c.randn(5, 4)), w, b, None, None, True, 0.1, 1e-5)

    n = c.call("bn", aten.native_batch_norm.default, x, w, b, None, None, True, 0.1, 1e-5)
    mean, invstd = c.get("bn_mean", n, 1), c.get("bn_invstd", n, 2)
    back = aten.native_batch_norm_backward.default
    c.op("batch_norm_backward", back, g, x, w, None, None, mean, invstd, True, 1e-5, [True, True, True])
    c.op("batch_norm_backward_stats", back, g, x, w, rm[2], rv[2], mean, invstd, True, 1e-5, [True, True, True])
    c.op("batch_norm_backward_input", back, g, x, w, None, None, mean, invstd, True, 1e-5, [True, False, False], only=[0])
    c.op("batch_norm_backward_weights", back, g, x, w, None, None, mean, invstd, True, 1e-5, [False, True, True], only=[1, 2])
    c.op("batch_norm_backward_no_weight", back, g, x, None, None, None, mean, invstd, True, 1e-5, [True, False, False], only=[0])
    c.op("batch_norm_backward_eval", back, g, x, w, rm[2], rv[2], None, None, False, 1e-5, [True, True, True])

    c.op("layer_norm", aten.layer_norm.default, x, [5], lw, lb)
    c.op("layer_norm_args", aten.layer_norm.default, x, [2, 5], None, None, 1e-3, False)
    n = c.op("native_layer_norm", aten.native_layer_norm.default, x, [5], lw, lb, 1e-5)
    mean, rstd = c.get("ln_mean", n, 1), c.get("ln_rstd", n, 2)
    c.op("native_layer_norm_backward", aten.native_layer_norm_backward.default, g, x, [5], mean, rstd, lw, lb, [True, True, True])
    c.op("native_layer_norm_backward_no_bias", aten.native_layer_norm_backward.default, g, x, [5], mean, rstd, lw, None, [True, True, False], only=[0, 1])
    c.op("native_layer_norm_no_bias", aten.native_layer_norm.default, x, [5], lw, None, 1e-5)

    c.op("group_norm", aten.group_norm.default, x, 2, w, b)
    c.op("group_norm_args", aten.group_norm.default, x, 4, None, None, 1e-3, True)
    n = c.op("native_group_norm", aten.native_group_norm.default, x, w, b, 3, 4, 10, 2, 1e-5)
    c.op("native_group_norm_plain", aten.native_group_norm.default, x, None, None, 3, 4, 10, 1, 1e-5)
    mean, rstd = c.get("gn_mean", n, 1), c.get("gn_rstd", n, 2)
    c.op("native_group_norm_backward", aten.native_group_norm_backward.default, g, x, mean, rstd, w, 3, 4, 10, 2, [True, True, True])
    c.op("native_group_norm_backward_input", aten.native_group_norm_backward.default, g, x, mean, rstd, None, 3, 4, 10, 2, [True, False, False], only=[0])
    c.op("rms_norm", aten.rms_norm.default, x, [5], lw)
    c.op("rms_norm_eps", aten.rms_norm.default, x, [2, 5], None, 1e-3)


def norm_more():
    c = Case("ops_norm_more", "norms that few graphs contain; the backward of _fused_rms_norm is computed by autograd", iterations=2)
    rm, rv = c.state("bufs_1", c.randn(4), "buffer"), c.state("bufs_2", c.rand(4), "buffer")
    x = c.input("x", lambda k, r: c.randn(3, 4, 2, 5))
    g = c.input("g", lambda k, r: c.randn(3, 4, 2, 5))
    w, b, lw = c.input("w", c.rand(4)), c.input("b", c.randn(4)), c.input("lw", c.rand(5))
    n = c.op("with_update", aten._batch_norm_with_update.default, x, w, b, rm, rv, 0.1, 1e-5, only=[0, 1, 2])
    mean, invstd, reserve = (c.get(f"update_{i}", n, i) for i in (1, 2, 3))
    c.op("with_update_functional", aten._batch_norm_with_update_functional.default, x, w, b, rm, rv, 0.1, 1e-5, only=[0, 1, 2, 4, 5])
    c.op("no_update", aten._batch_norm_no_update.default, x, w, b, rm, rv, 0.1, 1e-5, only=[0])
    c.op("batch_norm_backward", aten.batch_norm_backward.default, g, x, w, rm, rv, mean, invstd, True, 1e-5, [True, True, True], reserve)
    c.op("instance_norm", aten.instance_norm.default, x, w, b, None, None, True, 0.1, 1e-5, False)
    n = c.op("fused_rms_norm", aten._fused_rms_norm.default, x, [5], lw, 1e-5)

    def rms_backward(grad, x, shape, rstd, w, mask):
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_() for t in (x, w)]
            y = torch.nn.functional.rms_norm(leaves[0], shape, leaves[1], 1e-5)
            return torch.autograd.grad(y, leaves, grad)

    back = Named("aten._fused_rms_norm_backward.default", rms_backward)
    c.op("fused_rms_norm_backward", back, g, x, [5], c.get("rms_rstd", n, 1), lw, [True, True])


def loss():
    c = Case("ops_loss", "losses and their backward, every reduction")
    x, y = c.input("x", c.randn(4, 3)), c.input("y", c.randn(4, 3))
    p, q = c.input("p", c.rand(4, 3) / 2), c.input("q", c.rand(4, 3) / 2)
    t = c.input("t", tensor([2, -100, 0, 1]))
    w = c.input("w", c.rand(3))
    g0 = c.input("g0", c.randn())
    g = c.input("g", c.randn(4, 3))
    for name, args, back in (
        ("mse_loss", (), "mse_loss_backward"),
        ("l1_loss", (), None),
        ("smooth_l1_loss", (0.5,), "smooth_l1_loss_backward"),
        ("huber_loss", (0.7,), "huber_loss_backward"),
    ):
        target = getattr(aten, name).default
        c.op(f"{name}_default", target, x, y)
        for r, rn in enumerate(("none", "mean", "sum")):
            c.op(f"{name}_{rn}", target, x, y, r, *args)
            if back:
                c.op(f"{name}_{rn}_backward", getattr(aten, back).default, g if r == 0 else g0, x, y, r, *args)
    for r, rn in enumerate(("none", "mean", "sum")):
        c.op(f"bce_{rn}", aten.binary_cross_entropy.default, p, q, None, r)
        c.op(f"bce_weight_{rn}", aten.binary_cross_entropy.default, p, q, w, r)
        c.op(f"bce_{rn}_backward", aten.binary_cross_entropy_backward.default, g if r == 0 else g0, p, q, None, r)
        c.op(f"bce_logits_{rn}", aten.binary_cross_entropy_with_logits.default, x, q, None, None, r)
        c.op(f"bce_logits_weights_{rn}", aten.binary_cross_entropy_with_logits.default, x, q, w, c.input(f"pw_{rn}", c.rand(3)), r)
        c.op(f"nll_loss_{rn}", aten.nll_loss.default, x, t, w, r)
        c.op(f"cross_entropy_{rn}", aten.cross_entropy_loss.default, x, t, None, r)
        c.op(f"cross_entropy_weight_{rn}", aten.cross_entropy_loss.default, x, t, w, r, -100)
        c.op(f"cross_entropy_smooth_{rn}", aten.cross_entropy_loss.default, x, t, None, r, -100, 0.1)
        c.op(f"cross_entropy_weight_smooth_{rn}", aten.cross_entropy_loss.default, x, t, w, r, -100, 0.2)
        c.op(f"cross_entropy_probabilities_{rn}", aten.cross_entropy_loss.default, x, p, None, r)
        c.op(f"kl_div_{rn}", aten.kl_div.default, x, p, r)
        c.op(f"kl_div_log_{rn}", aten.kl_div.default, x, y, r, log_target=True)
    c.op("bce_zero_and_one", aten.binary_cross_entropy.default, c.input("sure", tensor([0.0, 1.0, 0.0, 1.0])), c.input("truth", tensor([0.0, 1.0, 1.0, 0.0])), None, 0)
    c.op("nll_loss_default", aten.nll_loss.default, x, t)
    c.op("nll_loss_nd", aten.nll_loss_nd.default, x, t)
    c.op("cross_entropy_default", aten.cross_entropy_loss.default, x, t)
    c.op("cross_entropy_one_row", aten.cross_entropy_loss.default, c.input("row", c.randn(3)), c.input("id", tensor(1)))
    maps, ids = c.input("maps", c.randn(2, 3, 2, 2)), c.input("ids", tensor([[[0, 2], [-100, 1]], [[1, 1], [0, 2]]]))
    c.op("cross_entropy_maps", aten.cross_entropy_loss.default, maps, ids)
    for r, rn in enumerate(("none", "mean", "sum")):
        f = c.op(f"nll2d_{rn}", aten.nll_loss2d_forward.default, maps, ids, None, r, -100)
        gr = c.input(f"g2_{rn}", c.randn(2, 2, 2) if r == 0 else c.randn())
        c.op(f"nll2d_{rn}_backward", aten.nll_loss2d_backward.default, gr, maps, ids, None, r, -100, c.get(f"nll2d_{rn}_total", f, 1))
    c.op("soft_margin", aten.soft_margin_loss.default, x, c.call("sign", aten.sign.default, y))
    c.op("hinge_embedding", aten.hinge_embedding_loss.default, x, c.call("sign1", aten.sign.default, y))
    c.op("cosine_similarity", aten.cosine_similarity.default, x, y)
    c.op("margin_ranking", aten.margin_ranking_loss.default, x, y, c.call("sign2", aten.sign.default, g))
    split_off(
        c,
        "ops_loss_more",
        "losses that few graphs contain",
        "soft_margin_loss hinge_embedding_loss margin_ranking_loss cosine_similarity kl_div nll_loss2d_forward nll_loss2d_backward "
        "huber_loss huber_loss_backward",
    )


def backward():
    c = Case("ops_nn_backward", "backward operators of activations, softmaxes, dropout and views")
    x, g, p = c.input("x", c.randn(3, 4) * 2), c.input("g", c.randn(3, 4)), c.input("p", c.rand(3, 4) / 2)
    edge = c.input("edge", tensor([-3.0, 3.0, 0.0, -0.0, 6.0, 1.0, -1.0]))
    ge = c.input("ge", c.randn(7))
    c.op("threshold_backward", aten.threshold_backward.default, g, x, 0)
    c.op("threshold_backward_value", aten.threshold_backward.default, g, x, 0.5)
    c.op("threshold_backward_nan", aten.threshold_backward.default, c.input("ones", torch.ones(3)), c.input("nans", tensor([nan, inf, -inf])), 0)
    c.op("gelu_backward", aten.gelu_backward.default, g, x)
    c.op("gelu_backward_tanh", aten.gelu_backward.default, g, x, approximate="tanh")
    c.op("silu_backward", aten.silu_backward.default, g, x)
    c.op("tanh_backward", aten.tanh_backward.default, g, p)
    c.op("sigmoid_backward", aten.sigmoid_backward.default, g, p)
    c.op("hardswish_backward", aten.hardswish_backward.default, g, x)
    c.op("hardsigmoid_backward", aten.hardsigmoid_backward.default, g, x)
    c.op("hardtanh_backward", aten.hardtanh_backward.default, g, x, -1, 1)
    c.op("hardtanh_backward_relu6", aten.hardtanh_backward.default, g, x, 0.0, 6.0)
    c.op("leaky_relu_backward", aten.leaky_relu_backward.default, g, x, 0.1, False)
    c.op("leaky_relu_backward_result", aten.leaky_relu_backward.default, g, x, 0.2, True)
    c.op("elu_backward", aten.elu_backward.default, g, 1, 1, 1, False, x)
    c.op("elu_backward_result", aten.elu_backward.default, g, 0.5, 2.0, 1.5, True, c.call("elu", aten.elu.default, x, 0.5, 2.0, 1.5))
    c.op("softplus_backward", aten.softplus_backward.default, g, x, 1, 20)
    c.op("softplus_backward_args", aten.softplus_backward.default, g, x, 2.0, 1.0)
    c.op("mish_backward", aten.mish_backward.default, g, x)
    ls = c.call("log_sigmoid", aten.log_sigmoid_forward.default, x)
    c.op("log_sigmoid_backward", aten.log_sigmoid_backward.default, g, x, c.get("log_sigmoid_buffer", ls, 1))
    c.op("softmax_backward", aten._softmax_backward_data.default, g, c.call("softmax", aten._softmax.default, x, 1, False), 1, f32)
    c.op("softmax_backward_first", aten._softmax_backward_data.default, g, c.call("softmax1", aten._softmax.default, x, 0, False), 0, f32)
    c.op("log_softmax_backward", aten._log_softmax_backward_data.default, g, c.call("log_softmax", aten._log_softmax.default, x, -1, False), -1, f32)
    c.op("native_dropout_backward", aten.native_dropout_backward.default, g, c.call("mask", aten.gt.Scalar, x, 0), 1.25)
    c.op("slice_backward", aten.slice_backward.default, g, [3, 9], 1, 1, 9, 2)
    c.op("slice_backward_to_end", aten.slice_backward.default, g, [5, 4], 0, 2, 9223372036854775807, 1)
    c.op("slice_backward_negative", aten.slice_backward.default, g, [5, 4], 0, -4, -1, 1)
    c.op("select_backward", aten.select_backward.default, g, [3, 2, 4], 1, 1)
    c.op("select_backward_negative", aten.select_backward.default, g, [3, 4, 2], -1, -2)
    c.op("diagonal_backward", aten.diagonal_backward.default, c.input("dg", c.randn(3)), [3, 4], 1, 0, 1)
    c.op("embedding_dense_backward", aten.embedding_dense_backward.default, g, c.input("ids", tensor([1, 0, 1])), 3, -1, False)
    for n, target, args in (
        ("threshold", aten.threshold_backward, (0,)), ("hardswish", aten.hardswish_backward, ()),
        ("hardsigmoid", aten.hardsigmoid_backward, ()), ("hardtanh", aten.hardtanh_backward, (-1.0, 1.0)),
        ("leaky_relu", aten.leaky_relu_backward, (0.1, False)), ("relu6", aten.hardtanh_backward, (0.0, 6.0)),
    ):  # fmt: skip
        c.op(f"{n}_backward_at_edges", target.default, ge, edge, *args)
    c.op("glu_backward", aten.glu_backward.default, c.input("gg", c.randn(3, 2)), x, 1)
    c.op("logit_backward", aten.logit_backward.default, g, p)
    c.op("logit_backward_eps", aten.logit_backward.default, g, p, 0.3)
    c.op("hardshrink_backward", aten.hardshrink_backward.default, g, x, 0.5)
    c.op("softshrink_backward", aten.softshrink_backward.default, g, x, 0.5)
    c.op("prelu_backward", aten._prelu_kernel_backward.default, g, x, c.input("a", c.rand(4)))
    c.op("value_selecting", aten.value_selecting_reduction_backward.default, c.input("vg", c.randn(3)), 1, c.input("vi", tensor([0, 3, 1])), [3, 4], False)
    split_off(
        c,
        "ops_nn_backward_more",
        "backward operators that few graphs contain",
        "glu_backward logit_backward hardshrink_backward softshrink_backward _prelu_kernel_backward value_selecting_reduction_backward "
        "diagonal_backward",
    )


def attention():
    c = Case("ops_attention", "scaled_dot_product_attention and the form of it that CPU graphs contain, with backward")
    q, k, v = (c.input(n, c.randn(2, 2, 5, 4)) for n in "qkv")
    long = c.input("k_long", c.randn(2, 2, 7, 4)), c.input("v_long", c.randn(2, 2, 7, 4))
    wide_v = c.input("v_wide", c.randn(2, 2, 5, 6))
    add = c.input("add", c.randn(5, 5))
    mask = c.input("mask", torch.tril(torch.ones(5, 5, dtype=torch.bool)))
    gone = c.input("row_masked", torch.cat([torch.ones(4, 5), torch.zeros(1, 5)]).bool())
    sdpa = aten.scaled_dot_product_attention.default
    c.op("sdpa", sdpa, q, k, v)
    c.op("sdpa_causal", sdpa, q, k, v, None, 0.0, True)
    c.op("sdpa_causal_kwarg", sdpa, q, k, v, is_causal=True)
    c.op("sdpa_mask_bool", sdpa, q, k, v, mask)
    c.op("sdpa_mask_add", sdpa, q, k, v, add)
    c.op("sdpa_mask_4d", sdpa, q, k, v, c.input("add4", c.randn(2, 1, 5, 5)))
    c.op("sdpa_scale", sdpa, q, k, v, scale=0.3)
    c.op("sdpa_longer_keys", sdpa, q, *long)
    c.op("sdpa_longer_keys_causal", sdpa, q, *long, is_causal=True)
    c.op("sdpa_wide_values", sdpa, q, k, wide_v)
    c.op("sdpa_row_masked", sdpa, q, k, v, gone)
    c.op("sdpa_three_dims", sdpa, c.call("q3", aten.select.int, q, 0, 0), c.call("k3", aten.select.int, k, 0, 0), c.call("v3", aten.select.int, v, 0, 0))
    kv = [c.input(f"{n}_group", c.randn(2, 1, 5, 4)) for n in "kv"]
    c.op("sdpa_grouped", sdpa, q, *kv, enable_gqa=True)
    c.op("sdpa_bf16", sdpa, *[c.call(f"{n}_bf16", aten._to_copy.default, t, dtype=bf16) for n, t in zip("qkv", (q, k, v))])
    c.op("math", aten._scaled_dot_product_attention_math.default, q, k, v)
    c.op("math_causal", aten._scaled_dot_product_attention_math.default, q, k, v, None, 0.0, True, only=[0])

    flash = aten._scaled_dot_product_flash_attention_for_cpu.default
    back = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    g = c.input("g", c.randn(2, 2, 5, 4))
    for n, args, kwargs in (
        ("flash", (), {}),
        ("flash_causal", (0.0, True), {}),
        ("flash_mask", (), {"attn_mask": add}),
        ("flash_scale", (0.0, False), {"scale": 0.25}),
    ):
        f = c.op(n, flash, q, k, v, *args, **kwargs)
        full = args or (0.0, False)
        c.op(f"{n}_backward", back, g, q, k, v, c.get(f"{n}_out", f, 0), c.get(f"{n}_lse", f, 1), *full, **kwargs)


def attention_of_devices():
    """The operators run on devices only: here they are computed as attention written out, which autograd differentiates."""

    def scores(q, k, bias, causal, scale):
        s = q @ k.transpose(-1, -2) * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
        if causal:
            s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -inf)
        return s if bias is None else s + bias

    def gradients(grad, q, k, v, bias, causal, scale):
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_() for t in (q, k, v)]
            extra = None if bias is None else bias.detach().requires_grad_()
            out = torch.softmax(scores(*leaves[:2], extra, causal, scale), -1) @ leaves[2]
            return torch.autograd.grad(out, leaves + ([] if extra is None else [extra]), grad)

    def efficient(q, k, v, bias, lse, dropout=0.0, causal=False, *, scale=None):
        s = scores(q, k, bias, causal, scale)
        full = torch.full((*q.shape[:2], -(-q.shape[2] // 32) * 32 if lse else 0), inf)
        if lse:
            full[..., : q.shape[2]] = s.logsumexp(-1)
        out = (torch.softmax(s, -1) @ v).transpose(1, 2).contiguous().transpose(1, 2)
        return out, full, torch.zeros((), dtype=torch.int64), torch.zeros((), dtype=torch.int64)

    def efficient_backward(grad, q, k, v, bias, out, lse, seed, offset, dropout, mask, causal=False, *, scale=None):
        r = list(gradients(grad, q, k, v, bias, causal, scale)) + [None]
        return tuple(t if m else None for t, m in zip(r[:4], mask))

    def flash(q, k, v, dropout=0.0, causal=False, debug=False, *, scale=None):
        s = scores(q, k, None, causal, scale)
        out = (torch.softmax(s, -1) @ v).transpose(1, 2).contiguous().transpose(1, 2)
        return out, s.logsumexp(-1), None, None, q.shape[2], k.shape[2], torch.zeros(2, dtype=torch.int64), torch.zeros((), dtype=torch.int64), torch.zeros(0)

    def flash_backward(grad, q, k, v, out, lse, cq, ck, mq, mk, dropout, causal, seed, offset, *, scale=None):
        return gradients(grad, q, k, v, None, causal, scale)

    name = "aten._scaled_dot_product_{}_attention{}.default"
    for kind, forward, back in (("efficient", efficient, efficient_backward), ("flash", flash, flash_backward)):
        c = Case(f"ops_attention_{kind}", f"the {kind} attention of devices and its backward; computed here by attention written out")
        fw, bw = Named(name.format(kind, ""), forward), Named(name.format(kind, "_backward"), back)
        q, k, v, g = (c.input(n, c.randn(1, 2, 5, 4)) for n in "qkvg")
        bias = c.input("bias", c.randn(1, 2, 5, 5)) if kind == "efficient" else None
        for n, causal, scale, b in (("plain", False, None, None), ("causal", True, None, None), ("scaled", False, 0.3, None), ("biased", False, None, bias)):
            if n == "biased" and bias is None:
                continue
            kwargs = {} if scale is None else {"scale": scale}
            if kind == "efficient":
                f = c.op(n, fw, q, k, v, b, True, 0.0, causal, only=[0], **kwargs)
                r = [c.get(f"{n}_{i}", f, i) for i in range(4)]
                mask = [True, True, True, b is not None]
                c.op(f"{n}_backward", bw, g, q, k, v, b, *r, 0.0, mask, causal, only=[i for i in range(4) if mask[i]], **kwargs)
            else:
                f = c.op(n, fw, q, k, v, 0.0, causal, only=[0, 1], **kwargs)
                r = {i: c.get(f"{n}_{i}", f, i) for i in (0, 1, 2, 3, 6, 7)}
                c.op(f"{n}_backward", bw, g, q, k, v, r[0], r[1], r[2], r[3], 5, 5, 0.0, causal, r[6], r[7], **kwargs)


def make():
    matmul()
    conv()
    pool()
    norm()
    norm_more()
    loss()
    backward()
    attention()
    attention_of_devices()

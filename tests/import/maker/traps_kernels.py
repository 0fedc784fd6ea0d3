"""Traps 26 to 40: indexing, convolutions, pools, norms, losses, collectives, files."""

import math

import torch

from .capture import Case, Named, aten, split_off

c10d = torch.ops._c10d_functional
bf16, f32, f64 = torch.bfloat16, torch.float32, torch.float64
inf, nan = math.inf, math.nan


def tensor(values, dtype=None):
    return torch.tensor(values, dtype=dtype)


def index():
    c = Case("trap26_index", "indices broadcast; adjacent ones stay in place, separated ones go first; negative ones wrap")
    x = c.input("x", c.randn(3, 4, 5))
    a, b = c.input("a", tensor([[0], [2]])), c.input("b", tensor([1, 3, -1]))
    n, z = c.input("n", tensor([-1, 0, -3])), c.input("z", tensor(2))
    i32 = c.input("i32", tensor([1, 0], torch.int32))
    c.op("first", aten.index.Tensor, x, [n])
    c.op("broadcast", aten.index.Tensor, x, [a, b])
    c.op("adjacent_last", aten.index.Tensor, x, [None, a, b])
    c.op("separated", aten.index.Tensor, x, [a, None, b])
    c.op("middle", aten.index.Tensor, x, [None, b])
    c.op("middle_matrix", aten.index.Tensor, x, [None, a])
    c.op("last_only", aten.index.Tensor, x, [None, None, n])
    c.op("trailing_none", aten.index.Tensor, x, [n, None, None])
    c.op("all_three", aten.index.Tensor, x, [n, b, n])
    c.op("index_0d", aten.index.Tensor, x, [z])
    c.op("index_0d_middle", aten.index.Tensor, x, [None, z])
    c.op("index_0d_and_vector", aten.index.Tensor, x, [z, b])
    c.op("index_0d_separated", aten.index.Tensor, x, [z, None, b])
    c.op("index_i32", aten.index.Tensor, x, [i32])
    c.op("index_none_rows", aten.index.Tensor, x, [c.call("nothing", aten.full.default, [0], 0)])
    c.op("index_of_ints", aten.index.Tensor, b, [a])
    c.op("unsafe_index", aten._unsafe_index.Tensor, x, [a, b])
    c.op("index_select", aten.index_select.default, x, -2, c.input("s", tensor([3, 3, 0])))

    c = Case("trap26_bool_mask", "a bool mask gives a shape that depends on values")
    x, m = c.input("x", c.randn(4)), c.input("m", tensor([True, False, True, True]))
    c.out(c.call("masked", aten.index.Tensor, x, [m]))
    c.refuse("masked", "aten.index.Tensor")

    c = Case("refuse_nonzero", "nonzero gives a shape that depends on values")
    x = c.input("x", tensor([1.0, 0.0, 2.0]))
    c.out(c.call("places", aten.nonzero.default, x))
    c.refuse("places", "aten.nonzero.default")


def index_put():
    c = Case("trap27_index_put", "accumulation in index order; without it the last write wins; rows of padding_idx are skipped")
    x = c.input("x", c.randn(4, 3))
    i = c.input("i", tensor([1, 1, 3, -1, 1]))
    v = c.input("v", c.randn(5, 3))
    order = c.input("order", tensor([[1e8] * 3, [-1e8] * 3, [5.0] * 3, [7.0] * 3, [1.0, 2.0, 3.0]]))
    zero = c.call("zero", aten.full.default, [4, 3], 0.0)
    c.op("accumulate", aten.index_put.default, x, [i], v, True)
    c.op("accumulate_order", aten.index_put.default, zero, [i], order, True, exact=True)
    c.op("last_wins", aten.index_put.default, x, [i], v)
    c.op("last_wins_broadcast", aten.index_put.default, x, [i], c.input("r", c.randn(3)), False)
    c.op("scalar_value", aten.index_put.default, x, [i], c.call("k", aten.full.default, [], 9.0))
    c.op("second_dim", aten.index_put.default, x, [None, c.input("j", tensor([2, 0]))], c.input("w", c.randn(4, 2)), True)
    c.op("both_dims", aten.index_put.default, x, [i, c.input("k2", tensor([0, 0, 1, 2, 0]))], c.input("u", c.randn(5)), True)
    c.op("matrix_of_indices", aten.index_put.default, zero, [c.input("m", tensor([[0, 1], [1, 2]]))], c.input("q", c.randn(2, 2, 3)), True)
    c.op("unsafe_index_put", aten._unsafe_index_put.default, x, [i], v, True)
    grad = c.input("grad", c.randn(2, 3, 4))
    ids = c.input("ids", tensor([[0, 4, 2], [2, 2, 4]]))
    c.op("embedding_backward", aten.embedding_dense_backward.default, grad, ids, 5, -1, False)
    c.op("embedding_backward_padding", aten.embedding_dense_backward.default, grad, ids, 5, 2, False)
    c.op("embedding_backward_scaled", aten.embedding_dense_backward.default, grad, ids, 6, -1, True)
    c.op("embedding", aten.embedding.default, x, c.input("e", tensor([[3, 0], [1, 1]])))
    c.op("embedding_padding", aten.embedding.default, x, c.input("e1", tensor([3, 0])), 3)
    is_pad = c.call("eq", aten.eq.Scalar, ids, 2)
    wide = c.call("unsqueeze", aten.unsqueeze.default, is_pad, -1)
    none = c.call("none", aten.full.default, [], 0.0)
    kept = c.call("where", aten.where.self, wide, none, grad)
    zeros = c.call("full", aten.full.default, [5, 4], 0, dtype=f32)
    c.op("embedding_backward_decomposed", aten.index_put.default, zeros, [ids], kept, True)

    c = Case("trap27_index_put_inplace", "index_put_ writes the parameter, through a view too", iterations=2)
    p = c.state("params_1", c.randn(4, 3))
    v = c.input("v", lambda k, r: c.randn(3))
    i = c.input("i", tensor([0, 0, 2]))
    row = c.call("select", aten.select.int, p, 1, 1)
    c.call("index_put_", aten.index_put_.default, row, [i], v, True)
    c.call("index_put__1", aten.index_put_.default, p, [i], v)
    c.out(c.call("clone", aten.clone.default, p))

    c = Case("index_put_bool_mask", "index_put with a bool mask and a value without dimensions: the shape is static, a where")
    x = c.input("x", c.randn(2, 3))
    m = c.call("gt", aten.gt.Scalar, x, 0.0)
    c.op("masked_put", aten.index_put.default, x, [m], c.call("k", aten.full.default, [], -9.0))


def scatter_gather():
    c = Case("trap28_scatter_gather", "scatter of a number; the last of repeated indices wins; an index may be smaller than the input")
    x = c.input("x", c.randn(3, 4))
    i = c.input("i", tensor([[0, 1, 1], [3, 3, 0]]))
    s = c.input("s", c.randn(3, 4))
    rows = c.input("rows", tensor([[0, 2, 2, 0], [1, 2, 0, 0]]))
    c.op("scatter_value_int", aten.scatter.value, x, 1, i, 7)
    c.op("scatter_value_float", aten.scatter.value, x, -1, i, -1.0)
    c.op("scatter_value_rows", aten.scatter.value, x, 0, rows, 0.5)
    c.op("scatter_src", aten.scatter.src, x, 1, i, s)
    c.op("scatter_src_rows", aten.scatter.src, x, 0, rows, s)
    c.op("scatter_value_ints", aten.scatter.value, c.input("n", c.randint(0, 9, (3, 4))), 1, i, 2)
    c.op("scatter_add", aten.scatter_add.default, x, 1, i, s)
    c.op("scatter_add_rows", aten.scatter_add.default, x, 0, rows, s)
    for kind in ("sum", "prod", "mean", "amax", "amin"):
        c.op(f"scatter_reduce_{kind}", aten.scatter_reduce.two, x, 1, i, s, kind)
        c.op(f"scatter_reduce_{kind}_alone", aten.scatter_reduce.two, x, 1, i, s, kind, include_self=False)
    c.op("gather", aten.gather.default, x, 1, i)
    c.op("gather_rows", aten.gather.default, x, 0, rows)
    c.op("gather_negative_dim", aten.gather.default, x, -1, i)
    c.op("gather_sparse_grad", aten.gather.default, x, 1, i, sparse_grad=False)
    c.op("gather_0d", aten.gather.default, c.input("v", c.randn(4)), 0, c.input("one", tensor(2)))
    c.op("gather_none", aten.gather.default, x, 1, c.call("nothing", aten.full.default, [3, 0], 0))
    c.op("index_add", aten.index_add.default, x, 0, c.input("k", tensor([2, 2])), c.input("u", c.randn(2, 4)), alpha=2)
    c.op("index_copy", aten.index_copy.default, x, 0, c.input("k1", tensor([2, 0])), c.input("u1", c.randn(2, 4)))
    c.op("index_fill", aten.index_fill.int_Scalar, x, 1, c.input("k2", tensor([1, 3])), 0.5)
    c.op("take_along", aten.take.default, x, c.input("flat", tensor([11, 0, -1])))
    split_off(
        c,
        "ops_scatter_more",
        "scatters that few graphs contain",
        "scatter_reduce index_fill index_copy take",
    )


def conv_backward():
    c = Case("trap29_conv_backward", "bias_sizes [0] or null, results left out by the mask, groups, transposed, output_padding")
    x, w, b = c.input("x", c.randn(2, 4, 5, 5)), c.input("w", c.randn(6, 4, 3, 3)), c.input("b", c.randn(6))

    def pair(name, x, w, b, args, bias_sizes, mask, null=()):
        y = c.op(f"{name}_forward", aten.convolution.default, x, w, b, *args)
        g = c.call(f"{name}_grad", aten.cos.default, y)
        r = c.call(name, aten.convolution_backward.default, g, x, w, bias_sizes, *args, mask)
        for i, wanted in enumerate(mask):
            item = c.get(f"{name}_r{i}", r, i) if wanted or i in null else None
            if wanted:
                c.out(item)

    pair("bias_all", x, w, b, ([1, 1], [1, 1], [1, 1], False, [0, 0], 1), [6], [True, True, True])
    pair("bias_sizes_zero", x, w, None, ([2, 2], [1, 1], [1, 1], False, [0, 0], 1), [0], [True, True, False], null=(2,))
    pair("bias_sizes_null", x, w, None, ([2, 1], [0, 2], [1, 1], False, [0, 0], 1), None, [True, True, False])
    pair("no_input_gradient", x, w, None, ([1, 1], [0, 0], [2, 2], False, [0, 0], 1), [0], [False, True, False], null=(0, 2))
    pair("only_bias", x, w, b, ([1, 1], [0, 0], [1, 1], False, [0, 0], 1), [6], [False, False, True])
    dw = c.input("dw", c.randn(4, 1, 3, 3))
    pair("depthwise", x, dw, None, ([2, 2], [1, 1], [1, 1], False, [0, 0], 4), [0], [True, True, False])
    gw = c.input("gw", c.randn(6, 2, 1, 1))
    pair("grouped", x, gw, b, ([1, 1], [0, 0], [1, 1], False, [0, 0], 2), [6], [True, True, True])
    tw, tb = c.input("tw", c.randn(4, 3, 3, 3)), c.input("tb", c.randn(3))
    pair("transposed", x, tw, tb, ([2, 2], [1, 1], [1, 1], True, [1, 1], 1), [3], [True, True, True])
    tg = c.input("tg", c.randn(4, 3, 2, 2))
    pair("transposed_groups", x, tg, None, ([2, 1], [0, 1], [1, 2], True, [1, 0], 2), [0], [True, True, False])
    x1, w1 = c.input("x1", c.randn(2, 3, 7)), c.input("w1", c.randn(4, 3, 3))
    pair("one_dim", x1, w1, c.input("b1", c.randn(4)), ([2], [1], [1], False, [0], 1), [4], [True, True, True])
    x3, w3 = c.input("x3", c.randn(1, 2, 3, 4, 4)), c.input("w3", c.randn(2, 2, 2, 2, 2))
    pair("three_dims", x3, w3, None, ([1, 2, 1], [0, 1, 0], [1, 1, 1], False, [0, 0, 0], 1), [0], [True, True, False])


def max_pool():
    c = Case("trap30_max_pool", "indices into the plane without padding, first maximum wins, NaN wins; overlapping windows add up in backward")
    x = c.input("x", c.randn(2, 3, 7, 6))
    ties = c.input("ties", c.randint(0, 2, (1, 2, 5, 5)).to(f32))
    special = tensor([[nan, 1.0, 2.0, -inf], [3.0, nan, -inf, -inf], [0.0, -0.0, -inf, -inf], [inf, inf, -inf, -inf]])
    s = c.input("special", special.reshape(1, 1, 4, 4))

    def pair(name, x, *args):
        y = c.op(name, aten.max_pool2d_with_indices.default, x, *args)
        g = c.call(f"{name}_grad", aten.cos.default, c.get(f"{name}_values", y, 0))
        full = list(args) + [[], [0, 0], [1, 1], False][len(args) - 1 :]
        c.op(f"{name}_backward", aten.max_pool2d_with_indices_backward.default, g, x, *full, c.get(f"{name}_places", y, 1))

    pair("resnet", x, [3, 3], [2, 2], [1, 1])
    pair("defaults", x, [2, 2])
    pair("no_stride", x, [3, 2], [])
    pair("overlapping", x, [3, 3], [1, 1])
    pair("ceil", x, [3, 3], [2, 2], [0, 0], [1, 1], True)
    pair("ceil_padded", x, [2, 2], [2, 2], [1, 1], [1, 1], True)
    pair("dilated", x, [2, 2], [1, 2], [1, 0], [2, 3])
    pair("ties_pool", ties, [3, 3], [2, 2], [1, 1])
    pair("special_pool", s, [2, 2], [1, 1])
    c.op("special_padded", aten.max_pool2d_with_indices.default, s, [3, 3], [2, 2], [1, 1])
    c.op("kernel_of_one_number", aten.max_pool2d_with_indices.default, x, [2], [2])
    c.op("three_dims", aten.max_pool2d_with_indices.default, c.input("chw", c.randn(2, 4, 4)), [2, 2], [2, 2])
    c.op("plain", aten.max_pool2d.default, x, [3, 3], [2, 2], [1, 1])


def norm_stats():
    c = Case("trap31_norm_stats", "statistics with trailing ones, of their own dtype, or without elements in evaluation; masks of backward")
    x, w, b = c.input("x", c.randn(2, 3, 4)), c.input("w", c.rand(4)), c.input("b", c.randn(4))
    n = c.op("layer_norm", aten.native_layer_norm.default, x, [4], w, b, 1e-5)
    c.op("layer_norm_plain", aten.native_layer_norm.default, x, [4], None, None, 1e-3)
    two = c.op("layer_norm_two", aten.native_layer_norm.default, x, [3, 4], c.input("w2", c.rand(3, 4)), None, 1e-5)
    h = c.input("h", c.randn(2, 3, 4, dtype=bf16))
    hw = c.input("hw", c.rand(4, dtype=bf16))
    c.op("layer_norm_bf16", aten.native_layer_norm.default, h, [4], hw, None, 1e-5)
    c.op("layer_norm_bf16_f32_weights", aten.native_layer_norm.default, h, [4], w, b, 1e-5)
    g = c.input("g", c.randn(2, 3, 4))
    mean, rstd = c.get("mean", n, 1), c.get("rstd", n, 2)
    for mask in ((True, True, True), (True, False, False), (False, True, True), (True, True, False)):
        name = "layer_norm_backward_" + "".join("ny"[m] for m in mask)
        r = c.call(name, aten.native_layer_norm_backward.default, g, x, [4], mean, rstd, w, b, list(mask))
        for i, m in enumerate(mask):
            if m:
                c.out(c.get(f"{name}_r{i}", r, i))
    mean, rstd = c.get("mean_two", two, 1), c.get("rstd_two", two, 2)
    c.op("layer_norm_backward_two", aten.native_layer_norm_backward.default, g, x, [3, 4], mean, rstd, None, None, [True, False, False], only=[0])
    rm, rv = c.input("running_mean", c.randn(3)), c.input("running_var", c.rand(3))
    bw = c.input("bw", c.rand(3))
    y = c.input("y", c.randn(2, 3, 4))
    c.op("batch_norm_eval", aten.native_batch_norm.default, y, bw, None, rm, rv, False, 0.1, 1e-5)
    c.op("batch_norm_no_training", aten._native_batch_norm_legit_no_training.default, y, bw, None, rm, rv, 0.1, 1e-5)
    c.op("batch_norm_no_stats", aten._native_batch_norm_legit.no_stats, y, bw, None, True, 0.1, 1e-5)


def losses():
    c = Case("trap32_losses", "softmaxes with dtypes, nll_loss with ignore_index, weights and every reduction; backward of both")
    x, t = c.input("x", c.randn(5, 4)), c.input("t", tensor([0, -100, 3, 1, -100]))
    w = c.input("w", c.rand(4))
    h = c.input("h", c.randn(3, 4, dtype=bf16))
    s = c.op("softmax", aten._softmax.default, x, 1, False)
    c.op("softmax_first_dim", aten._softmax.default, x, 0, False)
    c.op("softmax_bf16", aten._softmax.default, h, -1, False)
    c.op("softmax_dtype", aten.softmax.int, h, -1, f32)
    c.op("softmax_0d", aten._softmax.default, c.call("zero_dim", aten.full.default, [], 2.0), 0, False)
    lp = c.op("log_softmax", aten._log_softmax.default, x, 1, False)
    g = c.input("g", c.randn(5, 4))
    c.op("softmax_backward", aten._softmax_backward_data.default, g, s, 1, f32)
    c.op("log_softmax_backward", aten._log_softmax_backward_data.default, g, lp, 1, f32)
    hs = c.call("softmax_h", aten._softmax.default, h, 1, False)
    c.op("softmax_backward_bf16", aten._softmax_backward_data.default, h, hs, 1, bf16)
    for reduction in (0, 1, 2):
        for weighted in (False, True):
            name = f"nll_{('none', 'mean', 'sum')[reduction]}{'_weighted' if weighted else ''}"
            r = c.op(name, aten.nll_loss_forward.default, lp, t, w if weighted else None, reduction, -100)
            gy = c.input(f"g_{name}", c.randn(5) if reduction == 0 else c.randn())
            total = c.get(f"{name}_total", r, 1)
            c.op(f"{name}_backward", aten.nll_loss_backward.default, gy, lp, t, w if weighted else None, reduction, -100, total)
    ignored = c.input("ignored", tensor([-100] * 5))
    c.op("nll_all_ignored", aten.nll_loss_forward.default, lp, ignored, None, 1, -100)
    c.op("nll_other_ignore_index", aten.nll_loss_forward.default, lp, c.input("t2", tensor([0, 1, 2, 3, 1])), None, 1, 1)
    c.op("nll_one_row", aten.nll_loss_forward.default, c.input("row", c.randn(4)), c.input("target", tensor(2)), None, 1, -100)
    ne = c.call("ne", aten.ne.Scalar, t, -100)
    zero = c.call("zero", aten.scalar_tensor.default, 0, dtype=torch.int64)
    safe = c.call("where", aten.where.self, ne, t, zero)
    picked = c.call("gather", aten.gather.default, lp, 1, c.call("unsqueeze", aten.unsqueeze.default, safe, 1))
    picked = c.call("neg", aten.neg.default, c.call("squeeze", aten.squeeze.dims, picked, [1]))
    c.op("nll_decomposed", aten.where.self, ne, picked, c.call("zero_f", aten.scalar_tensor.default, 0, dtype=f32))


def gelu():
    c = Case("trap33_gelu", "gelu is the erf form unless approximate says tanh")
    x = c.input("x", torch.linspace(-4, 4, 17))
    g = c.input("g", c.randn(17))
    c.op("gelu_default", aten.gelu.default, x)
    c.op("gelu_none", aten.gelu.default, x, approximate="none")
    c.op("gelu_tanh", aten.gelu.default, x, approximate="tanh")
    c.op("gelu_backward_default", aten.gelu_backward.default, g, x)
    c.op("gelu_backward_none", aten.gelu_backward.default, g, x, approximate="none")
    c.op("gelu_backward_tanh", aten.gelu_backward.default, g, x, approximate="tanh")
    d = c.call("wide", aten._to_copy.default, x, dtype=f64)
    c.op("gelu_f64", aten.gelu.default, d)
    c.op("gelu_tanh_f64", aten.gelu.default, d, approximate="tanh")


def all_to_all_and_pads():
    c = Case("trap34_all_to_all", "splits are in rows of dim 0, gathers and scatters along it (which list of splits is which shows only where ranks have other graphs)", world=2)
    # One graph for both ranks: a rank sends as many rows to each as it receives, so that the splits are even.
    x = c.input("x", lambda k, r: c.randn(4, 3))
    y = c.input("y", lambda k, r: c.randn(6, 2))

    def waited(name, target, *args):
        return c.op(f"{name}_wait", c10d.wait_tensor.default, c.call(name, target, *args))

    waited("even", c10d.all_to_all_single.default, x, [2, 2], [2, 2], "0")
    waited("three_rows", c10d.all_to_all_single.default, y, [3, 3], [3, 3], "0")
    waited("gather", c10d.all_gather_into_tensor.default, x, 2, "0")
    waited("scatter", c10d.reduce_scatter_tensor.default, y, "sum", 2, "0")
    t = c.call("permute", aten.permute.default, x, [1, 0])
    t = c.call("contiguous", aten.clone.default, t, memory_format=torch.contiguous_format)
    w = waited("gather_transposed", c10d.all_gather_into_tensor.default, t, 2, "0")
    s = c.call("split", aten.split.Tensor, w, 3)
    c.op("gather_other_dim", aten.cat.default, [c.get("part_0", s, 0), c.get("part_1", s, 1)], 1)

    c = Case("trap34_pads", "constant_pad_nd pads the last dim first; negative pads crop; zeros change nothing")
    x, i = c.input("x", c.randn(2, 3, 4)), c.input("i", c.randint(0, 9, (2, 3)))
    c.op("last", aten.constant_pad_nd.default, x, [1, 2])
    c.op("last_value", aten.constant_pad_nd.default, x, [0, 1], -1.5)
    c.op("two_dims", aten.constant_pad_nd.default, x, [1, 0, 0, 2], 7)
    c.op("three_dims", aten.constant_pad_nd.default, x, [1, 1, 2, 0, 0, 1], 0.0)
    c.op("crop", aten.constant_pad_nd.default, x, [-1, -2])
    c.op("crop_and_pad", aten.constant_pad_nd.default, x, [-1, 2, 3, -1], inf)
    c.op("nothing", aten.constant_pad_nd.default, x, [0, 0], 0.0)
    c.op("ints", aten.constant_pad_nd.default, i, [0, 2], 5)
    c.op("ints_float_value", aten.constant_pad_nd.default, i, [1, 0], 2.7)
    c.op("crop_to_none", aten.constant_pad_nd.default, x, [-2, -2])
    c.op("pad_mode", aten.pad.default, x, [1, 1], "constant", 3.0)
    c.op("pad_default", aten.pad.default, x, [0, 1])


def uneven_shards():
    c = Case("trap35_uneven_shards", "parameters of 5 and 3 rows over 2 ranks: slice after the gather, pad before the scatter", world=2, iterations=3)
    full = [c.randn(5, 4), c.randn(3)]
    shards = [torch.cat([f, torch.zeros((1, *f.shape[1:]))]).chunk(2) for f in full]
    p = [c.state(f"params_{i + 1}", [t.clone() for t in s]) for i, s in enumerate(shards)]
    m = [c.state(f"st_{i + 1}", [torch.zeros_like(t) for t in s], "optimizer_state") for i, s in enumerate(shards)]
    x = c.input("x", lambda k, r: c.randn(6, 4))
    y = c.input("y", lambda k, r: c.randn(6, 3))
    whole = []
    for i, rows in enumerate((5, 3)):
        g = c.call(f"all_gather_{i}", c10d.all_gather_into_tensor.default, p[i], 2, "0")
        g = c.call(f"wait_{i}", c10d.wait_tensor.default, g)
        whole.append(c.call(f"slice_{i}", aten.slice.Tensor, g, 0, 0, rows))
    w = c.call("w", aten.slice.Tensor, whole[0], 0, 1, 4)  # three of the five rows
    z = c.call("addmm", aten.addmm.default, whole[1], x, c.call("wt", aten.t.default, w))
    d = c.call("sub", aten.sub.Tensor, z, y)
    c.op("loss", aten.mean.default, c.call("square", aten.mul.Tensor, d, d))
    gb = c.call("grad_b", aten.sum.dim_IntList, d, [0])
    gw = c.call("grad_w_rows", aten.mm.default, c.call("dt", aten.t.default, d), x)
    gw = c.call("grad_w", aten.slice_backward.default, gw, [5, 4], 0, 1, 4, 1)
    for i, (g, pad) in enumerate(((gw, [0, 0, 0, 1]), (gb, [0, 1]))):
        g = c.call(f"pad_{i}", aten.constant_pad_nd.default, g, pad, 0.0)
        g = c.call(f"reduce_scatter_{i}", c10d.reduce_scatter_tensor.default, g, "sum", 2, "0")
        g = c.call(f"wait_grad_{i}", c10d.wait_tensor.default, g)
        g = c.call(f"div_{i}", aten.div.Tensor, g, 2)
        c.call(f"mul_{i}", aten.mul_.Tensor, m[i], 0.9)
        c.call(f"add_{i}", aten.add_.Tensor, m[i], g)
        c.call(f"step_{i}", aten.add_.Tensor, p[i], m[i], alpha=-0.02)


def splits():
    c = Case("trap36_splits", "split by size and by sizes; select and squeeze drop dims; permutes of permutes", world=2)
    x = c.input("x", lambda k, r: c.randn(2, 3, 8))
    one = c.input("one", lambda k, r: c.randn(2, 1, 3, 1))
    c.op("split_even", aten.split.Tensor, x, 4, 2)
    c.op("split_rest", aten.split.Tensor, x, 3, 2)
    c.op("split_negative_dim", aten.split.Tensor, x, 2, -2)
    c.op("split_first", aten.split.Tensor, x, 1)
    c.op("split_with_sizes", aten.split_with_sizes.default, x, [1, 5, 2], 2)
    c.op("split_sizes", aten.split.sizes, x, [2, 0, 1], 1)
    c.op("chunk", aten.chunk.default, x, 3, 2)
    c.op("unbind", aten.unbind.int, x, 1)
    c.op("select", aten.select.int, x, 1, 2)
    c.op("squeeze", aten.squeeze.default, one)
    c.op("squeeze_dim", aten.squeeze.dim, one, 1)
    c.op("squeeze_dim_not_one", aten.squeeze.dim, one, 2)
    c.op("squeeze_dims", aten.squeeze.dims, one, [1, -1])
    c.op("squeeze_dims_some", aten.squeeze.dims, one, [0, 3])
    g = c.call("mm", aten.mm.default, c.call("a", aten.select.int, x, 0, 0), c.call("bt", aten.t.default, c.call("b", aten.select.int, x, 0, 1)))
    g = c.call("permute", aten.permute.default, g, [1, 0])
    g = c.call("permute_1", aten.permute.default, g, [1, 0])
    g = c.call("permute_2", aten.permute.default, g, [1, 0])
    r = c.call("all_reduce", c10d.all_reduce.default, g, "sum", "0")
    c.op("wait", c10d.wait_tensor.default, r)


def randomness():
    c = Case("trap37_dropout_off", "dropout with p = 0 or not in training changes nothing")
    x = c.input("x", c.randn(2, 3))
    c.op("dropout_p0", aten.dropout.default, x, 0.0, True)
    c.op("dropout_eval", aten.dropout.default, x, 0.5, False)
    c.op("native_dropout_p0", aten.native_dropout.default, x, 0.0, True)
    c.op("native_dropout_eval", aten.native_dropout.default, x, 0.5, False)
    c.op("native_dropout_null", aten.native_dropout.default, x, 0.0, None)
    mask = c.input("mask", c.randint(0, 2, (2, 3), torch.bool))
    c.op("native_dropout_backward", aten.native_dropout_backward.default, x, mask, 2.0)
    c.op("feature_dropout_eval", aten.feature_dropout.default, x, 0.5, False)

    def refusal(name, target, *args, **kwargs):
        c = Case(f"trap37_{name}", f"{target}: the generator's state is not in the file")
        x = c.input("x", c.rand(2, 3) / 2)
        c.call("before", aten.neg.default, x)
        args = [x if a == "x" else a for a in args]
        r = c.call(f"drawn_{name}", target, *args, **kwargs)
        value = c.env[0][r.name]
        c.out(r if isinstance(value, torch.Tensor) else c.get("getitem", r, 0))
        c.refuse(f"drawn_{name}", str(target))

    refusal("dropout", aten.dropout.default, "x", 0.1, True)
    refusal("native_dropout", aten.native_dropout.default, "x", 0.1, True)
    refusal("rand", aten.rand.default, [2, 3])
    refusal("randn", aten.randn.default, [2, 3])
    refusal("rand_like", aten.rand_like.default, "x")
    refusal("randn_like", aten.randn_like.default, "x")
    refusal("randint", aten.randint.low, 0, 5, [3])
    refusal("randperm", aten.randperm.default, 5)
    refusal("bernoulli", aten.bernoulli.default, "x")
    refusal("bernoulli_p", aten.bernoulli.p, "x", 0.5)
    refusal("multinomial", aten.multinomial.default, "x", 2)

    c = Case("trap37_normal_", "an in-place draw")
    x = c.input("x", c.randn(3))
    y = c.call("clone", aten.clone.default, x)
    c.out(c.call("drawn_normal", aten.normal_.default, y))
    c.refuse("drawn_normal", "aten.normal_.default")

    c = Case("refuse_unknown_operator", "an operator that no table holds")
    x = c.input("x", c.randn(3))
    c.out(c.call("strange", Named("mylib.do_something.default", lambda t: t), x))
    c.refuse("strange", "mylib.do_something.default")


def per_rank_state():
    c = Case("trap38_per_rank_state", "a state tensor is per rank or replicated by its own name; bool, bf16, ints and 0-d in the files", world=2, iterations=2)
    p = c.state("params_1", c.randn(2, 2))
    q = c.state("params_2", [c.randn(2, 2), c.randn(2, 2)])
    h = c.state("bufs_1", c.randn(3, dtype=bf16), "buffer")
    flag = c.state("bufs_2", tensor([True, False, True]), "buffer")
    n = c.state("bufs_3", [tensor(1), tensor(10)], "buffer")
    s = c.state("st_1", tensor(0.5), "optimizer_state")
    u = c.state("st_2", [tensor([1, 2], torch.uint8), tensor([3, 255], torch.uint8)], "optimizer_state")
    d = c.state("st_3", c.randn(2, dtype=f64), "optimizer_state")
    e = c.state("st_4", torch.zeros(0, 3), "optimizer_state")
    x = c.input("x", lambda k, r: c.randn(2, 2))
    b = c.input("b", lambda k, r: tensor([k == 0, r == 0, True]))
    half = c.input("half", lambda k, r: c.randn(3, dtype=bf16))
    z = c.input("z", lambda k, r: tensor(k + r))
    g = c.call("wait", c10d.wait_tensor.default, c.call("all_reduce", c10d.all_reduce.default, x, "sum", "0"))
    c.call("sub_p", aten.sub_.Tensor, p, g)
    c.call("sub_q", aten.sub_.Tensor, q, x)
    c.call("add_h", aten.add_.Tensor, h, half)
    c.call("and_flag", aten.logical_and_.default, flag, b)
    c.call("add_n", aten.add_.Tensor, n, z)
    c.call("mul_s", aten.mul_.Tensor, s, 0.5)
    c.call("add_u", aten.add_.Tensor, u, 1)
    c.call("mul_d", aten.mul_.Tensor, d, s)
    c.out(c.call("p_times_q", aten.mul.Tensor, p, q), flag, n, u, d, e, h, s)


def bf16_reductions():
    c = Case("trap39_bf16_reductions", "reductions in bf16 accumulate in f32 and round once; autocast is _to_copy")
    x = c.input("x", (c.rand(4, 1024) + 1).to(bf16))
    c.op("sum", aten.sum.default, x)
    c.op("sum_rows", aten.sum.dim_IntList, x, [1])
    c.op("sum_columns", aten.sum.dim_IntList, x, [0], True)
    c.op("mean_rows", aten.mean.dim, x, [-1], True)
    c.op("sum_to_f32", aten.sum.dim_IntList, x, [1], dtype=f32)
    c.op("cumsum", aten.cumsum.default, c.call("few", aten.slice.Tensor, x, 1, 0, 8), 1)
    a, b = c.input("a", c.randn(3, 64, dtype=bf16)), c.input("b", c.randn(64, 2, dtype=bf16))
    c.op("mm", aten.mm.default, a, b)
    w = c.input("w", c.randn(3, 64))
    y = c.call("autocast", aten._to_copy.default, w, dtype=bf16)
    y = c.call("autocast_mm", aten.mm.default, y, b)
    c.op("autocast_back", aten._to_copy.default, y, dtype=f32)


def float_constants():
    c = Case("trap40_constants", "numbers are doubles in the file: rounded to the compute type at use, exact for f64 and int64")
    x, d = c.input("x", c.randn(5)), c.input("d", c.randn(5, dtype=f64))
    i = c.input("i", tensor([0, 1, -1]))
    for n, v in (
        ("almost_tenth", 0.09999999999999998), ("tenth", 0.1), ("denormal", 1e-45), ("max", 3.4028234663852886e38),
        ("tiny", 1e-300), ("third", 1 / 3), ("whole", 2.0), ("big", 1e16), ("minus_zero", -0.0),
    ):  # fmt: skip
        c.op(f"mul_f32_{n}", aten.mul.Tensor, x, v)
        c.op(f"mul_f64_{n}", aten.mul.Tensor, d, v, exact=True)
        c.op(f"add_f64_{n}", aten.add.Tensor, d, v, exact=True)
    for n, v in (("2_53", 2**53 + 1), ("max", 2**63 - 2), ("min", -(2**63) + 1)):
        c.op(f"add_i64_{n}", aten.add.Tensor, i, v)
    c.op("full_i64", aten.full.default, [2], 2**53 + 1, dtype=torch.int64)
    c.op("full_f64", aten.full.default, [2], 0.1, dtype=f64)
    c.op("full_f32", aten.full.default, [2], 0.1)
    c.op("gt_f32_constant", aten.gt.Scalar, c.call("tenths", aten.full.default, [2], 0.1), 0.1)
    c.op("eq_f32_constant", aten.eq.Scalar, c.call("tenths_1", aten.full.default, [2], 0.1), 0.1)
    c.op("mul_scalar", aten.mul.Scalar, x, 0.30000000000000004)
    c.op("add_inf", aten.add.Tensor, x, inf)
    c.op("mul_nan", aten.mul.Tensor, x, nan)


def strided_views():
    c = Case("as_strided_views", "as_strided that is a plain view, a transposition, a slice, a diagonal", iterations=2)
    p = c.state("params_1", c.randn(3, 4))
    x = c.input("x", lambda k, r: c.randn(3, 4))
    c.op("same", aten.as_strided.default, x, [3, 4], [4, 1])
    c.op("reshaped", aten.as_strided.default, x, [2, 6], [6, 1])
    c.op("transposed", aten.as_strided.default, x, [4, 3], [1, 4])
    c.op("offset", aten.as_strided.default, x, [2, 4], [4, 1], 4)
    c.op("column", aten.as_strided.default, x, [3], [4], 2)
    c.op("every_second", aten.as_strided.default, x, [3, 2], [4, 2], 1)
    c.op("diagonal", aten.as_strided.default, x, [3], [5], 0)
    v = c.call("written", aten.as_strided.default, p, [3, 2], [4, 1], 1)
    c.call("add_", aten.add_.Tensor, v, 1.0)

    c = Case("refuse_as_strided_overlap", "an as_strided whose elements overlap, written through")
    x = c.input("x", c.randn(6))
    y = c.call("clone", aten.clone.default, x)
    w = c.call("windows", aten.as_strided.default, y, [4, 3], [1, 1])
    c.call("write_windows", aten.fill_.Scalar, w, 2.0)
    c.out(y)
    c.refuse("windows")


def make():
    index()
    index_put()
    scatter_gather()
    conv_backward()
    max_pool()
    norm_stats()
    losses()
    gelu()
    all_to_all_and_pads()
    uneven_shards()
    splits()
    randomness()
    per_rank_state()
    bf16_reductions()
    float_constants()
    strided_views()

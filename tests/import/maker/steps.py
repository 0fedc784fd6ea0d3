"""Small training steps: optimizers as PyTorch writes them, groups, clipping, models, collectives."""

import importlib
import unittest.mock
import zlib

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from .capture import Case, aten, traced

c10d = torch.ops._c10d_functional
legacy = torch.ops.c10d_functional
bf16 = torch.bfloat16


class Values:
    """Random values of a traced case."""

    def __init__(self, name):
        self.generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))

    def randn(self, *shape):
        return torch.randn(shape, generator=self.generator)

    def randint(self, low, high, shape):
        return torch.randint(low, high, shape, generator=self.generator)


# ---- the optimizers of torch.optim

OPTIMIZERS = {
    "sgd": (("momentum_buffer_list",), dict(weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.0, nesterov=True, maximize=False)),
    "adam": (("exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps"), dict(amsgrad=True, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, eps=1e-3, maximize=False)),
    "adamw": (("exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps"), dict(amsgrad=False, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, eps=1e-3, maximize=True)),
    "adagrad": (("state_sums", "state_steps"), dict(lr=0.1, weight_decay=0.1, lr_decay=0.0, eps=1e-3, maximize=False)),
    "rmsprop": (("square_avgs", "grad_avgs", "momentum_buffer_list", "state_steps"), dict(lr=0.1, alpha=0.9, eps=1e-2, weight_decay=0.1, momentum=0.9, centered=True)),
    "adadelta": (("square_avgs", "acc_deltas", "state_steps"), dict(lr=1.0, rho=0.9, eps=1e-3, weight_decay=0.1, maximize=False)),
    "adamax": (("exp_avgs", "exp_infs", "state_steps"), dict(eps=1e-3, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1)),
    "nadam": (("exp_avgs", "exp_avg_sqs", "mu_products", "state_steps"), dict(beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, momentum_decay=0.004, eps=1e-3)),
    "radam": (("exp_avgs", "exp_avg_sqs", "state_steps"), dict(beta1=0.9, beta2=0.9, lr=0.1, weight_decay=0.1, eps=1e-3)),
    "asgd": (("axs", "mus", "etas", "state_steps"), dict(lambd=0.01, lr=0.1, t0=2.0, alpha=0.75, weight_decay=0.1)),
    "rprop": (("prevs", "step_sizes", "state_steps"), dict(step_size_min=1e-4, step_size_max=0.5, etaminus=0.5, etaplus=1.2)),
}
SHAPES = {"w": (3, 2), "b": (4,)}
USUAL = ("sgd", "adam", "adamw")


def start(state, shape):
    if state == "state_steps":
        return torch.tensor(0.0)
    if state in ("mu_products", "mus"):
        return torch.tensor(1.0)
    if state == "etas":
        return torch.tensor(0.1)
    return torch.full(shape, 0.1) if state == "step_sizes" else torch.zeros(shape)


def optimizer(name, foreach):
    """The optimizer that torch.optim runs while compiling: no step is a Python number."""
    function = getattr(importlib.import_module(f"torch.optim.{name}"), name)
    states, options = OPTIMIZERS[name]
    more = {} if name in ("sgd", "adagrad") else {"capturable": True}
    form = "foreach" if foreach else "single"
    case = f"step_{name}_{form}" if name in USUAL else f"rare_{name}_{form}"
    values = Values(case)

    def step(p, b, s, i):
        lists = [[s[f"{n}.{k}"] for k in SHAPES] for n in states]
        with unittest.mock.patch("torch.compiler.is_compiling", return_value=True):
            function([p[k] for k in SHAPES], [i[k] for k in SHAPES], *lists, foreach=foreach, **more, **options)
        return [p[k].sum() for k in SHAPES]

    made = traced(
        case,
        f"torch.optim's {name}, {'on lists' if foreach else 'tensor by tensor'}, as it is traced",
        step,
        {k: values.randn(*s) for k, s in SHAPES.items()},
        {},
        {f"{n}.{k}": start(n, s) for n in states for k, s in SHAPES.items()},
        {k: (lambda k_, r, s=s: values.randn(*s)) for k, s in SHAPES.items()},
        iterations=4,
    )
    if case == "rare_adagrad_single":  # reads its step as a Python number
        made.refuse("_local_scalar_dense", "takes a value out of the graph")


# ---- steps of models


def mlp(p, x):
    return F.linear(torch.tanh(F.linear(x, p["w1"], p["b1"])), p["w2"], p["b2"])


def mlp_values(name):
    v = Values(name)
    p = {"w1": v.randn(6, 4) / 2, "b1": v.randn(6) / 4, "w2": v.randn(3, 6) / 2, "b2": v.randn(3) / 4}
    batches = {"x": lambda k, r: v.randn(5, 4), "y": lambda k, r: v.randint(0, 3, (5,))}
    return p, batches


def gradients(loss, p, **kwargs):
    return dict(zip(p, torch.autograd.grad(loss, list(p.values()), **kwargs)))


def leaves(p):
    return {k: t.detach().requires_grad_() for k, t in p.items()}


def reduced(g, world=2):
    """The mean over the ranks, as one collective per gradient."""
    started = {k: c10d.all_reduce(t, "sum", "0") for k, t in g.items()}
    return {k: c10d.wait_tensor(t) / world for k, t in started.items()}


def momentum_sgd(p, s, g, keys, lr, momentum, decay):
    params, grads, bufs = [p[k] for k in keys], [g[k] for k in keys], [s[f"momentum.{k}"] for k in keys]
    if decay:
        grads = torch._foreach_add(grads, params, alpha=decay)
    torch._foreach_mul_(bufs, momentum)
    torch._foreach_add_(bufs, grads)
    torch._foreach_add_(params, bufs, alpha=-lr)


def two_groups():
    name = "step_two_groups"
    p, batches = mlp_values(name)

    def step(p, b, s, i):
        q = leaves(p)
        loss = F.cross_entropy(mlp(q, i["x"]), i["y"])
        g = reduced(gradients(loss, q))
        momentum_sgd(p, s, g, ["w1", "w2"], 0.1, 0.9, 0.01)
        momentum_sgd(p, s, g, ["b1", "b2"], 0.4, 0.5, 0.0)
        return [loss.detach()]

    traced(
        name, "one optimizer with two groups of parameters: each its rate, momentum and decay", step, p, {},
        {f"momentum.{k}": torch.zeros_like(t) for k, t in p.items()}, batches, world=2, iterations=4,
    )  # fmt: skip


def two_optimizers():
    name = "step_two_optimizers"
    p, batches = mlp_values(name)

    def step(p, b, s, i):
        q = leaves(p)
        loss = F.cross_entropy(mlp(q, i["x"]), i["y"])
        g = reduced(gradients(loss, q))
        keys = ["w1", "w2"]
        steps = [s[f"step.{k}"] for k in keys]
        torch._foreach_add_(steps, 1)
        torch._fused_adamw_(
            [p[k] for k in keys], [g[k] for k in keys], [s[f"exp_avg.{k}"] for k in keys], [s[f"exp_avg_sq.{k}"] for k in keys],
            [], steps, lr=0.05, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-4, amsgrad=False, maximize=False,
        )  # fmt: skip
        momentum_sgd(p, s, g, ["b1", "b2"], 0.1, 0.9, 0.0)
        return [loss.detach()]

    states = {f"{n}.{k}": torch.zeros_like(p[k]) for n in ("exp_avg", "exp_avg_sq") for k in ("w1", "w2")}
    states |= {f"step.{k}": torch.tensor(0.0) for k in ("w1", "w2")}
    states |= {f"momentum.{k}": torch.zeros_like(p[k]) for k in ("b1", "b2")}
    traced(name, "two optimizers in one step: fused AdamW for weights, SGD for biases", step, p, {}, states, batches, world=2, iterations=4)


def clipping():
    for form in ("foreach", "single"):
        name = f"step_clip_{form}"
        p, batches = mlp_values(name)

        def step(p, b, s, i, form=form):
            q = leaves(p)
            loss = F.cross_entropy(mlp(q, i["x"] * 3), i["y"])
            g = reduced(gradients(loss, q))
            if form == "foreach":
                norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(list(g.values()))))
                factor = torch.clamp(0.5 / (norm + 1e-6), max=1.0)
                torch._foreach_mul_(list(g.values()), factor)
            else:
                norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(t, 2.0) for t in g.values()]), 2.0)
                factor = torch.clamp(0.5 / (norm + 1e-6), max=1.0)
                for t in g.values():
                    t.mul_(factor)
            momentum_sgd(p, s, g, list(p), 0.3, 0.9, 0.0)
            return [loss.detach(), norm]

        traced(
            name, f"gradients clipped by their norm over all parameters, {'on lists' if form == 'foreach' else 'tensor by tensor'}",
            step, p, {}, {f"momentum.{k}": torch.zeros_like(t) for k, t in p.items()}, batches, world=2, iterations=4,
        )  # fmt: skip


def accumulation():
    name = "step_accumulation"
    p, _ = mlp_values(name)
    v = Values(name + ".x")

    def step(p, b, s, i):
        total = None
        losses = []
        for x, y in zip(i["x"].chunk(2), i["y"].chunk(2)):
            q = leaves(p)
            loss = F.cross_entropy(mlp(q, x), y) / 2
            g = gradients(loss, q)
            losses.append(loss.detach())
            if total is None:
                total = g
            else:
                for k in total:
                    total[k] = total[k] + g[k]
        momentum_sgd(p, s, reduced(total), list(p), 0.3, 0.9, 0.0)
        return [sum(losses)]

    traced(
        name, "gradients of two microbatches added before their collective", step, p, {},
        {f"momentum.{k}": torch.zeros_like(t) for k, t in p.items()},
        {"x": lambda k, r: v.randn(6, 4), "y": lambda k, r: v.randint(0, 3, (6,))}, world=2, iterations=3,
    )  # fmt: skip


def attend(q, k, v):
    # Always in f32: the kernel for bf16 rounds inside, elsewhere than any other attention does.
    with torch.autocast("cpu", enabled=False):
        return F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)


def transformer():
    def forward(p, x):
        h = F.embedding(x, p["e"])
        n = F.layer_norm(h, [8], p["n1.w"], p["n1.b"])
        q, k, v = F.linear(n, p["qkv"]).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        a = attend(q, k, v)
        h = h + F.linear(a.transpose(1, 2).reshape(2, 5, 8), p["o"])
        n = F.rms_norm(h, [8], p["n2.w"], 1e-5)
        h = h + F.linear(F.dropout(F.gelu(F.linear(n, p["up"])), 0.0, True), p["down"])
        return F.linear(h, p["e"])

    for form, about in (
        ("raw", "attention, embedding tied to the head, two norms; not decomposed"),
        ("core", "the same, decomposed to core ATen"),
        ("autocast", "the same under bf16 autocast, but for the attention"),
    ):
        name = f"step_transformer_{form}"
        v = Values("step_transformer")
        p = {
            "e": v.randn(11, 8) / 2, "n1.w": v.randn(8) / 4 + 1, "n1.b": v.randn(8) / 4, "qkv": v.randn(24, 8) / 3,
            "o": v.randn(8, 8) / 3, "n2.w": v.randn(8) / 4 + 1, "up": v.randn(16, 8) / 3, "down": v.randn(8, 16) / 4,
        }  # fmt: skip

        def step(p, b, s, i, form=form):
            q = leaves(p)
            # The decomposition of the CPU's attention does not fit its backward, so that core ATen takes it written out.
            kernel = SDPBackend.MATH if form == "core" else SDPBackend.FLASH_ATTENTION
            with torch.autocast("cpu", bf16, enabled=form == "autocast"), sdpa_kernel(kernel):
                logits = forward(q, i["x"])
                loss = F.cross_entropy(logits.flatten(0, 1), i["y"].flatten(), ignore_index=-100)
            g = reduced(gradients(loss, q))
            steps = [s[f"step.{k}"] for k in p]
            torch._foreach_add_(steps, 1)
            torch._fused_adam_(
                list(p.values()), list(g.values()), [s[f"exp_avg.{k}"] for k in p], [s[f"exp_avg_sq.{k}"] for k in p],
                [], steps, lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-3, amsgrad=False, maximize=False,
            )  # fmt: skip
            return [loss.detach()]

        def target(k, r, v=v):
            t = v.randint(0, 11, (2, 5))
            t[0, 0] = -100
            return t

        states = {f"{n}.{k}": torch.zeros_like(t) for n in ("exp_avg", "exp_avg_sq") for k, t in p.items()}
        states |= {f"step.{k}": torch.tensor(0.0) for k in p}
        table = torch._decomp.core_aten_decompositions() if form == "core" else None
        batches = {"x": lambda k, r, v=v: v.randint(0, 11, (2, 5)), "y": target}
        traced(name, about, step, p, {}, states, batches, world=2, iterations=3, decompose=table)


def convolutional():
    def forward(p, b, x):
        def norm(x, n):
            b[f"{n}.num_batches_tracked"].add_(1)
            return F.batch_norm(x, b[f"{n}.running_mean"], b[f"{n}.running_var"], p[f"{n}.weight"], p[f"{n}.bias"], True, 0.1, 1e-5)

        x = F.relu(norm(F.conv2d(x, p["c1"], stride=1, padding=1), "n1"), inplace=True)
        x = F.max_pool2d(x, 3, 2, 1)
        y = F.hardswish(norm(F.conv2d(x, p["c2"], padding=1, groups=4), "n2"), inplace=True)
        scale = F.hardsigmoid(F.conv2d(F.adaptive_avg_pool2d(y, 1), p["squeeze"]), inplace=True)
        y = y * scale
        y += x
        x = F.avg_pool2d(F.leaky_relu(y, 0.1), 2)
        return F.linear(x.flatten(1), p["head"], p["bias"])

    for form, about in (
        ("raw", "batch norms, depthwise convolution, pools, squeeze and excitation, in-place activations"),
        ("core", "the same, decomposed to core ATen"),
    ):
        name = f"step_convolutional_{form}"
        v = Values("step_convolutional")
        p = {
            "c1": v.randn(4, 2, 3, 3) / 3, "n1.weight": v.randn(4) / 4 + 1, "n1.bias": v.randn(4) / 4,
            "c2": v.randn(4, 1, 3, 3) / 2, "n2.weight": v.randn(4) / 4 + 1, "n2.bias": v.randn(4) / 4,
            "squeeze": v.randn(4, 4, 1, 1), "head": v.randn(3, 16) / 4, "bias": v.randn(3) / 4,
        }  # fmt: skip
        b = {}
        for n in ("n1", "n2"):
            b |= {f"{n}.running_mean": torch.zeros(4), f"{n}.running_var": torch.ones(4), f"{n}.num_batches_tracked": torch.tensor(0)}

        def step(p, b, s, i):
            q = leaves(p)
            loss = F.cross_entropy(forward(q, b, i["x"]), i["y"], label_smoothing=0.1)
            momentum_sgd(p, s, reduced(gradients(loss, q)), list(p), 0.05, 0.9, 0.01)
            return [loss.detach()]

        table = torch._decomp.core_aten_decompositions() if form == "core" else None
        batches = {"x": lambda k, r, v=v: v.randn(4, 2, 8, 8), "y": lambda k, r, v=v: v.randint(0, 3, (4,))}
        states = {f"momentum.{k}": torch.zeros_like(t) for k, t in p.items()}
        traced(name, about, step, p, b, states, batches, world=2, iterations=3, decompose=table)


# ---- collectives


def functional_collectives():
    c = Case("collectives_functional", "_c10d_functional: every collective and reduction, of floats, ints and bf16", world=2)
    x = c.input("x", lambda k, r: c.randn(4, 2))
    i = c.input("i", lambda k, r: c.randint(-9, 9, (2, 3)))
    h = c.input("h", lambda k, r: c.randn(4, dtype=bf16))
    z = c.input("z", lambda k, r: c.randn())

    def waited(name, target, *args):
        return c.op(f"{name}_wait", c10d.wait_tensor.default, c.call(name, target, *args))

    for op in ("sum", "avg", "max", "min", "product"):
        waited(f"all_reduce_{op}", c10d.all_reduce.default, x, op, "0")
        if op != "avg":
            waited(f"all_reduce_int_{op}", c10d.all_reduce.default, i, op, "0")
        waited(f"reduce_scatter_{op}", c10d.reduce_scatter_tensor.default, x, op, 2, "0")
    waited("all_reduce_bf16", c10d.all_reduce.default, h, "sum", "0")
    waited("all_reduce_0d", c10d.all_reduce.default, z, "sum", "0")
    waited("all_gather", c10d.all_gather_into_tensor.default, x, 2, "0")
    waited("all_gather_int", c10d.all_gather_into_tensor.default, i, 2, "0")
    waited("all_gather_bf16", c10d.all_gather_into_tensor.default, h, 2, "0")
    waited("reduce_scatter_bf16", c10d.reduce_scatter_tensor.default, h, "sum", 2, "0")
    waited("all_to_all", c10d.all_to_all_single.default, x, [2, 2], [2, 2], "0")
    waited("all_to_all_int", c10d.all_to_all_single.default, i, [1, 1], [1, 1], "0")
    waited("broadcast_0", c10d.broadcast.default, x, 0, "0")
    waited("broadcast_1", c10d.broadcast.default, x, 1, "0")

    c = Case("collectives_coalesced", "collectives on lists: one call, one wait per result", world=2)
    x = c.input("x", lambda k, r: c.randn(4, 2))
    y = c.input("y", lambda k, r: c.randn(2))
    i = c.input("i", lambda k, r: c.randint(-9, 9, (2,)))

    def waits(name, target, lists, *args):
        r = c.call(name, target, lists, *args)
        for j in range(len(lists)):
            c.op(f"{name}_wait_{j}", c10d.wait_tensor.default, c.get(f"{name}_{j}", r, j))

    waits("all_reduce", c10d.all_reduce_coalesced.default, [x, y], "sum", "0")
    waits("all_reduce_avg", c10d.all_reduce_coalesced.default, [y, x], "avg", "0")
    waits("all_reduce_one", c10d.all_reduce_coalesced.default, [i], "max", "0")
    waits("all_gather", c10d.all_gather_into_tensor_coalesced.default, [x, y], 2, "0")
    waits("all_gather_int", c10d.all_gather_into_tensor_coalesced.default, [i, i], 2, "0")
    waits("reduce_scatter", c10d.reduce_scatter_tensor_coalesced.default, [x, y], "sum", 2, "0")
    waits("reduce_scatter_avg", c10d.reduce_scatter_tensor_coalesced.default, [y, x], "avg", 2, "0")

    c = Case("collectives_legacy", "the older dialect c10d_functional, with (tag, ranks, group_size)", world=2)
    x = c.input("x", lambda k, r: c.randn(4, 2))
    y = c.input("y", lambda k, r: c.randn(2))

    def old(name, target, *args):
        return c.op(f"{name}_wait", legacy.wait_tensor.default, c.call(name, target, *args))

    group = ("", [0, 1], 2)
    old("all_reduce", legacy.all_reduce.default, x, "sum", *group)
    old("all_reduce_avg", legacy.all_reduce.default, x, "avg", *group)
    old("all_gather", legacy.all_gather_into_tensor.default, x, *group)
    old("reduce_scatter", legacy.reduce_scatter_tensor.default, x, "sum", *group)
    old("all_to_all", legacy.all_to_all_single.default, x, [2, 2], [2, 2], *group)
    old("all_to_all_null", legacy.all_to_all_single.default, x, None, None, *group)
    old("broadcast", legacy.broadcast.default, x, 1, *group)
    for name, target, args in (
        ("all_reduce_coalesced", legacy.all_reduce_coalesced.default, ("sum", *group)),
        ("all_gather_coalesced", legacy.all_gather_into_tensor_coalesced.default, group),
        ("reduce_scatter_coalesced", legacy.reduce_scatter_tensor_coalesced.default, ("sum", *group)),
    ):
        r = c.call(name, target, [x, y], *args)
        for j in range(2):
            c.op(f"{name}_wait_{j}", legacy.wait_tensor.default, c.get(f"{name}_{j}", r, j))


def inplace_collectives():
    c = Case("collectives_inplace", "all_reduce_, all_reduce_coalesced_ and broadcast_ write their operand; views and state see it", world=2, iterations=2)
    p = c.state("params_1", [c.randn(3), c.randn(3)])
    q = c.state("params_2", [c.randn(2, 2), c.randn(2, 2)])
    s = c.state("bufs_1", c.randn(4, 2), "buffer")
    x = c.input("x", lambda k, r: c.randn(4, 2))
    y = c.call("y", aten.clone.default, x)
    view = c.call("view_before", aten.select.int, y, 0, 1)
    r = c.call("all_reduce_", c10d.all_reduce_.default, y, "sum", "0")
    w = c.call("wait", c10d.wait_tensor.default, r)
    c.out(w, y, view)
    c.call("write_after", aten.mul_.Tensor, w, 0.5)
    c.out(c.call("after", aten.add.Tensor, y, 0.0))
    r = c.call("broadcast_", c10d.broadcast_.default, p, 1, "0")
    c.call("wait_broadcast", c10d.wait_tensor.default, r)
    c.call("add_", aten.add_.Tensor, p, 1.0)
    a, b = c.call("a", aten.clone.default, x), c.call("b", aten.sum.dim_IntList, x, [0])
    r = c.call("all_reduce_coalesced_", c10d.all_reduce_coalesced_.default, [a, b], "avg", "0")
    for j in range(2):
        c.call(f"wait_coalesced_{j}", c10d.wait_tensor.default, c.get(f"coalesced_{j}", r, j))
    c.out(a, b)
    row = c.call("row", aten.select.int, q, 0, 0)
    c.call("wait_row", c10d.wait_tensor.default, c.call("all_reduce_row", c10d.all_reduce_.default, row, "max", "0"))
    c.out(q)
    c.call("wait_state", c10d.wait_tensor.default, c.call("all_reduce_state", c10d.all_reduce_.default, s, "avg", "0"))
    c.call("state_add", aten.add_.Tensor, s, x, alpha=0.1)

    c = Case("step_inplace_collectives", "a step whose gradients are reduced in place, the bucket being a view of the gradients' memory", world=2, iterations=3)
    w1, w2 = c.state("params_1", c.randn(3, 4)), c.state("params_2", c.randn(3))
    x = c.input("x", lambda k, r: c.randn(5, 4))
    y = c.input("y", lambda k, r: c.randn(5, 3))
    o = c.call("addmm", aten.addmm.default, w2, x, c.call("t", aten.t.default, w1))
    d = c.call("sub", aten.sub.Tensor, o, y)
    c.op("loss", aten.mean.default, c.call("square", aten.square.default, d))
    bucket = c.call("bucket", aten.zeros.default, [15])
    g1 = c.call("g1", aten.view.default, c.call("g1_flat", aten.slice.Tensor, bucket, 0, 0, 12), [3, 4])
    g2 = c.call("g2", aten.slice.Tensor, bucket, 0, 12, 15)
    c.call("g1_copy", aten.copy_.default, g1, c.call("mm", aten.mm.default, c.call("dt", aten.t.default, d), x))
    c.call("g2_copy", aten.copy_.default, g2, c.call("sum_1", aten.sum.dim_IntList, d, [0]))
    r = c.call("all_reduce_", c10d.all_reduce_.default, bucket, "sum", "0")
    c.call("wait", c10d.wait_tensor.default, r)
    c.call("div_", aten.div_.Tensor, bucket, 2)
    c.call("step", aten._foreach_add_.List, [w1, w2], [g1, g2], alpha=-0.05)


def make():
    for name in OPTIMIZERS:
        optimizer(name, True)
        optimizer(name, False)
    two_groups()
    two_optimizers()
    clipping()
    accumulation()
    transformer()
    convolutional()
    functional_collectives()
    inplace_collectives()

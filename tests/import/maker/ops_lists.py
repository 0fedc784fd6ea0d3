"""Operators on lists of tensors: _foreach_*, the fused optimizers, loss scaling."""

import math

import torch

from .capture import Case, aten

inf, nan = math.inf, math.nan
SHAPES = [(2, 3), (3,)]
UNARY = "abs neg sqrt rsqrt reciprocal exp log sign sigmoid tanh zero clone".split()
RARE_UNARY = """acos asin atan ceil cos cosh erf erfc expm1 floor frac log10 log1p log2 round sin sinh tan trunc""".split()
BINARY = "add sub mul div maximum minimum clamp_min clamp_max pow".split()


def packet(name):
    return getattr(aten, f"_foreach_{name}")


def arguments(c):
    """Name, overload and arguments after the first list, of every form that takes more than one list."""
    a, b, d = ([c.input(f"{n}_{i}", c.rand(*s)) for i, s in enumerate(SHAPES)] for n in "abd")
    t = c.input("t", torch.tensor(0.75))
    scalars = [0.5, 2]
    forms = []
    for n in BINARY:
        forms += [(n, "List", (b,), {}), (n, "Scalar", (1.5,), {}), (n, "ScalarList", (scalars,), {})]
    forms += [(f"{n}_int", "Scalar", (2,), {}) for n in ("add", "mul", "pow")]
    forms += [(f"{n}_alpha", "List", (b,), {"alpha": -0.5}) for n in ("add", "sub")]
    forms += [(n, "Tensor", (t,), {}) for n in ("add", "mul", "div")]
    forms += [("add_alpha", "Tensor", (t,), {"alpha": 3})]
    for n in ("addcmul", "addcdiv"):
        v = c.input(f"{n}_values", torch.tensor([0.5, -2.0]))
        forms += [
            (f"{n}_default", "Scalar", (b, d), {}),
            (n, "Scalar", (b, d, -0.5), {}),
            (f"{n}_kwarg", "Scalar", (b, d), {"value": 2}),
            (n, "ScalarList", (b, d, [0.5, -2.0]), {}),
            (n, "Tensor", (b, d, v), {}),
        ]
    forms += [
        ("lerp", "Scalar", (b, 0.1), {}),
        ("lerp_most", "Scalar", (b, 0.9), {}),
        ("lerp", "ScalarList", (b, [0.1, 0.9]), {}),
        ("lerp", "List", (b, d), {}),
    ]
    return a, forms


def base(name):
    for suffix in ("_int", "_alpha", "_default", "_kwarg", "_most"):
        name = name.removesuffix(suffix)
    return name


def foreach():
    c = Case("ops_foreach", "_foreach_* that give new tensors, in every overload")
    a, forms = arguments(c)
    for n in UNARY:
        c.op(f"{n}_default", packet(n).default, a)
    for n, overload, args, kwargs in forms:
        c.op(f"{n}_{overload}", getattr(packet(base(n)), overload), a, *args, **kwargs)
    c.op("pow_ScalarAndTensor", aten._foreach_pow.ScalarAndTensor, 0.9, a)
    c.op("pow_ScalarAndTensor_int", aten._foreach_pow.ScalarAndTensor, 2, a)
    c.op("norm_default", aten._foreach_norm.Scalar, a)
    c.op("norm_1", aten._foreach_norm.Scalar, a, 1)
    c.op("norm_inf", aten._foreach_norm.Scalar, a, inf)
    c.op("norm_dtype", aten._foreach_norm.Scalar, a, 2, dtype=torch.float64)
    c.op("max_default", aten._foreach_max.default, a)
    c.op("copy_default", aten._foreach_copy.default, a, [c.input("s0", c.randn(3)), c.input("s1", c.randn(3, dtype=torch.float64))])
    mixed = [c.input("i", torch.tensor([1, 2])), c.input("h", torch.tensor([0.5, 1.5], dtype=torch.bfloat16)), c.input("z", torch.tensor(2.0))]
    c.op("mixed_add_int", aten._foreach_add.Scalar, mixed, 1)
    c.op("mixed_mul_float", aten._foreach_mul.Scalar, mixed, 0.5)
    c.op("mixed_div", aten._foreach_div.ScalarList, mixed, [2, 4, 8])
    c.op("mixed_sqrt", aten._foreach_sqrt.default, mixed)
    row, matrix = c.input("row", c.randn(3)), c.input("matrix", c.randn(2, 3))
    c.op("broadcast_add", aten._foreach_add.List, [matrix, row], [row, row])
    c.op("one_add", aten._foreach_add.List, [matrix], [matrix])

    c = Case("ops_foreach_more", "_foreach_* that few graphs contain")
    a = [c.input(f"a_{i}", c.rand(*s) / 2) for i, s in enumerate(SHAPES)]
    for n in RARE_UNARY:
        c.op(f"{n}_default", packet(n).default, a)
    for n in RARE_UNARY:
        selves = [c.call(f"{n}_self_{i}", aten.clone.default, t) for i, t in enumerate(a)]
        c.call(f"{n}_", packet(f"{n}_").default, selves)
        c.out(*selves)


def foreach_inplace():
    c = Case("ops_foreach_inplace", "_foreach_*_ in every overload: they give nothing back, and write their first list", iterations=2)
    p = [c.state(f"params_{i + 1}", c.rand(*s)) for i, s in enumerate(SHAPES)]
    a, forms = arguments(c)

    def write(name, target, *args, **kwargs):
        selves = [c.call(f"{name}_self_{i}", aten.clone.default, t) for i, t in enumerate(a)]
        c.call(name, target, selves, *args, **kwargs)
        c.out(*selves)

    for n in UNARY:
        if n != "clone":
            write(f"{n}_default", packet(f"{n}_").default)
    for n, overload, args, kwargs in forms:
        write(f"{n}_{overload}", getattr(packet(f"{base(n)}_"), overload), *args, **kwargs)
    write("copy_default", aten._foreach_copy_.default, [c.input("s0", c.randn(3)), c.input("s1", c.randn(3, dtype=torch.float64))])
    write("copy_non_blocking", aten._foreach_copy_.default, a, True)
    c.call("params_mul", aten._foreach_mul_.Scalar, p, 0.5)
    c.call("params_add", aten._foreach_add_.List, p, a, alpha=-0.1)
    n = c.state("st_1", torch.tensor(0), "optimizer_state")
    s = c.state("st_2", torch.tensor(1.0), "optimizer_state")
    c.call("steps", aten._foreach_add_.Scalar, [n, s], 1)


def lists(c, *names, kind="optimizer_state", values=None):
    out = []
    for n in names:
        v = [values(*s) if values else torch.zeros(s) for s in SHAPES]
        out.append([c.state(f"{n}_{i}", t, kind) for i, t in enumerate(v)])
    return out


def fused_adam():
    options = {
        "plain": {},
        "amsgrad": {"amsgrad": True},
        "maximize": {"maximize": True},
        "decay": {"weight_decay": 0.2},
        "scaled": {"scale": 4.0, "found": 0.0},
        "skipped": {"scale": 4.0, "found": 1.0},
        "tensor_lr": {"tensor_lr": True, "amsgrad": True, "weight_decay": 0.1},
    }
    for kind in ("adam", "adamw"):
        for inplace in (False, True):
            suffix = "_" if inplace else ""
            c = Case(
                f"ops_fused_{kind}" + ("_inplace" if inplace else ""),
                f"_fused_{kind}{suffix}: amsgrad, maximize, decay, scaled gradients, a step left out, lr in a tensor",
                iterations=3,
            )
            for name, given in options.items():
                o = {"amsgrad": False, "maximize": False, "weight_decay": 0.0, **given}
                tensor_lr, scale, found = (o.pop(k, None) for k in ("tensor_lr", "scale", "found"))
                (p,) = lists(c, f"{name}_p", kind="parameter", values=c.randn)
                m, v, x, t = lists(c, *(f"{name}_{n}" for n in ("m", "v", "x"))) + [
                    [c.state(f"{name}_t_{i}", torch.tensor(0.0), "optimizer_state") for i in range(len(SHAPES))]
                ]
                g = [c.input(f"{name}_g_{i}", lambda k, r, s=s: c.randn(*s)) for i, s in enumerate(SHAPES)]
                g = [c.call(f"{name}_grad_{i}", aten.clone.default, t_) for i, t_ in enumerate(g)]
                x = x if o["amsgrad"] else []
                o |= {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3}
                if tensor_lr:
                    o["lr"] = c.input(f"{name}_lr", torch.tensor(0.05))
                if scale:
                    o["grad_scale"] = c.input(f"{name}_scale", torch.tensor([scale]))
                    o["found_inf"] = c.input(f"{name}_found", torch.tensor([found]))
                c.call(f"{name}_steps", aten._foreach_add_.Scalar, t, 1)
                target = getattr(getattr(aten, f"_fused_{kind}{suffix}"), "tensor_lr" if tensor_lr else "default")
                r = c.call(name, target, p, g, m, v, x, t, **o)
                if inplace:
                    c.out(*p, *g)
                    continue
                for i, old in enumerate((p, g, m, v, x)):
                    new = c.get(f"{name}_new_{i}", r, i)
                    for j, o_ in enumerate(old):
                        n = c.get(f"{name}_new_{i}_{j}", new, j)
                        c.out(n) if i == 1 else c.call(f"{name}_copy_{i}_{j}", aten.copy_.default, o_, n)


def fused_sgd():
    options = {
        "plain": {},
        "first": {"momentum": 0.9, "is_first_step": True},
        "momentum": {"momentum": 0.9},
        "dampened": {"momentum": 0.9, "dampening": 0.5},
        "nesterov": {"momentum": 0.9, "nesterov": True},
        "maximize": {"maximize": True, "weight_decay": 0.1},
        "scaled": {"momentum": 0.5, "scale": 4.0, "found": 0.0},
        "skipped": {"momentum": 0.5, "scale": 4.0, "found": 1.0},
        "tensor_lr": {"momentum": 0.9, "tensor_lr": True, "weight_decay": 0.1},
    }
    for inplace in (False, True):
        suffix = "_" if inplace else ""
        c = Case("ops_fused_sgd" + ("_inplace" if inplace else ""), f"_fused_sgd{suffix}: momentum, dampening, nesterov, scaled gradients, lr in a tensor", iterations=3)
        for name, given in options.items():
            o = {"weight_decay": 0.0, "momentum": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False, "is_first_step": False, **given}
            tensor_lr, scale, found = (o.pop(k, None) for k in ("tensor_lr", "scale", "found"))
            (p,) = lists(c, f"{name}_p", kind="parameter", values=c.randn)
            m = lists(c, f"{name}_m", values=c.randn)[0] if o["momentum"] else []
            g = [c.input(f"{name}_g_{i}", lambda k, r, s=s: c.randn(*s)) for i, s in enumerate(SHAPES)]
            g = [c.call(f"{name}_grad_{i}", aten.clone.default, t_) for i, t_ in enumerate(g)]
            o["lr"] = c.input(f"{name}_lr", torch.tensor(0.05)) if tensor_lr else 0.1
            if scale:
                o["grad_scale"] = c.input(f"{name}_scale", torch.tensor([scale]))
                o["found_inf"] = c.input(f"{name}_found", torch.tensor([found]))
            target = getattr(getattr(aten, f"_fused_sgd{suffix}"), "tensor_lr" if tensor_lr else "default")
            r = c.call(name, target, p, g, m, **o)
            if inplace:
                c.out(*p, *g)
                continue
            for i, old in enumerate((p, g, m)):
                new = c.get(f"{name}_new_{i}", r, i)
                for j, o_ in enumerate(old):
                    n = c.get(f"{name}_new_{i}_{j}", new, j)
                    c.out(n) if i == 1 else c.call(f"{name}_copy_{i}_{j}", aten.copy_.default, o_, n)


def fused_adagrad():
    c = Case("ops_fused_adagrad", "_fused_adagrad_: decay of the rate with the step", iterations=3)
    (p,) = lists(c, "p", kind="parameter", values=c.randn)
    (s,) = lists(c, "s", values=c.rand)
    t = [c.state(f"t_{i}", torch.tensor(0.0), "optimizer_state") for i in range(len(SHAPES))]
    g = [c.input(f"g_{i}", lambda k, r, s=s: c.randn(*s)) for i, s in enumerate(SHAPES)]
    c.call("steps", aten._foreach_add_.Scalar, t, 1)
    c.call("adagrad", aten._fused_adagrad_.default, p, g, s, t, lr=0.1, lr_decay=0.5, weight_decay=0.1, eps=1e-3, maximize=False)
    c.out(*p)
    options = dict(lr=0.1, lr_decay=0.0, weight_decay=0.0, eps=1e-3, maximize=True)
    for name in ("skipped", "scaled"):
        scale = c.input(f"{name}_scale", torch.tensor(4.0))
        found = c.input(f"{name}_inf", torch.tensor(float(name == "skipped")))
        r = c.call(name, aten._fused_adagrad.default, p, g, s, t, grad_scale=scale, found_inf=found, **options)
        for i in range(4):
            new = c.get(f"{name}_{i}", r, i)
            c.out(*[c.get(f"{name}_{i}_{j}", new, j) for j in range(len(p))])


def loss_scaling():
    c = Case("ops_amp", "_amp_foreach_non_finite_check_and_unscale_ and _amp_update_scale_: an infinite gradient shrinks the scale, success lets it grow", iterations=4)
    scale = c.state("st_1", torch.tensor([8.0]), "optimizer_state", "scale")
    growth = c.state("st_2", torch.tensor([0], dtype=torch.int32), "optimizer_state", "growth_tracker")
    g = [c.input(f"g_{i}", lambda k, r, s=s, i=i: torch.full(s, inf) if k == 2 and i == 0 else c.randn(*s)) for i, s in enumerate(SHAPES)]
    g = [c.call(f"grad_{i}", aten.clone.default, t) for i, t in enumerate(g)]
    found = c.call("found", aten.full.default, [1], 0.0)
    inverse = c.call("inverse", aten.reciprocal.default, scale)
    c.call("unscale", aten._amp_foreach_non_finite_check_and_unscale_.default, g, found, inverse)
    c.call("update", aten._amp_update_scale_.default, scale, growth, found, 2.0, 0.5, 2)
    c.out(*g, found)
    old = [c.call(f"old_{i}", aten.mul.Scalar, t, 3) for i, t in enumerate(g)]
    r = c.call("unscaled", aten._amp_foreach_non_finite_check_and_unscale.default, old, found, inverse)
    new = c.get("unscaled_0", r, 0)
    c.out(*[c.get(f"unscaled_0_{i}", new, i) for i in range(len(g))], c.get("unscaled_1", r, 1))
    r = c.call("updated", aten._amp_update_scale.default, scale, growth, found, 2.0, 0.5, 2)
    c.out(c.get("updated_0", r, 0), c.get("updated_1", r, 1))


def with_out():
    c = Case("ops_out", "forms with out=: written there, seen by views of it, in its dtype", iterations=2)
    p = c.state("bufs_1", c.randn(2, 3), "buffer")
    x, y = c.input("x", lambda k, r: c.randn(2, 3)), c.input("y", c.randn(2, 3))
    row = c.call("row", aten.select.int, p, 0, 1)
    c.out(c.call("sub", aten.sub.out, x, y, alpha=2, out=p), c.call("twice", aten.mul.Scalar, row, 2))
    wide = c.call("wide", aten.full.default, [2, 3], 0.0, dtype=torch.float64)
    c.out(c.call("atan2", aten.atan2.out, x, y, out=wide))
    line = c.call("line", aten.empty.memory_format, [2])
    c.out(c.call("sum", aten.sum.IntList_out, x, [1], out=line), c.call("power", aten.pow.Tensor_Scalar_out, x, 2, out=like(c, "e0", x)))
    c.out(c.call("clamp", aten.clamp.out, x, -0.5, 0.5, out=like(c, "e1", x)))
    c.out(c.call("cat", aten.cat.out, [x, y], 1, out=c.call("e2", aten.empty.memory_format, [2, 6])))
    c.out(c.call("view_copy", aten.view_copy.out, x, [3, 2], out=c.call("e3", aten.empty.memory_format, [3, 2])))


def like(c, name, x):
    return c.call(name, aten.empty_like.default, x)


def make():
    foreach()
    foreach_inplace()
    fused_adam()
    fused_sgd()
    fused_adagrad()
    loss_scaling()
    with_out()

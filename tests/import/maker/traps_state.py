"""Traps 1 to 12: what a graph does to storage and to state."""

import torch
import torch.nn.functional as F

from .capture import Case, Named, aten, traced

c10d = torch.ops._c10d_functional


def batch_norm_chain():
    def step(p, b, s, i):
        names = list(p)
        params = {n: t.detach().requires_grad_() for n, t in p.items()}

        def norm(x, n):
            return F.batch_norm(x, b[f"{n}.mean"], b[f"{n}.var"], params[f"{n}.w"], params[f"{n}.b"], True, 0.1, 1e-5)

        x = F.conv2d(i["x"], params["c1"], padding=1)
        shortcut = F.relu(norm(x, "n1"), inplace=True)
        y = F.conv2d(shortcut, params["c2"], padding=1)
        y = norm(y, "n2")
        y += shortcut
        y = F.relu(y, inplace=True)
        loss = (y * i["weight"]).mean()
        grads = torch.autograd.grad(loss, [params[n] for n in names])
        for n, g in zip(names, grads):
            s[n].mul_(0.9).add_(g)
            p[n].add_(s[n], alpha=-0.5)
        return [loss.detach(), y.detach()]

    for decomposed in (False, True):
        name = "trap01_batch_norm_chain" + ("_core" if decomposed else "")
        values = Case(name, "")  # for its generator
        Case.made.pop()
        p = {
            "c1": values.randn(4, 2, 3, 3) / 4,
            "n1.w": values.rand(4),
            "n1.b": values.randn(4),
            "c2": values.randn(4, 4, 3, 3) / 5,
            "n2.w": values.rand(4),
            "n2.b": values.randn(4),
        }
        b = {"n1.mean": torch.zeros(4), "n1.var": torch.ones(4), "n2.mean": torch.zeros(4), "n2.var": torch.ones(4)}
        table = None
        if decomposed:
            table = torch._decomp.get_decompositions([aten.native_batch_norm_backward, aten.threshold_backward])
        traced(
            name,
            "relu_ and add_ on getitem of native_batch_norm, backward through aliases; save_mean and invstd are read "
            "after the writes" + ("; backward decomposed" if decomposed else ""),
            step,
            p,
            b,
            {n: torch.zeros_like(t) for n, t in p.items()},
            {"x": lambda k, r: values.randn(3, 2, 5, 5), "weight": lambda k, r: values.randn(3, 4, 5, 5)},
            iterations=3,
            decompose=table,
        )


def result_storages():
    c = Case("trap01_result_storages", "each result of native_batch_norm is storage of its own; a later getitem of the same index sees what was written")
    x = c.input("x", c.randn(4, 3, 2, 2))
    w, b = c.input("w", c.rand(3)), c.input("b", c.randn(3))
    n = c.call("norm", aten.native_batch_norm.default, x, w, b, None, None, True, 0.1, 1e-5)
    y = c.get("y", n, 0)
    mean = c.get("mean", n, 1)
    relu = c.call("relu_", aten.relu_.default, y)
    again = c.get("y_again", n, 0)
    view = c.call("alias_of_y", aten.alias.default, y)
    c.call("mul_through_alias", aten.mul_.Tensor, view, 2.0)
    alias = c.call("alias_of_alias", aten.alias.default, view)
    c.call("mean_written", aten.add_.Tensor, mean, 10.0)
    c.out(y, relu, again, alias, mean, c.get("mean_again", n, 1), c.get("invstd", n, 2))
    c.op("le_alias", aten.le.Scalar, alias, 0)


def hardswish_clone():
    c = Case("trap02_hardswish_clone", "clone pins the value before copy_ writes over it; backward reads the clone, the matrix product what was written", iterations=2)
    w = c.state("params_1", c.randn(4, 4))
    n = c.state("params_2", c.rand(4))
    x = c.input("x", lambda k, r: c.randn(6, 4) * 3)
    norm = c.call("native_layer_norm", aten.native_layer_norm.default, x, [4], n, None, 1e-5)
    y = c.get("getitem", norm, 0)
    old = c.call("clone", aten.clone.default, y)
    t = c.call("add", aten.add.Tensor, y, 3)
    t = c.call("clamp", aten.clamp.default, t, 0)
    t = c.call("clamp_1", aten.clamp.default, t, None, 6)
    t = c.call("mul", aten.mul.Tensor, y, t)
    t = c.call("div", aten.div.Tensor, t, 6)
    new = c.call("copy_", aten.copy_.default, y, t)
    z = c.call("mm", aten.mm.default, new, w)
    low = c.call("le", aten.le.Scalar, old, -3)
    high = c.call("lt", aten.lt.Scalar, old, 3)
    inner = c.call("div_1", aten.div.Tensor, old, 3)
    inner = c.call("add_1", aten.add.Tensor, inner, 0.5)
    grad = c.call("mul_1", aten.mul.Tensor, z, inner)
    grad = c.call("where", aten.where.self, high, grad, z)
    zero = c.call("full", aten.full.default, [], 0, dtype=torch.float32)
    grad = c.call("where_1", aten.where.self, low, zero, grad)
    c.out(grad, old, y)
    wt = c.call("permute", aten.permute.default, new, [1, 0])
    g = c.call("mm_1", aten.mm.default, wt, grad)
    g = c.call("mul_2", aten.mul.Tensor, g, 0.01)
    g = c.call("sub", aten.sub.Tensor, w, g)
    c.call("copy__1", aten.copy_.default, w, g)


def copy_casts():
    c = Case("trap03_copy_casts", "copy_ broadcasts and casts to its destination; in-place ops keep the dtype of self", iterations=2)
    i = c.state("bufs_1", torch.tensor([5, 6, 7]), "buffer")
    h = c.state("bufs_2", c.randn(2, 3, dtype=torch.bfloat16), "buffer")
    n = c.state("bufs_3", torch.tensor(0), "buffer", "num_batches_tracked")
    flag = c.state("bufs_4", torch.tensor([True, False, True]), "buffer")
    small = c.state("bufs_5", torch.tensor([1, 2, 3], dtype=torch.int32), "buffer")
    p = c.state("params_1", c.randn(2, 3))
    row = c.input("row", torch.tensor([2.75, -2.75, 0.5]))
    double = c.input("double", c.randn(2, 3, dtype=torch.float64))
    m = c.input("m", lambda k, r: c.randn(2, 3))
    c.call("count", aten.add_.Tensor, n, 1)
    c.call("truncates", aten.copy_.default, i, row)
    c.call("broadcasts_and_rounds", aten.copy_.default, h, row)
    c.call("to_bool", aten.copy_.default, flag, row)
    c.call("stays_bf16", aten.mul_.Tensor, h, m)
    c.call("stays_f32", aten.add_.Tensor, p, double, alpha=0.5)
    c.call("stays_i32", aten.add_.Tensor, small, i)
    c.call("div_stays_f32", aten.div_.Tensor, p, c.input("ints", torch.tensor([2, -4, 3])))
    t = c.call("scalar_copy", aten.copy.default, small, double_scalar(c))
    c.out(t, i, h, n, flag, small, p)


def double_scalar(c):
    return c.call("scalar", aten.full.default, [], 3.9, dtype=torch.float64)


def adam_lists(c, amsgrad=False, shapes=((3, 2), (4,))):
    """Placeholders of two parameters and their state."""
    n = len(shapes)

    def states(prefix, kind, values, fqn, at):
        return [c.state(f"{prefix}_{at + i}", v, kind, f"{fqn}.{i}") for i, v in enumerate(values)]

    p = states("params", "parameter", [c.randn(*s) for s in shapes], "p", 1)
    m = states("st", "optimizer_state", [torch.zeros(s) for s in shapes], "exp_avg", 1)
    v = states("st", "optimizer_state", [torch.zeros(s) for s in shapes], "exp_avg_sq", 1 + n)
    x = states("st", "optimizer_state", [torch.zeros(s) for s in shapes], "max_exp_avg_sq", 1 + 2 * n) if amsgrad else []
    t = states("st", "optimizer_state", [torch.zeros(()) for _ in shapes], "step", 1 + 3 * n)
    return p, m, v, x, t


def fused_adam_steps():
    c = Case("trap04_fused_adam_steps", "the steps of _fused_adam are results of copy_, already incremented; the grads it returns are dead, the fifth list is empty", iterations=4)
    p, m, v, _, t = adam_lists(c)
    g = [c.input(f"g_{i}", lambda k, r, s=s: c.randn(*s)) for i, s in enumerate([(3, 2), (4,)])]
    add = c.call("_foreach_add", aten._foreach_add.Scalar, t, 1)
    t = [c.call(f"copy_{i}", aten.copy_.default, s, c.get(f"step_{i}", add, i)) for i, s in enumerate(t)]
    adam = c.call(
        "_fused_adam", aten._fused_adam.default, p, g, m, v, [], t,
        lr=0.1, beta1=0.9, beta2=0.95, weight_decay=0.01, eps=1e-5, amsgrad=False, maximize=False,
    )  # fmt: skip
    at = 0
    for i, old in ((0, p), (2, m), (3, v)):
        new = c.get(f"list_{i}", adam, i)
        for j, o in enumerate(old):
            c.call(f"copy_back_{at}", aten.copy_.default, o, c.get(f"list_{i}_{j}", new, j))
            at += 1
    c.get("list_dead", adam, 1)
    c.get("list_empty", adam, 4)
    c.out(*p, *t)


def batch_norm_stats():
    c = Case("trap05_batch_norm_stats", "native_batch_norm writes its running statistics, unbiased, on each rank its own", world=2, iterations=3)
    w, b = c.state("params_1", c.rand(3)), c.state("params_2", c.randn(3))
    m1, v1 = c.state("bufs_1", c.randn(3), "buffer"), c.state("bufs_2", c.rand(3), "buffer")
    n1 = c.state("bufs_3", torch.tensor(0), "buffer", "num_batches_tracked")
    m2, v2 = c.state("bufs_4", torch.zeros(3), "buffer"), c.state("bufs_5", torch.ones(3), "buffer")
    x = c.input("x", lambda k, r: c.randn(2, 3, 2, 2) * (r + 1) + r)
    c.call("add_", aten.add_.Tensor, n1, 1)
    c.op("norm_resnet", aten.native_batch_norm.default, x, w, b, m1, v1, True, 0.1, 1e-5)
    c.op("norm_mobilenet", aten.native_batch_norm.default, x, None, None, m2, v2, True, 0.01, 0.001)
    c.op("reads_running_var", aten.mul.Tensor, v1, 2.0)
    c.op("eval_after_training", aten.native_batch_norm.default, x, w, b, m2, v2, False, 0.1, 1e-5, only=[0])


def empties():
    c = Case("trap06_empty_dead", "empty that nobody reads, with a type; and empty that is written before it is read")
    x = c.input("x", c.randn(2, 3))
    c.call("dead", aten.empty.memory_format, [0], dtype=torch.uint8, device=torch.device("cpu"), pin_memory=False)
    c.call("dead_like", aten.empty_like.default, x, dtype=torch.int64)
    e = c.call("empty", aten.empty.memory_format, [2, 3], device=torch.device("cpu"), pin_memory=False)
    c.out(c.call("fill_", aten.fill_.Scalar, e, 2.5))
    e = c.call("empty_like", aten.empty_like.default, x, pin_memory=False)
    c.out(c.call("copy_", aten.copy_.default, e, x))
    e = c.call("new_empty", aten.new_empty.default, x, [4], dtype=torch.int64)
    c.call("zero_", aten.zero_.default, e)
    c.out(e)
    e = c.call("empty_strided", aten.empty_strided.default, [2, 3], [1, 2], dtype=torch.float32)
    c.call("copy__1", aten.copy_.default, e, x)
    c.out(e)
    e = c.call("new_empty_strided", aten.new_empty_strided.default, x, [3, 2], [2, 1])
    c.call("fill__1", aten.fill_.Tensor, e, c.call("half", aten.full.default, [], 0.5))
    c.out(e)
    e = c.call("halves", aten.empty.memory_format, [2, 3])
    for i in range(2):
        c.call(f"fill_half_{i}", aten.fill_.Scalar, c.call(f"select_{i}", aten.select.int, e, 0, i), i + 1)
    c.out(e)

    c = Case("trap06_empty_read", "an empty that is read has no value")
    x = c.input("x", c.randn(3))
    e = c.call("undefined_values", aten.empty.memory_format, [3])
    c.out(c.call("reads_undefined_values", aten.add.Tensor, x, e))
    c.refuse("undefined_values")


def state_not_written():
    c = Case("trap07_state_not_written", "a buffer that is read and never written, and a parameter that is neither: both are there in the end", iterations=3)
    freq = c.state("bufs_1", c.rand(4), "buffer", "inv_freq")
    c.state("params_1", c.randn(2), fqn="unused")
    p = c.state("params_2", c.randn(4))
    x = c.input("x", lambda k, r: c.randn(4))
    y = c.call("mul", aten.mul.Tensor, x, freq)
    c.out(c.call("add_", aten.add_.Tensor, p, y))


def double_wait():
    c = Case("trap08_double_wait", "waits on waits, two waits on one collective, a single wait", world=2, iterations=2)
    p = c.state("params_1", c.randn(4))
    x = c.input("x", lambda k, r: c.randn(4))
    y = c.input("y", lambda k, r: c.randn(4))
    a = c.call("all_reduce", c10d.all_reduce.default, x, "sum", "0")
    w = c.call("wait_tensor", c10d.wait_tensor.default, a)
    w = c.call("wait_tensor_1", c10d.wait_tensor.default, w)
    b = c.call("all_reduce_1", c10d.all_reduce.default, y, "sum", "0")
    w1 = c.call("wait_tensor_2", c10d.wait_tensor.default, b)
    w2 = c.call("wait_tensor_3", c10d.wait_tensor.default, b)
    g = c.call("all_gather", c10d.all_gather_into_tensor.default, y, 2, "0")
    w3 = c.call("wait_tensor_4", c10d.wait_tensor.default, g)
    plain = c.call("wait_on_plain_value", c10d.wait_tensor.default, x)
    t = c.call("add", aten.add.Tensor, w1, w2)
    t = c.call("mul", aten.mul.Tensor, t, w)
    c.call("sub_", aten.sub_.Tensor, p, t, alpha=0.25)
    c.out(t, w3, plain)


def outputs():
    c = Case("trap09_outputs", "outputs that are aliases, inputs, parameters written later, one value twice, a constant", iterations=2)
    p = c.state("params_1", c.randn(3))
    q = c.state("params_2", c.randn(3))
    x = c.input("x", lambda k, r: c.randn(3))
    k = c.constant("_tensor_constant0", c.randn(2))
    y = c.call("div", aten.div.Tensor, x, 3.0)
    alias = c.call("alias", aten.alias.default, y)
    view = c.call("view_of_parameter", aten.view.default, p, [3, 1])
    before = c.call("clone", aten.clone.default, p)
    c.call("add_", aten.add_.Tensor, p, y)
    c.out(alias, x, y, y, view, p, before, k, q, c.call("detach", aten.detach.default, alias))

    c = Case("trap09_output_written", "an input that the step writes over is returned as written", iterations=2)
    x = c.input("x", lambda k, r: c.randn(3))
    c.out(x)
    c.call("mul_", aten.mul_.Tensor, x, 2.0)

    c = Case("trap09_output_none", "an output that is null has no value, and counts")
    x = c.input("x", c.randn(3))
    y = c.call("neg", aten.neg.default, x)
    c.outputs = [y, None, x]


def constants():
    c = Case("trap10_constants", "get_attr constants; lift_fresh_copy copies, so that writing into the copy leaves the constant", iterations=2)
    x = c.input("x", lambda k, r: c.randn(2, 3))
    k = c.constant("_tensor_constant0", c.randn(3))
    i = c.constant("_tensor_constant1", torch.tensor([2, 0, 1]))
    z = c.constant("_tensor_constant2", torch.tensor(-1.5))
    twice = c.constant("_tensor_constant0_1", c.constants["_tensor_constant0"], "_tensor_constant0")
    copy = c.call("lift_fresh_copy", aten.lift_fresh_copy.default, k)
    c.call("add_", aten.add_.Tensor, copy, 1)
    a = c.call("add", aten.add.Tensor, x, copy)
    b = c.call("index", aten.index.Tensor, a, [None, i])
    d = c.call("detach", aten.detach.default, b)
    d = c.call("mul", aten.mul.Tensor, d, z)
    e = c.call("detach_", aten.detach_.default, c.call("clone", aten.clone.default, d))
    c.out(a, b, d, e, k, twice)

    c = Case("trap10_inline_constants", "get_attr constants that stand in graph.json under `constants`")
    c.inline = True
    x = c.input("x", c.randn(3))
    k = c.constant("_tensor_constant0", 0.0)
    k = c.call("lift_fresh_copy", aten.lift_fresh_copy.default, k)
    m = c.constant("_tensor_constant1", -2.5)
    c.out(c.call("where", aten.where.self, c.call("gt", aten.gt.Tensor, x, k), m, x))


def assert_metadata():
    c = Case("trap12_assert_metadata", "_assert_tensor_metadata has no result: checked, then dropped")
    x = c.input("x", c.randn(2, 3))
    c.call("_assert_tensor_metadata", aten._assert_tensor_metadata.default, x, None, None, torch.float32,
           device=torch.device("cpu"), layout=torch.strided)  # fmt: skip
    c.call("_assert_tensor_metadata_1", aten._assert_tensor_metadata.default, x, [2, 3], [3, 1])
    c.out(c.call("neg", aten.neg.default, x))


def comm_tensor():
    c = Case("refuse_comm_tensor", "the older in-place dialect of collectives", world=2)
    x = c.input("x", c.randn(3))
    y = c.call("clone", aten.clone.default, x)
    r = c.call("allreduce_", Named("c10d.allreduce_.default", lambda *a: ([a[0][0]], None)), [y], None, None, None, True, -1)
    r = c.call("comm_result", Named("torch.distributed._spmd.comm_tensor.comm_result", lambda t: t), r)
    r = c.get("getitem", r, 0)
    r = c.get("getitem_1", r, 0)
    c.out(c.call("wait_comm", Named("torch.distributed._spmd.comm_tensor.wait_comm", lambda t: t), r))
    c.refuse("allreduce_", "c10d.allreduce_.default")


def writes_through_expand():
    c = Case("refuse_write_through_expand", "a write through expand would write one element several times")
    x = c.input("x", c.randn(1, 3))
    y = c.call("clone", aten.clone.default, x)
    e = c.call("expand", aten.expand.default, y, [2, 3])
    c.call("write_all", aten.fill_.Scalar, e, 1.0)
    c.out(y)
    c.refuse("write_all", "aten.fill_.Scalar")


def make():
    batch_norm_chain()
    result_storages()
    hardswish_clone()
    copy_casts()
    fused_adam_steps()
    batch_norm_stats()
    empties()
    state_not_written()
    double_wait()
    outputs()
    constants()
    assert_metadata()
    comm_tensor()
    writes_through_expand()

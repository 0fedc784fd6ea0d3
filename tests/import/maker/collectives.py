"""Collectives over ranks that run in lock step: a function takes and gives one value per rank."""

import torch

OPS = {}


def collective(*names):
    def note(f):
        for n in names:
            OPS[n] = f
        return f

    return note


def reduced(tensors, op):
    """In rank order, which for two ranks is the only one."""
    out = tensors[0].clone()
    for t in tensors[1:]:
        if op in ("sum", "avg"):
            out = out + t
        elif op == "product":
            out = out * t
        elif op == "max":
            out = torch.maximum(out, t)
        elif op == "min":
            out = torch.minimum(out, t)
        else:
            raise ValueError(op)
    return out / len(tensors) if op == "avg" else out


def all_reduce(xs, op):
    return [reduced(xs, op).contiguous() for _ in xs]


def all_gather(xs):
    return [torch.cat([x.contiguous() for x in xs]) for _ in xs]


def reduce_scatter(xs, op):
    return [c.clone() for c in reduced(xs, op).chunk(len(xs))]


def broadcast(xs, src):
    return [xs[src].clone().contiguous() for _ in xs]


def all_to_all(xs, out_splits, in_splits):
    """Per rank: row counts to receive and to send, in rank order."""
    n = len(xs)
    even = [x.shape[0] // n for x in xs]
    ins = [list(s) if s else [even[r]] * n for r, s in enumerate(in_splits)]
    outs = [list(s) if s else [even[r]] * n for r, s in enumerate(out_splits)]
    parts = [list(x.split(i)) for x, i in zip(xs, ins)]
    for r in range(n):
        assert outs[r] == [ins[s][r] for s in range(n)], "splits of the ranks must fit together"
    return [torch.cat([parts[s][r] for s in range(n)]) for r in range(n)]


def per_list(f, lists):
    """Applies f to the i-th tensors of all ranks, for every i."""
    columns = [f([row[i] for row in lists]) for i in range(len(lists[0]))]
    return [[c[r] for c in columns] for r in range(len(lists))]


def write_back(xs, values):
    for x, v in zip(xs, values):
        x.copy_(v)
    return xs


def column(calls, i):
    return [args[i] for args, _ in calls]


@collective("_c10d_functional.wait_tensor.default", "c10d_functional.wait_tensor.default")
def _(calls):
    return column(calls, 0)


@collective("_c10d_functional.all_reduce.default", "c10d_functional.all_reduce.default")
def _(calls):
    return all_reduce(column(calls, 0), calls[0][0][1])


@collective("_c10d_functional.all_reduce_.default")
def _(calls):
    xs = column(calls, 0)
    return write_back(xs, all_reduce(xs, calls[0][0][1]))


@collective("_c10d_functional.all_reduce_coalesced.default", "c10d_functional.all_reduce_coalesced.default")
def _(calls):
    op = calls[0][0][1]
    return per_list(lambda xs: all_reduce(xs, op), column(calls, 0))


@collective("_c10d_functional.all_reduce_coalesced_.default")
def _(calls):
    op = calls[0][0][1]
    return per_list(lambda xs: write_back(xs, all_reduce(xs, op)), column(calls, 0))


@collective("_c10d_functional.all_gather_into_tensor.default", "c10d_functional.all_gather_into_tensor.default")
def _(calls):
    return all_gather(column(calls, 0))


@collective(
    "_c10d_functional.all_gather_into_tensor_coalesced.default",
    "c10d_functional.all_gather_into_tensor_coalesced.default",
)
def _(calls):
    return per_list(all_gather, column(calls, 0))


@collective("_c10d_functional.reduce_scatter_tensor.default", "c10d_functional.reduce_scatter_tensor.default")
def _(calls):
    return reduce_scatter(column(calls, 0), calls[0][0][1])


@collective(
    "_c10d_functional.reduce_scatter_tensor_coalesced.default",
    "c10d_functional.reduce_scatter_tensor_coalesced.default",
)
def _(calls):
    op = calls[0][0][1]
    return per_list(lambda xs: reduce_scatter(xs, op), column(calls, 0))


@collective("_c10d_functional.broadcast.default", "c10d_functional.broadcast.default")
def _(calls):
    return broadcast(column(calls, 0), calls[0][0][1])


@collective("_c10d_functional.broadcast_.default")
def _(calls):
    xs = column(calls, 0)
    return write_back(xs, broadcast(xs, calls[0][0][1]))


@collective("_c10d_functional.all_to_all_single.default", "c10d_functional.all_to_all_single.default")
def _(calls):
    return all_to_all(column(calls, 0), column(calls, 1), column(calls, 2))

"""A case: a graph in the format fx-capture, and the values PyTorch gives it.

Nodes are executed by PyTorch as they are added, on all ranks in lock step, which yields their `meta`;
`write` then runs the whole step again from the initial state, as often as the case has iterations.
"""

import json
import math
import operator
import pathlib
import zlib

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from . import collectives, safetensors

aten = torch.ops.aten
CASES = pathlib.Path(__file__).parent.parent / "cases"


class Node:
    def __init__(self, name, op, target, args=(), kwargs=None):
        self.name, self.op, self.target = name, op, target
        self.args, self.kwargs = list(args), dict(kwargs or {})
        self.more = {}  # of a placeholder: kind and fqn


class Named:
    """An operator that this PyTorch cannot run; `function` stands for it, rank by rank."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def __str__(self):
        return self.name

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


# ---- arguments


def substituted(arg, env):
    if isinstance(arg, Node):
        return env[arg.name]
    if isinstance(arg, (list, tuple)):
        return [substituted(a, env) for a in arg]
    if isinstance(arg, dict):
        return {k: substituted(v, env) for k, v in arg.items()}
    return arg


def short(value):
    return str(value).removeprefix("torch.")


def encoded(arg):
    if isinstance(arg, Node):
        return {"node": arg.name}
    if isinstance(arg, (list, tuple)):
        return [encoded(a) for a in arg]
    if arg is None or isinstance(arg, (bool, int, str)):
        return arg
    if isinstance(arg, float):
        special = None if math.isfinite(arg) else "nan" if math.isnan(arg) else "inf" if arg > 0 else "-inf"
        return {"float": special or arg}
    if isinstance(arg, slice):
        return {"slice": [arg.start, arg.stop, arg.step]}
    if isinstance(arg, dict):
        return {"dict": {k: encoded(v) for k, v in arg.items()}}
    for kind, key in (
        (torch.dtype, "dtype"),
        (torch.device, "device"),
        (torch.layout, "layout"),
        (torch.memory_format, "memory_format"),
    ):
        if isinstance(arg, kind):
            return {key: short(arg)}
    raise TypeError(f"{arg!r} has no place in the format")


def meta_of(value):
    if isinstance(value, torch.Tensor):
        return {
            "dtype": short(value.dtype),
            "shape": list(value.shape),
            "stride": list(value.stride()),
            "device": str(value.device),
        }
    if isinstance(value, (list, tuple)):
        return [meta_of(v) for v in value]
    return None


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and safetensors.data(a) == safetensors.data(b)


# ---- a case


class Case:
    made = []

    def __init__(self, name, about, world=1, iterations=1):
        self.name, self.about = name, about
        self.world, self.iterations = world, iterations
        self.nodes, self.metas, self.names = [], {}, set()
        self.initial = {}  # of a state placeholder: a tensor, or one per rank
        self.batches = {}  # of an input: a function of (iteration, rank)
        self.constants, self.inline = {}, False
        self.outputs, self.exact, self.refusal = [], [], []
        self.env = [{} for _ in range(world)]
        self.generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        Case.made.append(self)

    # values

    def randn(self, *shape, dtype=torch.float32):
        return torch.randn(shape, generator=self.generator).to(dtype)

    def rand(self, *shape, dtype=torch.float32):
        """Between 0.25 and 1.75: away from poles."""
        return (torch.rand(shape, generator=self.generator) * 1.5 + 0.25).to(dtype)

    def randint(self, low, high, shape, dtype=torch.int64):
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)

    # nodes

    def _add(self, node):
        assert node.name not in self.names, f"{self.name}: two nodes {node.name}"
        self.names.add(node.name)
        self.nodes.append(node)
        return node

    def _placeholder(self, name, kind, fqn):
        node = self._add(Node(name, "placeholder", name))
        node.more = {"kind": kind, "fqn": fqn or name}
        for rank, env in enumerate(self.env):
            env[name] = self._start(name, 0, rank)
        self.metas[name] = meta_of(self.env[0][name])
        return node

    def _start(self, name, iteration, rank):
        if name in self.batches:
            return self.batches[name](iteration, rank).clone()
        value = self.initial[name]
        return (value[rank] if isinstance(value, list) else value).clone()

    def state(self, name, value, kind="parameter", fqn=None):
        self.initial[name] = value
        return self._placeholder(name, kind, fqn)

    def input(self, name, value, fqn=None):
        """A tensor, or a function of (iteration, rank)."""
        if callable(value) and not isinstance(value, torch.Tensor):
            table = [[value(k, r) for r in range(self.world)] for k in range(self.iterations)]
            self.batches[name] = lambda k, r: table[k][r]
        else:
            self.batches[name] = lambda k, r: value
        return self._placeholder(name, "input", fqn)

    def constant(self, name, value, target=None):
        """`value` a tensor, or a number that stands in graph.json."""
        target = target or name
        self.constants[target] = value
        node = self._add(Node(name, "get_attr", target))
        for env in self.env:
            env[name] = self._constant(target)
        self.metas[name] = meta_of(self.env[0][name])
        return node

    def _constant(self, target):
        value = self.constants[target]
        return value.clone() if isinstance(value, torch.Tensor) else torch.tensor(value)

    def call(self, name, target, *args, **kwargs):
        """A node that is no output."""
        node = self._add(Node(name, "call_function", target, args, kwargs))
        try:
            results = self._evaluate(node, self.env)
        except Exception as e:
            e.add_note(f"in {self.name}, node {name}")
            raise
        for env, r in zip(self.env, results):
            env[name] = r
        self.metas[name] = meta_of(results[0])
        return node

    def get(self, name, node, index):
        return self.call(name, operator.getitem, node, index)

    def op(self, name, target, *args, only=None, exact=False, **kwargs):
        """A node whose results are outputs: all, or those in `only`."""
        node = self.call(name, target, *args, **kwargs)
        value = self.env[0][name]
        if isinstance(value, torch.Tensor):
            self.out(node, exact=exact)
        elif value is not None:
            for i, v in enumerate(value):
                if only is not None and i not in only:
                    continue
                item = self.get(f"{name}_r{i}", node, i)
                if isinstance(v, torch.Tensor):
                    self.out(item, exact=exact)
                elif isinstance(v, (list, tuple)):
                    for j in range(len(v)):
                        self.out(self.get(f"{name}_r{i}_{j}", item, j), exact=exact)
        return node

    def out(self, *nodes, exact=False):
        for n in nodes:
            if exact:
                self.exact.append(n)
            self.outputs.append(n)

    def refuse(self, *substrings):
        self.refusal += substrings

    # execution

    def _evaluate(self, node, envs):
        calls = [(substituted(node.args, e), substituted(node.kwargs, e)) for e in envs]
        f = collectives.OPS.get(str(node.target))
        with torch.no_grad():
            return f(calls) if f else [node.target(*a, **k) for a, k in calls]

    def run(self):
        state = [{n: self._start(n, 0, r) for n in self.initial} for r in range(self.world)]
        constants = [{n: self._constant(n) for n in self.constants} for _ in range(self.world)]
        expected = {}
        for k in range(self.iterations):
            envs = [{} for _ in range(self.world)]
            for node in self.nodes:
                if node.op == "placeholder":
                    values = [
                        state[r][node.name] if node.name in state[r] else self._start(node.name, k, r)
                        for r in range(self.world)
                    ]
                elif node.op == "get_attr":
                    values = [constants[r][node.target] for r in range(self.world)]
                else:
                    values = self._evaluate(node, envs)
                for env, v in zip(envs, values):
                    env[node.name] = v
            for r, env in enumerate(envs):
                for i, o in enumerate(self.outputs):
                    if o is not None:
                        expected[f"iter{k}.rank{r}.out{i}"] = env[o.name].clone()
        for n in self.initial:
            kind = next(node.more["kind"] for node in self.nodes if node.name == n)
            replicated = kind != "buffer" and not isinstance(self.initial[n], list)
            replicated = replicated and all(same(s[n], state[0][n]) for s in state)
            for r in range(1 if replicated else self.world):
                expected[f"final.rank{r}.{n}"] = state[r][n].clone()
        return expected

    # files

    def graph(self):
        lines = []
        for node in self.nodes:
            line = {"name": node.name, "op": node.op, "target": str_target(node.target), "args": encoded(node.args)}
            if node.kwargs:
                line["kwargs"] = {k: encoded(v) for k, v in node.kwargs.items()}
            if self.metas.get(node.name) is not None:
                line["meta"] = self.metas[node.name]
            lines.append({**line, **node.more})
        lines.append({"name": "output", "op": "output", "target": "output", "args": [encoded(self.outputs)]})
        head = {
            "format": "fx-capture",
            "version": 1,
            "producer": f"torch {torch.__version__}",
            "world_size": self.world,
        }
        if self.inline:
            head["constants"] = self.constants
        text = json.dumps(head, allow_nan=False)[:-1]
        nodes = ",\n".join(json.dumps(line, allow_nan=False) for line in lines)
        return f'{text}, "nodes": [\n{nodes}\n]}}\n'

    def write(self):
        folder = CASES / self.name
        folder.mkdir(parents=True)
        (folder / "graph.json").write_text(self.graph())
        state = {}
        for n, v in self.initial.items():
            state.update({f"rank{r}.{n}": t for r, t in enumerate(v)} if isinstance(v, list) else {n: v})
        batches = {
            f"iter{k}.rank{r}.{n}": f(k, r)
            for k in range(self.iterations)
            for r in range(self.world)
            for n, f in self.batches.items()
        }
        files = {"state": state, "constants": {} if self.inline else self.constants, "batches": batches}
        if self.refusal:
            (folder / "refusal.txt").write_text("\n".join(self.refusal) + "\n")
        else:
            files["expected"] = self.run()
        if self.exact:
            lines = [f"out{i}\n" for i, o in enumerate(self.outputs) if o in self.exact]
            (folder / "exact.txt").write_text("".join(lines))
        for name, tensors in files.items():
            if tensors:
                safetensors.save(folder / f"{name}.safetensors", tensors)

    def size(self):
        return len(self.nodes) + 1

    def overloads(self):
        return {str_target(n.target) for n in self.nodes if n.op == "call_function"}


def nodes_in(arg):
    if isinstance(arg, Node):
        yield arg
    elif isinstance(arg, (list, tuple)):
        for a in arg:
            yield from nodes_in(a)
    elif isinstance(arg, dict):
        yield from nodes_in(list(arg.values()))


def ancestors(outputs):
    """Those nodes and all they need."""
    found, work = set(), list(outputs)
    while work:
        n = work.pop()
        if n not in found:
            found.add(n)
            work += nodes_in([n.args, n.kwargs])
    return found


def keep_only(case, outputs):
    """Only for cases without writes and state."""
    needed = ancestors(outputs)
    case.outputs = outputs
    case.nodes = [n for n in case.nodes if n in needed]
    case.batches = {n.name: case.batches[n.name] for n in case.nodes if n.op == "placeholder"}


def keep_inputs(case):
    """Drops the inputs that nobody reads."""
    read = set(nodes_in([[n.args, n.kwargs] for n in case.nodes] + case.outputs))
    case.nodes = [n for n in case.nodes if n.op != "placeholder" or n in read]
    case.batches = {n.name: case.batches[n.name] for n in case.nodes if n.op == "placeholder"}


def split_off(case, name, about, packets):
    """A second case with the outputs that need an operator of `packets`, which few graphs contain."""
    packets = set(packets.split())

    def rare(output):
        return any(str(n.target).split(".")[1] in packets for n in ancestors([output]) if hasattr(n.target, "_schema"))

    moved = [o for o in case.outputs if rare(o)]
    other = Case(name, about)
    other.nodes, other.metas, other.batches, other.exact = case.nodes, case.metas, case.batches, case.exact
    keep_only(other, moved)
    keep_only(case, [o for o in case.outputs if o not in moved])
    return other


def str_target(target):
    return "operator.getitem" if target is operator.getitem else str(target)


def traced(name, about, step, parameters=(), buffers=(), states=(), inputs=(), world=1, iterations=2, decompose=None):
    """The graph that make_fx gives of step(parameters, buffers, states, inputs), dictionaries of tensors.

    A value of the first three is a tensor, or one per rank; one of the inputs a function of (iteration, rank).
    """
    case = Case(name, about, world, iterations)
    groups = []
    placeholders = []
    for values, kind, prefix in (
        (parameters, "parameter", "params"),
        (buffers, "buffer", "bufs"),
        (states, "optimizer_state", "st"),
    ):
        group = {}
        for i, (fqn, value) in enumerate(dict(values).items()):
            node = case.state(f"{prefix}_{i + 1}", value, kind, fqn)
            placeholders.append(node)
            group[fqn] = case.env[0][node.name]
        groups.append(group)
    group = {}
    for fqn, value in dict(inputs).items():
        node = case.input(f"{fqn}_1", value, fqn)
        placeholders.append(node)
        group[fqn] = case.env[0][node.name]
    groups.append(group)

    def flat(*tensors):
        it = iter(tensors)
        return step(*[{k: next(it) for k in g} for g in groups])

    tensors = [t.clone() for g in groups for t in g.values()]
    gm = make_fx(flat, decomposition_table=decompose, tracing_mode="fake")(*tensors)
    known = {}
    rest = iter(placeholders)

    for n in gm.graph.nodes:
        if n.op == "placeholder":
            known[n.name] = next(rest)
        elif n.op == "get_attr":
            known[n.name] = case.constant(n.name, getattr(gm, n.target).detach(), n.target)
        elif n.op == "call_function":
            args, kwargs = plain(n.args, known), plain(n.kwargs, known)
            known[n.name] = case.call(n.name, n.target, *args, **kwargs)
        else:
            out = n.args[0]
            out = out if isinstance(out, (list, tuple)) else [out]
            case.out(*plain(out, known))
    return case


def plain(arg, known):
    """An argument of torch.fx with nodes of ours in it."""
    if isinstance(arg, torch.fx.Node):
        return known[arg.name]
    if isinstance(arg, (list, tuple)):
        return [plain(a, known) for a in arg]
    if isinstance(arg, dict):
        return {k: plain(v, known) for k, v in arg.items()}
    return arg

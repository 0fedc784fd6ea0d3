"""Archives of torch.export.save, with inputs and what the module gives for them."""

import io
import json
import pathlib
import tempfile
import zipfile

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import pipe_split
from torch.utils import _pytree as pytree

from . import safetensors
from .capture import CASES, Case


class Archive:
    """Beside the cases: the same questions, another format."""

    world = iterations = 1
    refusal = ()

    def __init__(self, name, about, module, inputs, core=False):
        self.name, self.about, self.inputs = name, about, inputs
        exported = torch.export.export(module, inputs, strict=False)
        if core:
            exported = exported.run_decompositions()
        for n in exported.graph.nodes:
            n.meta.pop("stack_trace", None)  # paths of this machine
            n.meta.pop("from_node", None)  # addresses of this process
        before = {k: b.clone() for k, b in exported.named_buffers()}
        with tempfile.TemporaryDirectory() as folder:  # the name of the file is that of the archive's top folder
            file = pathlib.Path(folder) / "model.pt2"
            torch.export.save(exported, file)
            self.bytes = file.read_bytes()
        run = torch.export.load(io.BytesIO(self.bytes)).module()
        with torch.no_grad():
            copies = pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, inputs)
            results = pytree.tree_leaves(run(*copies))
        after = dict(run.named_buffers())
        self.expected = {f"out{i}": t.detach().clone() for i, t in enumerate(results) if isinstance(t, torch.Tensor)}
        for k, b in before.items():
            if k in after and not torch.equal(b, after[k]):
                self.expected[f"buffer.{k}"] = after[k].clone()
        Case.made.append(self)

    def model(self):
        with zipfile.ZipFile(io.BytesIO(self.bytes)) as z:
            return json.loads(z.read("model/models/model.json"))

    def nodes(self):
        return self.model()["graph_module"]["graph"]["nodes"]

    def size(self):
        return len(self.nodes())

    def overloads(self):
        return {n["target"].removeprefix("torch.ops.") for n in self.nodes()}

    def write(self):
        assert self.model()["schema_version"]["major"] == 8
        folder = CASES / self.name
        folder.mkdir(parents=True)
        (folder / "model.pt2").write_bytes(self.bytes)
        leaves = pytree.tree_leaves(self.inputs)
        inputs = {f"in{i}": t for i, t in enumerate(leaves) if isinstance(t, torch.Tensor)}
        safetensors.save(folder / "inputs.safetensors", inputs)
        safetensors.save(folder / "expected.safetensors", self.expected)


def values(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def filled(module, seed=1):
    """Parameters and buffers from a generator of our own."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, p in module.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) / 2)
        for n, b in module.named_buffers():
            if b.is_floating_point():
                b.copy_(torch.rand(b.shape, generator=g) + 0.5)
    return module.eval()


class Detach(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Linear(4, 3)
        self.table = torch.tensor([[0.5, -1.0, 2.0]])  # neither parameter nor buffer
        self.register_buffer("scale", torch.ones(3), persistent=False)

    def forward(self, x):
        y = self.a(x)
        z = self.b(y.detach()) * self.scale
        return z + torch.tensor([1.0, 2.0, 3.0]) + self.table, y * torch.tensor(0.25)


class Stages(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        skip = x
        for i, layer in enumerate(self.layers):
            if i:
                pipe_split()
            x = torch.relu(layer(x))
        return x + skip


class Asserts(nn.Module):
    def forward(self, x, i, m):
        best, _ = torch.max(x, 1)
        _, where = torch.topk(x, 2, dim=1)
        first, _, last = torch.split(x, [1, 1, 2], dim=1)
        h = x.to(torch.bfloat16)
        y = x.to(torch.float32) + i.to(torch.float32).unsqueeze(1)
        normed = torch.ops.aten.native_layer_norm(x, [4], None, None, 1e-5)[0]
        wide = torch.sum(h, dim=1, keepdim=True, dtype=torch.float32)
        return best, where, first * last, y.to(torch.float32), m.to(torch.bool) & (x > 0), h, wide, normed, torch.full_like(i, 3)


class Training(nn.Module):
    """The operators that an export does not decompose by itself."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 8)
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24, bias=False)
        self.out = nn.Linear(8, 8)
        self.drop = nn.Dropout(0.3)
        self.conv = nn.Conv1d(8, 6, 3, padding=1)
        self.bn = nn.BatchNorm1d(6)
        self.rms = nn.RMSNorm(5)
        self.group = nn.GroupNorm(2, 6)

    def forward(self, ids):
        h = self.embedding(ids)
        q, k, v = self.qkv(self.norm(h)).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.drop(self.out(a.transpose(1, 2).reshape(2, 5, 8)))
        y = self.bn(self.conv(F.gelu(h, approximate="tanh").transpose(1, 2)))
        y = self.group(F.hardswish(y)) + F.silu(self.rms(y))
        return F.log_softmax(F.adaptive_avg_pool1d(y, 1).flatten(1), dim=-1), torch.softmax(y, 1).amax((1, 2))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
            nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.BatchNorm2d(4, eps=1e-3), nn.Hardswish(inplace=True),
            nn.MaxPool2d(3, 2, 1), nn.Dropout2d(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
        )  # fmt: skip

    def forward(self, x):
        return self.body(x)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("kept", torch.ones(3))

    def forward(self, x):
        self.count.add_(1)
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return (x - self.mean) * self.kept * self.count


class Norm(nn.Module):
    """Batch norm in training mode writes its buffers."""

    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.bn(x)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(6, 4)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.embedding.weight
        self.mix = nn.Linear(4, 4)
        self.again = self.mix

    def forward(self, ids):
        return self.head(self.again(torch.tanh(self.mix(self.embedding(ids)))))


class Structured(nn.Module):
    def forward(self, x, y):
        parts = x.chunk(2, 1)
        return {"sum": x + y, "list": [parts[1], (x, y.t())], "again": [parts[1]]}


class Inputs(nn.Module):
    def forward(self, x, pair, options, nothing, n):
        a, b = pair
        y = x * n + a
        return y if nothing is None else nothing, options["scale"] * b


class WritesInput(nn.Module):
    def forward(self, x, y):
        x.mul_(2)
        return x + y


class Dtypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(values(3, 4, seed=5).to(torch.bfloat16))
        self.d = nn.Parameter(values(4, seed=6).double())
        self.register_buffer("mask", torch.tensor([True, False, True, True]))
        self.register_buffer("ids", torch.tensor([1, 0], dtype=torch.int32))
        self.register_buffer("bytes", torch.tensor([1, 255], dtype=torch.uint8))
        self.turned = nn.Parameter(values(4, 3, seed=7).t())

    def forward(self, x):
        y = F.linear(x.to(torch.bfloat16), self.w)
        z = torch.where(self.mask, x, self.d.float())
        return y, z, z[self.ids.long()], self.bytes + 1, F.linear(x, self.turned), self.d * 2


def make():
    x = values(2, 3)
    Archive("trap10_pt2_detach", "detach stops gradients, constants from tensors in the code, a buffer that is not saved", filled(Detach()), (x,))
    Archive("trap10_pt2_detach_core", "the same, decomposed", filled(Detach()), (x,), core=True)
    Archive("trap11_pt2_pipe_split", "_pipe_split has no operand and no result: three stages, and a value that passes all of them", filled(Stages()), (values(2, 4),))
    many = values(3, 4), torch.tensor([1, 2, 3]), torch.tensor([[1], [0], [2]])
    Archive("trap12_pt2_asserts", "_assert_tensor_metadata, unused results, dtypes as numbers, keyword arguments", Asserts(), many)
    Archive("trap12_pt2_asserts_core", "the same, decomposed", Asserts(), many, core=True)
    ids = torch.tensor([[1, 5, 0, 2, 6], [3, 3, 1, 0, 4]])
    Archive("pt2_training_ir", "linear, layer_norm, scaled_dot_product_attention, dropout and batch_norm in evaluation, not decomposed", filled(Training()), (ids,))
    Archive("pt2_core", "the same model, decomposed to core ATen", filled(Training()), (ids,), core=True)
    image = (values(2, 2, 8, 8),)
    Archive("pt2_convolutional", "convolutions, batch norms in evaluation, in-place activations, pools, not decomposed", filled(Convolutional()), image)
    Archive("pt2_convolutional_core", "the same model, decomposed", filled(Convolutional()), image, core=True)
    Archive("pt2_buffer_mutation", "buffers that are written in place", filled(Counter()), (values(4, 3),))
    Archive("pt2_buffer_mutation_core", "the same, decomposed: the signature says which outputs are new values of buffers", filled(Counter()), (values(4, 3),), core=True)
    Archive("pt2_batch_norm_training", "batch norm in training mode writes its buffers", filled(Norm()).train(), (values(5, 3),))
    Archive("pt2_batch_norm_training_core", "the same, decomposed", filled(Norm()).train(), (values(5, 3),), core=True)
    Archive("pt2_tied", "one weight under two names, one module under two", filled(Tied()), (torch.tensor([[0, 5], [2, 2]]),))
    Archive("pt2_outputs", "outputs in a dictionary of lists, an input among them, one value twice", Structured(), (values(2, 4), values(2, 4, seed=3)))
    Archive("pt2_inputs", "inputs that are a number and nothing, beside tensors in a list and a dictionary", Inputs(), (values(2, 3), (values(3, seed=2), values(2, seed=3)), {"scale": torch.tensor(1.5)}, None, 3))
    Archive("pt2_input_mutation", "an input that the module writes, in place", WritesInput(), (values(3), values(3, seed=2)))
    Archive("pt2_input_mutation_core", "the same, decomposed", WritesInput(), (values(3), values(3, seed=2)), core=True)
    Archive("pt2_dtypes", "bf16, f64, bool, int32 and uint8 weights, a parameter that is not row-major", Dtypes().eval(), (values(2, 4),))

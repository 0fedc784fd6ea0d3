"""Writes the folders, the list of operators and README.md."""

import shutil

import torch

from .capture import CASES

HERE = CASES.parent

HEAD = """\
# Cases for the importer

Small graphs, each with the values PyTorch itself computes for it. `make_cases.py` wrote them, with PyTorch {version} on
one CPU thread; it is run by hand (`python make_cases.py`, no network) and writes everything here but itself and
`maker/`. Seeds are fixed: the same PyTorch writes the same files.

A folder `cases/NAME` holds `graph.json` and, in the format of the captured training steps, `state.safetensors`,
`constants.safetensors`, `batches.safetensors` (each where the graph has such values) and `expected.safetensors`. Every
node was executed by PyTorch on real tensors, ranks in lock step; collectives are computed over the ranks in rank order
(`maker/collectives.py`), and `wait_tensor` gives back its operand. `meta` is what that execution gave. State starts
from `state.safetensors`, lives through all iterations, and is found at `final.rank{{r}}.NAME`. A null among the outputs
has no value, but counts. Three operators do not run on a CPU (`_scaled_dot_product_efficient_attention`,
`_scaled_dot_product_flash_attention`, `_fused_rms_norm_backward`): PyTorch computed their values by the formula and its
gradient.

- Cases called `trapNN_*` exercise one silent rule each, so that a wrong reading of it fails the values.
- Cases called `ops_*` hold many independent nodes, whose names say what they test. Output i is the i-th of the list.
- `rare_*` hold operators and optimizers that few training steps contain, a few each.
- `step_*` are small training steps, traced with `make_fx` or written by hand.
- `pt2_*` (and traps 10 to 12) hold an archive `model.pt2` of `torch.export.save`, with `inputs.safetensors`
  (`in0`...) and `expected.safetensors` (`out0`..., and `buffer.NAME` after the call where it writes a buffer).
- Where there is `refusal.txt` the import must fail, and the error line must contain every line of that file.
- `exact.txt` names outputs whose bits must be equal (any NaN equals any other). Ints and bools always must.

Elsewhere a comparison may allow for rounding: f32 `1e-5 * max(1, |expected|)` for `ops_*` and `trap*`, bf16 and f16 two
units in the last place of their largest element, f64 `1e-12`; state after several iterations as for captured steps. The
sign of a zero counts in `exact.txt` only.

Some rules leave no trace in values: that `detach` stops gradients (10), where `_pipe_split` stands (11), which splits of
`all_to_all_single` are received (34: one graph for both ranks forces even splits), that permutes fold (36), that a number
is printed as it was read (40). Their cases show that such graphs are imported and computed, no more.

`overloads.txt` lists every operator that the cases without refusal contain, one per line.
"""


def table(cases):
    lines = ["\n## The cases\n", "| case | ranks | iterations | nodes | what it shows |", "|---|---|---|---|---|"]
    for c in sorted(cases, key=lambda c: c.name):
        about = c.about + (" (refused)" if c.refusal else "")
        lines.append(f"| `{c.name}` | {c.world} | {c.iterations} | {c.size()} | {about} |")
    return "\n".join(lines) + "\n"


def core_overloads():
    for q in sorted(set(torch._C._dispatch_get_all_op_names())):
        space, _, rest = q.partition("::")
        name, _, overload = rest.partition(".")
        if space != "aten":
            continue
        try:
            op = getattr(getattr(torch.ops.aten, name), overload or "default")
        except (AttributeError, RuntimeError):
            continue
        if torch.Tag.core in op.tags:
            yield str(op)


NOT_HERE = {
    "aten._fft_c2r.default": "complex numbers have no place in the files",
    "aten._fft_r2c.default": "complex numbers have no place in the files",
    "aten._local_scalar_dense.default": "gives a Python number, not a tensor",
    "aten.resize_.default": "changes a storage",
    "aten.sym_is_contiguous.default": "shapes are static",
    "aten.sym_numel.default": "shapes are static",
    "aten.sym_size.int": "shapes are static",
    "aten.sym_storage_offset.default": "shapes are static",
    "aten.sym_stride.int": "shapes are static",
}


def core_section(covered, refused):
    lines = ["\n## Core ATen operators without values here\n"]
    for op in core_overloads():
        if op not in covered:
            why = "refused" if op in refused else NOT_HERE.get(op)
            lines.append(f"- `{op}`: {why or 'NO CASE YET'}")
    return "\n".join(lines) + "\n"


def write(cases):
    shutil.rmtree(CASES, ignore_errors=True)
    covered, refused = set(), set()
    for c in cases:
        c.write()
        (refused if c.refusal else covered).update(c.overloads())
    (HERE / "overloads.txt").write_text("".join(f"{o}\n" for o in sorted(covered)))
    text = HEAD.format(version=torch.__version__) + table(cases) + core_section(covered, refused)
    (HERE / "README.md").write_text(text)

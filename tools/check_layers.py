#!/usr/bin/env python3
"""Every include between layers is granted by docs/layers.txt."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
grants = {}
for line in (root / "docs/layers.txt").read_text().splitlines():
    line = line.split("#")[0].strip()
    if line:
        layer, _, below = line.partition(":")
        grants[layer] = set(below.split()) | {layer}
bad = []
for file in sorted((root / "hocket").rglob("*.[hc]*")):
    if file.suffix not in (".h", ".cpp"):
        continue
    layer = file.relative_to(root / "hocket").parts[0]
    if layer not in grants:
        bad.append(f"{file.relative_to(root)}: layer '{layer}' is not in docs/layers.txt")
        continue
    for number, line in enumerate(file.read_text().splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*[<"]hocket/([^/]+)/', line)
        if include and include[1] not in grants[layer]:
            bad.append(f"{file.relative_to(root)}:{number}: '{layer}' may not use '{include[1]}'")
print("\n".join(bad)) if bad else None
sys.exit(bool(bad))

#!/usr/bin/env python3
"""Every op record is declared in ops.h, from which the list of ops is made."""
import pathlib
import re
import sys

folder = pathlib.Path(__file__).resolve().parent.parent / "hocket/ops"
declared = {name for line in re.findall(r"extern const Op ([^;]+);", (folder / "ops.h").read_text())
            for name in re.findall(r"\w+", line)}
records = {name for file in folder.glob("*.cpp")
           for name in re.findall(r"^constinit const Op (\w+)\{", file.read_text(), re.M)}
bad = [f"hocket/ops/ops.h: record '{r}' is not declared" for r in sorted(records - declared)]
bad += [f"hocket/ops/ops.h: '{r}' has no record" for r in sorted(declared - records)]
bad += [] if records else ["hocket/ops: no records found"]
print("\n".join(bad)) if bad else None
sys.exit(bool(bad))

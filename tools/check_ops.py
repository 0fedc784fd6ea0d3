#!/usr/bin/env python3
"""Every op record is declared in ops.h and listed in all.cpp."""
import pathlib
import re
import sys

folder = pathlib.Path(__file__).resolve().parent.parent / "hocket/ops"
listed = set(re.findall(r"&(\w+),", (folder / "all.cpp").read_text()))
records = set()
for file in folder.glob("*.cpp"):
    records |= set(re.findall(r"^constinit const Op (\w+)\{", file.read_text(), re.M))
bad = [f"hocket/ops/all.cpp: record '{r}' is not listed" for r in sorted(records - listed)]
bad += [f"hocket/ops/all.cpp: '{r}' has no record" for r in sorted(listed - records)]
bad += [] if records else ["hocket/ops: no records found"]
print("\n".join(bad)) if bad else None
sys.exit(bool(bad))

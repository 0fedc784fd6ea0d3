#!/usr/bin/env python3
"""Checks tests/coverage.txt. It says for every capability C1..C50 and defect T1..T90 where it is tested (`test NAME`),
which words of a document explain it or why it cannot occur (`doc FILE: WORDS`), which later capability brings it (`later
NAME`), or that it is `out of scope`."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
bad, seen, done = [], set(), set()
tests = "\n".join(p.read_text() for p in (root / "tests").rglob("*.cpp"))
for number, line in enumerate((root / "tests/coverage.txt").read_text().splitlines(), 1):
    line = line.split("#")[0].strip()
    if not line:
        continue
    if line.startswith("done:"):
        done |= set(line[5:].split())
        continue
    ids, _, rest = line.partition(" ")
    rest = rest.strip()
    kind, _, what = rest.partition(" ")
    where = f"tests/coverage.txt:{number}"
    for item in ids.split(","):
        first, _, last = item.partition("-")
        span = range(int(first[1:]), int((last or first)[1:]) + 1)
        for name in (f"{first[0]}{i}" for i in span):
            if name in seen:
                bad.append(f"{where}: {name} twice")
            seen.add(name)
    if kind == "test":
        for test in what.split():
            suite, _, case = test.partition(".")
            is_file = test.startswith("golden/") and (root / "tests" / f"{test}.hkt").exists()
            is_case = re.search(rf"TEST(?:_P)?\({suite}, {case}\)", tests) if case else None
            is_program = f"add_test(NAME {test} " in (root / "tests/CMakeLists.txt").read_text()
            if not (is_file or is_case or is_program):
                bad.append(f"{where}: no test {test}")
    elif kind == "doc":
        file, _, words = what.partition(": ")
        if not words or words not in " ".join((root / file).read_text().split()):
            bad.append(f"{where}: {file} does not say '{words}'")
    elif kind == "later":
        if what in done:
            bad.append(f"{where}: '{what}' is done; name its test")
    elif rest != "out of scope":
        bad.append(f"{where}: '{kind}', wanted test, doc, later or out of scope")
wanted = {f"C{i}" for i in range(1, 51)} | {f"T{i}" for i in range(1, 91)}
bad += [f"tests/coverage.txt: {name} is missing" for name in sorted(wanted - seen)]
bad += [f"tests/coverage.txt: {name} does not exist" for name in sorted(seen - wanted)]
print("\n".join(bad)) if bad else None
sys.exit(bool(bad))

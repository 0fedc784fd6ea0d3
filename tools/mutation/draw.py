"""Draws mutants that compile: as many from each layer, of each kind of mistake alike."""
import concurrent.futures
import hashlib
import json
import os
import random
import re
import subprocess

from . import places

LAYERS = ["passes", "iter", "ir", "comm", "runtime", "driver", "ops", "frontend"]
SWITCH = """#pragma once
// Which mutant is on; 0, when none.
#include <cstdlib>
namespace hocket_mutant {
inline const int chosen = std::getenv("HOCKET_MUTANT") ? std::atoi(std::getenv("HOCKET_MUTANT")) : 0;
inline bool on(int number) { return number == chosen; }
}  // namespace hocket_mutant
"""


def with_mutants(text, file, numbered):
    """The source with every mutant in it; `numbered`: pairs of number and place that do not overlap."""
    for number, p in sorted(numbered, key=lambda x: -x[1].start):
        text = text[:p.start] + p.template.replace("@", f"hocket_mutant::on({number})") + text[p.end:]
    return f'#include "hocket_mutant.h"\n#line 1 "{file}"\n{text}'


def find_places(root):
    """By layer and kind."""
    found = {}
    for layer in LAYERS:
        for path in sorted((root / "hocket" / layer).rglob("*.cpp")):
            for p in places.places(str(path.relative_to(root)), path.read_text()):
                found.setdefault((layer, p.kind), []).append(p)
    return found


def compile_faults(root, scratch, file, numbered):
    """Numbers of the mutants that do not compile."""
    text = (root / file).read_text()
    copy = scratch / "check" / file.replace("/", "_")
    copy.write_text(with_mutants(text, file, numbered))
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-w", f"-I{root}", f"-I{scratch}/check", copy]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    copy.unlink()
    if done.returncode == 0:
        return []
    lines = {int(n) for n in re.findall(rf"^{re.escape(file)}:(\d+):.*(?:error|required from)", done.stderr, re.M)}
    first = {n: text.count("\n", 0, p.start) + 1 for n, p in numbered}
    bad = [n for n, p in numbered
           if any(first[n] <= line <= first[n] + text[p.start:p.end].count("\n") for line in lines)]
    return bad or [n for n, _ in numbered]


class Checker:
    """Tells which places compile, several files at once, and remembers it in a file."""

    def __init__(self, root, scratch, jobs):
        self.root, self.scratch, self.jobs = root, scratch, jobs
        (scratch / "check").mkdir(parents=True, exist_ok=True)
        (scratch / "check/hocket_mutant.h").write_text(SWITCH)
        self.file = scratch / "check/known.json"
        self.known = json.loads(self.file.read_text()) if self.file.exists() else {}

    def key(self, p):
        text = (self.root / p.file).read_text()
        return f"{p.key()} {hash_of(text)}"

    def check(self, drawn):
        """Those of the places that compile."""
        by_file = {}
        for p in drawn:
            if self.key(p) not in self.known:
                by_file.setdefault(p.file, []).append(p)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for _ in pool.map(self.check_file, by_file.items()):
                pass
        self.file.write_text(json.dumps(self.known))
        return [p for p in drawn if self.known[self.key(p)]]

    def check_file(self, item):
        file, group = item
        left = list(enumerate(group, 1))
        while left:
            bad = compile_faults(self.root, self.scratch, file, left)
            if not bad:
                break
            # An error may hide others, or be reported at a neighbouring mutant: removes the mutants
            # at reported lines and tries again.
            left = [(n, p) for n, p in left if n not in bad]
        good = {p for _, p in left}
        for p in group:
            self.known[self.key(p)] = p in good


def hash_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def overlaps(p, others):
    return any(p.file == q.file and p.start < q.end and q.start < p.end for q in others)


def draw(root, scratch, seed, number, jobs, say):
    """`number` places that compile and do not overlap, in order of files and lines."""
    found = find_places(root)
    checker, rng, drawn, tried = Checker(root, scratch, jobs), random.Random(seed), [], set()
    while len(drawn) < number:
        fresh = []
        while len(drawn) + len(fresh) < number:
            layer = min(LAYERS, key=lambda name: sum(q.layer == name for q in drawn + fresh))
            kind = rng.choice([k for k in places.KINDS if (layer, k) in found])
            p = rng.choice(found[layer, kind])
            if p in tried or overlaps(p, drawn + fresh):
                continue
            tried.add(p)
            fresh.append(p)
        good = checker.check(fresh)
        say(f"{len(good)} of {len(fresh)} places drawn from {sum(map(len, found.values()))} compile")
        drawn += good
    return sorted(drawn, key=lambda p: (LAYERS.index(p.layer), p.file, p.start))

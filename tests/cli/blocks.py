#!/usr/bin/env python3
"""Runs the command blocks of documents and compares what they print.

usage: blocks.py SOURCE BUILD FILE...

A block is fenced with ```console; `$ command` is run by the shell in an empty folder that has the program
`hocket` on its path and the folder `examples`; `> ` continues it on another line;
the lines behind it are what it prints, both streams. `...` in
a line stands for any text, as a line for any lines. A last line `[exit 2]` says how it ends; 0 otherwise.
A digest depends on the machine (the library sums in the order of its vectors), so it stands for whatever is printed
where it is first expected: what is written as one digest must be one everywhere, and different ones different.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def blocks(text):
    return re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)


def steps(block):
    command, expected = None, []
    for line in block.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield command, expected
            command, expected = line[2:], []
        elif line.startswith("> ") and command is not None and not expected:
            command += "\n" + line[2:]
        else:
            expected.append(line)
    if command is not None:
        yield command, expected


DIGEST = re.compile(r"\b[0-9a-f]{32}\b")


def pattern(lines):
    out = ""
    for line in lines:
        out += r"(?:.*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + r"\n"
    return DIGEST.sub("([0-9a-f]{32})", out)


def match(expected, printed, digests):
    """Whether this is what was expected; digests: what each of those in the documents is on this machine."""
    found = re.fullmatch(pattern(expected), printed)
    if not found:
        return False
    for written, seen in zip(DIGEST.findall("\n".join(expected)), found.groups()):
        known = digests.get(written)
        if (seen in digests.values()) if known is None else seen != known:
            return False
        digests[written] = seen
    return True


def run(command, expected, folder, env, digests):
    code = 0
    if expected and (end := re.fullmatch(r"\[exit (\d+)\]", expected[-1])):
        code, expected = int(end[1]), expected[:-1]
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    printed = done.stdout if not done.stdout or done.stdout.endswith("\n") else done.stdout + "\n"
    if done.returncode == code and match(expected, printed, digests):
        return True
    print(f"$ {command}\n--- expected (exit {code})\n" + "\n".join(expected) +
          f"\n--- printed (exit {done.returncode})\n{printed}")
    return False


def main():
    source, build = map(pathlib.Path, sys.argv[1:3])
    env = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}")
    passed = failed = 0
    digests = {}
    for name in sys.argv[3:]:
        for block in blocks((source / name).read_text()):
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(source / "examples", pathlib.Path(folder) / "examples")
                for command, expected in steps(block):
                    ok = run(command, expected, folder, env, digests)
                    passed, failed = passed + ok, failed + (not ok)
    print(f"{passed} passed, {failed} failed")
    if failed or not passed:
        sys.exit(1)


main()

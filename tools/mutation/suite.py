"""The tests of a build as commands, quick and telling ones first, and the judges that compare what programs print."""
import dataclasses
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import threading
import time

# Not run, because they check the sources or need a compiler, and only behaviour may reveal a
# mutant.
NOT_RUN = {"coverage", "layers", "ops_listed", "install"}
FIRST = ["golden", "unit", "samples", "cli_cases", "cli_readme", "threads"]
LAST = re.compile("fuzz_|large_|comm_faults")
MEMORY = 8 << 30  # bytes of address space, so that an endless loop does not exhaust the machine


@dataclasses.dataclass
class Test:
    name: str
    command: list
    serial: bool = False   # needs its cores: a failure while other tests run is tried again
    seconds: float = 60.0  # duration without a mutant


def environment(mutant, folder):
    folder.mkdir(parents=True, exist_ok=True)
    return dict(os.environ, HOCKET_MUTANT=str(mutant), GTEST_FAIL_FAST="1", GTEST_BRIEF="1", GTEST_COLOR="no",
                TMPDIR=str(folder), TEST_TMPDIR=f"{folder}/")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(command, env, folder):
    # A session of its own, so that all processes that it starts can be ended with it.
    return subprocess.Popen(command, env=env, cwd=folder, text=True, errors="replace", stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                            preexec_fn=limit_memory)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def tests_of(build):
    """What ctest would run; tests of one GoogleTest program are one command."""
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    found = {}
    for t in json.loads(text)["tests"]:
        if t["name"] in NOT_RUN:
            continue
        command, name = t["command"], t["name"]
        if any(word == "--gtest_also_run_disabled_tests" for word in command):  # one case, found by listing
            command, name = command[:1], os.path.basename(command[0])
        serial = any(p["name"] == "RUN_SERIAL" and p["value"] for p in t.get("properties", []))
        found.setdefault(name, Test(name, command, serial))
    return list(found.values())


def in_order(tests):
    def rank(t):
        return (1, FIRST.index(t.name)) if t.name in FIRST else (3 if LAST.match(t.name) else 2, t.seconds)
    return sorted(tests, key=rank)


def failure(test, mutant, folder):
    """Which test fails, or nothing."""
    process = start(test.command, environment(mutant, folder), folder)
    try:
        output, _ = process.communicate(timeout=30 + 6 * test.seconds)
    except subprocess.TimeoutExpired:
        end(process)
        return f"{test.name} (does not end)"
    end(process)
    if process.returncode == 0:
        return ""
    case = re.search(r"^\[  FAILED  \] ([\w./]+)", output, re.M)
    signal_ = f" (signal {-process.returncode})" if process.returncode < 0 else ""
    return f"{test.name}{': ' + case[1] if case else ''}{signal_}"


def first_failure(tests, mutant, folder):
    for test in tests:
        what = failure(test, mutant, folder)
        if what and test.serial and "does not end" not in what:
            what = failure(test, mutant, folder)
        if what:
            return what
    return ""


class Judge:
    """A command whose output is compared, line by line, with what it prints without a mutant."""

    def __init__(self, command, scratch, number):
        self.command, self.file = shlex.split(command), scratch / f"judge-{number}.txt"

    def lines(self, mutant, folder, limit):
        process = start(self.command, environment(mutant, folder), folder)
        timer = threading.Timer(limit, end, [process])
        timer.start()
        try:
            yield from process.stdout
            yield f"exit {process.wait()}\n"
        finally:
            timer.cancel()
            end(process)

    def learn(self, folder):
        began = time.monotonic()
        lines = list(self.lines(0, folder, 3600))
        if lines[-1] != "exit 0\n" or len(lines) < 2:
            raise RuntimeError(f"{' '.join(self.command)}: {(lines[-2:])}, wanted lines and exit 0")
        self.file.write_text("".join(lines))
        self.seconds = time.monotonic() - began

    def difference(self, mutant, folder):
        """The first line that changes, or nothing."""
        expected = self.file.read_text().splitlines(keepends=True)
        number = 0
        for number, line in enumerate(self.lines(mutant, folder, 60 + 6 * self.seconds), 1):
            if number > len(expected) or line != expected[number - 1]:
                return " ".join((line.split() or ["-"])[:2])
        return "" if number == len(expected) else "fewer lines"

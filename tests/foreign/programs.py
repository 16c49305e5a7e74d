# SPDX-License-Identifier: Apache-2.0
"""The programs of the two suites, as commands to run and as readers of what they print."""

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDERS = "pt2pt comm threads init coll datatype rma part errhan attr topo group info".split()


@dataclass
class Program:
    name: str
    ranks: int
    command: list
    folder: Path  # where it runs
    environment: list = field(default_factory=list)
    limit: float = 0  # seconds that the suite gives it, 0 when it says nothing
    memory: float = 0  # GiB that the suite says it needs
    expects: str = ""  # the suite's name for another end than status 0

    @property
    def group(self):
        """What --folders names: the first part of the name."""
        return re.split("[/ ]", self.name)[0]

    def built(self):
        return Path(self.command[0]).exists()

    def line(self, environment):
        return ["env", *environment, *self.environment, *self.command]

    def outcome(self, status, output):
        """Whether it passed, as the suite's own runner sees it, and the tests inside it that did not."""
        if "penstock" in output.lower():
            return "message", {}  # the library, or the loader that did not find it, said something
        if self.expects:
            return "pass" if status != 0 else "fail", {}
        said = any(line.strip().lower() in ("no errors", "test passed") for line in output.splitlines())
        return "pass" if status == 0 and said else "fail", {}


class Modules(Program):
    """A module of mpi4py's tests. A rank's report is written whole when it ends, so that reports do not mix."""

    SCRIPT = 'report=$("$@" 2>&1); status=$?; printf "%s\\n" "$report"; exit $status'

    def built(self):
        return True

    def line(self, environment):
        return ["sh", "-c", self.SCRIPT, "sh", *super().line(environment)]

    def outcome(self, status, output):
        if "penstock" in output.lower():
            return "message", {}
        failed = {}
        for test, where in re.findall(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)", output, re.MULTILINE):
            failed[where if where.endswith("." + test) else f"{where}.{test}"] = "fail"
        ran = [int(count) for count in re.findall(r"^Ran (\d+) tests? in", output, re.MULTILINE)]
        skipped = [int(count) for count in re.findall(r"^(?:OK|FAILED) \(.*skipped=(\d+)", output, re.MULTILINE)]
        if len(ran) != self.ranks:
            return "end", failed  # a rank ended without a report
        counts = f" ({sum(ran)} run, {sum(skipped)} skipped)"
        return ("pass" if status == 0 and not failed else "fail") + counts, failed


def read_list(path, folder, suite):
    """A line is: program, number of processes, then key=value pairs; or the name of a folder."""
    programs, folders = [], []
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if len(words) == 1:
            folders.append(words[0])
        if len(words) < 2:
            continue
        pairs = [word.partition("=")[::2] for word in words[2:]]
        arguments = [value for key, value in pairs if key == "arg"]
        environment = [value for key, value in pairs if key == "env"]
        options = dict(pairs)
        programs.append(Program(" ".join([f"{folder}/{words[0]}", words[1], *arguments, *environment]), int(words[1]),
                                [str(suite / folder / words[0]), *arguments], suite / folder, environment,
                                float(options.get("timeLimit", 0)), float(options.get("mem", 0)),
                                options.get("resultTest", "")))
    return programs, folders


def suite_source(suite):
    """Where configure was run from: the Makefile says it."""
    for line in (suite / "Makefile").read_text().splitlines():
        if line.startswith("abs_srcdir"):
            return Path(line.split("=", 1)[1].strip())
    return suite


def mpich_programs(suite, folders, name):
    """The lists are where the suite was configured, or in its source when they need no configuring."""
    programs = []
    for folder in folders:
        here, source = suite / folder / name, suite_source(suite) / folder / name
        path = here if here.exists() else source
        if path.exists():
            found, inner = read_list(path, folder, suite)
            programs += found + mpich_programs(suite, [f"{folder}/{entry}" for entry in inner], name)
    return programs


def mpi4py_modules(tests, python, ranks):
    return [Modules(f"{path.stem} {count}", count, [str(python), str(tests / "main.py"), path.stem], tests)
            for count in ranks for path in sorted(tests.glob("test_*.py"))]

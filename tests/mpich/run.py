#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of MPICH's own test suite with and without libpenstock preloaded and compares which pass.

The programs are not part of Penstock. Build them from MPICH's source (its folder test/mpi is configured on its own, for any MPI):

    apt-get source mpich && mkdir suite && cd suite
    ../mpich-*/test/mpi/configure CC=mpicc.mpich MPICC=mpicc.mpich --disable-fortran --disable-cxx --enable-threads=multiple
    make -k -C util && make -k -C dtpools && make -k -C pt2pt && make -k -C comm && make -k -C threads

then: run.py --suite suite --launcher mpiexec.mpich --library build/release-mpich/lib/libpenstock.so

A program passes when it ends with status 0 and prints " No Errors", as in the suite's own runner. One whose outcome
differs is run again, alone and preloaded by turns: only what always passes alone and ever fails preloaded counts as lost.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

FOLDERS = ["pt2pt", "comm", "threads"]


@dataclass
class Test:
    folder: str
    program: str
    ranks: int
    arguments: list = field(default_factory=list)
    environment: list = field(default_factory=list)
    limit: float = 0

    @property
    def name(self):
        return " ".join([f"{self.folder}/{self.program}", str(self.ranks), *self.arguments, *self.environment])


def read_list(path, folder):
    """A line is: program, number of processes, then key=value pairs; or the name of a folder."""
    tests, folders = [], []
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) == 1:
            folders.append(words[0])
            continue
        test = Test(folder, words[0], int(words[1]))
        skip = False
        for word in words[2:]:
            key, _, value = word.partition("=")
            if key == "arg":
                test.arguments.append(value)
            elif key == "env":
                test.environment.append(value)
            elif key == "timeLimit":
                test.limit = float(value)
            elif key == "mem":  # gigabytes for each process
                skip = True
        if not skip:
            tests.append(test)
    return tests, folders


def collect(suite, folders):
    tests = []
    for folder in folders:
        for name in ("testlist", "testlist.in"):
            path = suite / folder / name
            source = suite_source(suite) / folder / name
            path = path if path.exists() else source
            if path.exists():
                found, inner = read_list(path, folder)
                tests += found
                tests += collect(suite, [f"{folder}/{entry}" for entry in inner if "@" not in entry])
                break
    return tests


def suite_source(suite):
    """Where configure was run from: the Makefile says it."""
    for line in (suite / "Makefile").read_text().splitlines():
        if line.startswith("abs_srcdir") or line.startswith("srcdir"):
            return (suite / line.split("=", 1)[1].strip()).resolve()
    return suite


def run(test, options, library):
    program = options.suite / test.folder / test.program
    preload = [f"LD_PRELOAD={library}"] if library else []
    command = [options.launcher, *options.launcher_arguments, "-n", str(test.ranks), "env", *preload,
               *test.environment, str(program), *test.arguments]
    limit = min(max(test.limit, options.timeout), options.longest)
    process = subprocess.Popen(command, cwd=program.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit)
        passed = process.returncode == 0 and "No Errors" in output
        return ("pass" if passed else "fail"), output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return "timeout", output


def compare(test, options):
    outcomes = {"alone": [], "preloaded": []}
    output = ""
    for attempt in range(options.repeat):
        for way in ("alone", "preloaded"):
            outcome, text = run(test, options, options.library if way == "preloaded" else None)
            outcomes[way].append(outcome)
            if way == "preloaded" and outcome != "pass":
                output = text
        if outcomes["alone"] == outcomes["preloaded"] and attempt == 0:
            break
    return outcomes, output


def verdict(outcomes):
    alone, preloaded = outcomes["alone"], outcomes["preloaded"]
    if len(set(alone + preloaded)) == 1:
        return "pass in both" if alone[0] == "pass" else "fail in both"
    if set(alone) == {"pass"}:
        return "lost" if "pass" not in preloaded else "unstable, at times only preloaded"
    if set(preloaded) == {"pass"} and "pass" not in alone:
        return "gained"
    return "unstable in both" if "pass" in alone + preloaded else "fail in both"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True, help="folder in which test/mpi was configured and built")
    parser.add_argument("--launcher", default="mpiexec")
    parser.add_argument("--launcher-argument", dest="launcher_arguments", action="append", default=[])
    parser.add_argument("--library", type=Path, required=True, help="libpenstock.so built for the same MPI")
    parser.add_argument("--folders", nargs="+", default=FOLDERS)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for a run that says nothing else")
    parser.add_argument("--longest", type=float, default=600, help="seconds for a run, whatever the suite's list says")
    parser.add_argument("--repeat", type=int, default=3, help="runs of a program whose outcome differs")
    parser.add_argument("--skip", nargs="+", default=[], help="programs to leave out, as folder/name")
    parser.add_argument("--only", nargs="+", default=[], help="these programs alone, as folder/name")
    parser.add_argument("--max-ranks", type=int, default=16)
    parser.add_argument("--json", type=Path, help="writes one line for each test")
    options = parser.parse_args()
    options.suite = options.suite.resolve()
    options.library = options.library.resolve()
    if not options.library.exists():
        parser.error(f"{options.library} is not there: build libpenstock first")

    counts, lost, absent, large = {}, [], [], []
    record = options.json.open("w") if options.json else None
    tests = [test for test in collect(options.suite, options.folders)
             if f"{test.folder}/{test.program}" not in options.skip
             and (not options.only or f"{test.folder}/{test.program}" in options.only)]
    if not tests:
        parser.error(f"no tests found in {options.suite}: configure and build test/mpi there first")
    for number, test in enumerate(tests, 1):
        if not (options.suite / test.folder / test.program).exists():
            absent.append(test.name)
            continue
        if test.ranks > options.max_ranks:
            large.append(test.name)
            continue
        began = time.monotonic()
        outcomes, output = compare(test, options)
        result = verdict(outcomes)
        counts[result] = counts.get(result, 0) + 1
        if result == "lost" or result.startswith("unstable, "):
            lost.append(test.name)
        print(f"[{number}/{len(tests)}] {result}: {test.name} ({time.monotonic() - began:.1f} s)", flush=True)
        if result in ("lost", "gained") or result.startswith("unstable"):
            print("    alone: " + " ".join(outcomes["alone"]) + "; preloaded: " + " ".join(outcomes["preloaded"]))
        if record:
            record.write(json.dumps({"test": test.name, "verdict": result, **outcomes,
                                     "output": output[-2000:] if result != "pass in both" else ""}) + "\n")
            record.flush()
    print()
    for result in sorted(counts):
        print(f"{result}: {counts[result]}")
    print(f"not built for this MPI: {len(absent)}")
    for name in absent:
        print(f"    {name}")
    print(f"left out, more than {options.max_ranks} ranks: {len(large)}")
    for name in large:
        print(f"    {name}")
    if not counts:
        print("nothing was built: see the log of make")
        return 1
    for name in lost:
        print(f"LOST: {name}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

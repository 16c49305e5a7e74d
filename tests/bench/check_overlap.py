#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_overlap.py MPIEXEC COMMAND: penstock bench overlap has a line for each side of each size, whose figures are those of its
samples, in every traffic. The command itself compares every byte that the messages bring."""
import json
import os
import statistics
import subprocess
import sys

ROUNDS = 2
RUNS = [  # ranks, traffic, work
    (2, "exchange", "idle"),
    (2, "window", "cpu"),
    (2, "stencil3d", "cpu"),
    (2, "gather", "cpu"),
    (2, "scatter", "cpu"),
    (3, "alltoall", "cpu"),
]


def require(holds, text, line):
    if not holds:
        sys.exit(f"{text}: {line}")


def check(line, ranks, traffic, compute):
    require((line["benchmark"], line["ranks"], line["traffic"], line["compute"]) == ("overlap", ranks, traffic, compute),
            "not of this run", line)
    for name in ("messages", "work", "both", "cpu", "overlap", "gain"):
        samples = line[name]["samples"]
        require(len(samples) == ROUNDS, f"{name} has not {ROUNDS} samples", line)
        require(abs(line[name]["median"] - statistics.median(samples)) < 1e-9, f"another median of {name}", line)
    for messages, work, both, overlap, gain in zip(*(line[name]["samples"]
                                                     for name in ("messages", "work", "both", "overlap", "gain"))):
        require(min(messages, work, both) > 0, "takes no time", line)
        require(abs(overlap - max(0, 1 - (both - work) / messages)) < 1e-9, "another overlap", line)
        require(abs(gain - (messages + work - both) / min(messages, work)) < 1e-9, "another gain", line)


def check_run(mpiexec, command, overlap, ranks, traffic, compute):
    sides = ("mpi", "overlap", "streams") if overlap == "exact" else ("mpi", "streams")
    run = subprocess.run([mpiexec, "-n", str(ranks), command, "bench", "overlap", "--json", "--traffic", traffic, "--compute", compute,
                          "--sizes", "100,70000", "--window", "3", "--rounds", str(ROUNDS), "--iterations", "2", "--tests", "1"],
                         stdout=subprocess.PIPE, text=True, env={**os.environ, "PENSTOCK_OVERLAP": overlap})
    if run.returncode != 0:
        sys.exit(f"{traffic} on {ranks} ranks ends with {run.returncode}")
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    found = [(line["bytes"], line["side"]) for line in lines]
    expected = [(size, side) for size in (100, 70000) for side in sides]
    require(found == expected, f"expected the rows {expected}", found)
    for line in lines:
        check(line, ranks, traffic, compute)


def main():
    mpiexec, command = sys.argv[1:]
    for run in RUNS:
        check_run(mpiexec, command, "off", *run)
    for run in RUNS[:3:2]:
        check_run(mpiexec, command, "exact", *run)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_lines.py MPIEXEC COMMAND: the lines of --json have one format, whatever is measured, and agree with themselves; those of
collectives have every algorithm that the library knows."""
import json
import re
import statistics
import subprocess
import sys

COMMON = ["benchmark", "device", "mode", "ranks", "bytes", "messages", "unit", "penstock", "mpi", "mpi-nonblocking", "gain_over_mpi",
          "gain_over_mpi-nonblocking", "transport", "memory", "send", "order", "pack", "library", "thread_level", "rounds",
          "iterations", "checked"]
OF_MESSAGES = ["messages", "send", "order", "pack", "checked", "mpi-nonblocking", "gain_over_mpi-nonblocking"]
ROUNDS = 3
RUNS = [  # ranks, benchmark, its options, how many messages at once
    (2, "latency", ["--sizes", "8,64"], [1, 1]),
    (2, "bw", ["--sizes", "8", "--window", "4"], [4]),
    (2, "multi-pair", ["--sizes", "8", "--window", "4"], [4]),
    (2, "message-rate", ["--sizes", "8,16", "--window", "4"], [4, 4]),
    (2, "rma", ["--sizes", "8,64"], [1, 1]),
    (1, "halo", ["--halo", "2,5"], [26, 26]),
]
COLLECTIVES = ["allreduce", "reduce-scatter", "allgather", "alltoall", "alltoallv", "bcast", "reduce", "barrier"]


def fail(text, line):
    sys.exit(f"{text}: {line}")


def check_side(line, side):
    figure = line[side]
    if len(figure["samples"]) != ROUNDS:
        fail(f"{side} has not {ROUNDS} samples", line)
    if abs(figure["median"] - statistics.median(figure["samples"])) > 1e-9 * figure["median"]:
        fail(f"the median of {side} is not that of its samples", line)
    if not figure["low"] <= figure["median"] <= figure["high"]:
        fail(f"the quartiles of {side} are not around its median", line)


def check_common(line, keys, sides):
    missing = [key for key in keys if key not in line]
    if missing:
        fail(f"without {missing}", line)
    for side in sides:
        check_side(line, side)
    ours, theirs = line["penstock"]["median"], line["mpi"]["median"]
    gain = theirs / ours if line["unit"] == "us" else ours / theirs
    if abs(gain - line["gain_over_mpi"]) > 1e-9 * gain:
        fail("the gain is not that of the medians", line)


def check_line(line, ranks, messages):
    check_common(line, COMMON, ("penstock", "mpi", "mpi-nonblocking"))
    if (line["ranks"], line["messages"]) != (ranks, messages):
        fail(f"expected {ranks} ranks and {messages} messages", line)
    if line["benchmark"] in ("halo", "message-rate") and not line["caller_ns"]["median"] > 0:
        fail("nothing costs the caller", line)


def bench(mpiexec, command, ranks, *options):
    words = [mpiexec, "-n", str(ranks), command, "bench", *options, "--rounds", str(ROUNDS), "--iterations", "4", "--json"]
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def lines_of(run):
    if run.returncode != 0:
        sys.exit(f"{' '.join(run.args)}:\n{run.stdout}{run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def check_messages(mpiexec, command):
    for ranks, benchmark, options, messages in RUNS:
        run = bench(mpiexec, command, ranks, benchmark, *options, "--baseline", "mpi-nonblocking")
        lines = [line for line in lines_of(run) if line["benchmark"] != "cost"]
        if len(lines) != len(messages):
            sys.exit(f"bench {benchmark}: {len(lines)} lines in place of {len(messages)}")
        for line, count in zip(lines, messages):
            check_line(line, ranks, count)


def check_algorithms(mpiexec, command, collective):
    run = bench(mpiexec, command, 2, collective, "--algorithm", "all", *([] if collective == "barrier" else ["--max", "8"]))
    lines = lines_of(run)
    for line in lines:
        check_common(line, [key for key in COMMON if key not in OF_MESSAGES], ("penstock", "mpi", "mpi-alone"))
        if line["algorithm"] != line["wished_algorithm"]:
            fail("another algorithm serves", line)
    refused = re.findall("^no rows of (.*?):", run.stderr, re.MULTILINE)
    known = re.search("there is ([^;]*)", bench(mpiexec, command, 2, collective, "--algorithm", "none").stderr).group(1).split(", ")
    if sorted([line["algorithm"] for line in lines] + refused) != sorted(known):
        sys.exit(f"bench {collective} --algorithm all has others than {known}: {run.stdout}{run.stderr}")


def check_channels(mpiexec, command):
    run = bench(mpiexec, command, 2, "channel", "--parts", "grids,release")
    lines = lines_of(run)
    sides = [line["side"] for line in lines]
    if not lines or any(sides.count(side) != 4 for side in ("channel", "pairs", "mpi")):
        sys.exit(f"bench channel has not 4 lines of each side: {sides}")
    for line in lines:
        check_side(line, "half")
        if ("release" in line) != (line["part"] == "release"):
            fail("releases are measured where they are asked for", line)


def check_bags(mpiexec, command):
    lines = lines_of(bench(mpiexec, command, 2, "bag", "--sizes", "8"))
    found = [(line["part"], line["side"]) for line in lines]
    expected = [("latency", "bag"), ("latency", "pairs"), ("latency", "mpi-any-source"), ("rate", "bag"), ("rate", "mpi-any-source"),
                ("pool", "bag"), ("pool", "mpi-any-source")]
    if found != expected:
        sys.exit(f"bench bag has the lines {found}")
    for line in lines:
        check_side(line, "message")


def main():
    mpiexec, command = sys.argv[1:]
    check_messages(mpiexec, command)
    check_channels(mpiexec, command)
    check_bags(mpiexec, command)
    for collective in COLLECTIVES:
        check_algorithms(mpiexec, command, collective)


if __name__ == "__main__":
    main()

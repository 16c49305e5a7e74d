#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_tune.py MPIEXEC COMMAND: `penstock tune collectives` writes down the fastest row of its table, and a program with
PENSTOCK_TUNE takes that, or whatever else the file says; the log tells of it, and of widths; wrong use is refused with a line that
says what is wrong."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SIZES = [8, 64]
COLLECTIVES = {"allreduce": SIZES, "alltoall": SIZES, "barrier": [0]}
QUICK = ["--rounds", "2", "--iterations", "4"]
MPIEXEC, COMMAND = sys.argv[1:]


def penstock(*words, ranks=2, **environment):
    line = [MPIEXEC, "-n", str(ranks), COMMAND, *map(str, words)]
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def whole(run):
    if run.returncode != 0:
        sys.exit(f"{' '.join(run.args)}:\n{run.stdout}{run.stderr}")
    return run.stdout


def rows_of(table):
    """By collective and bytes: the medians by algorithm, and which is marked."""
    medians, fastest = {}, {}
    for line in table.splitlines():
        if line.startswith("#"):
            continue
        collective, size, algorithm, median = line.split()[:4]
        medians.setdefault((collective, int(size)), {})[algorithm] = float(median)
        if line.endswith("*"):
            fastest.setdefault((collective, int(size)), []).append(algorithm)
    return medians, fastest


def require(condition, text):
    if not condition:
        sys.exit(text)


def check_file(file, medians, fastest):
    expected = {(collective, size) for collective, sizes in COLLECTIVES.items() for size in sizes}
    require(set(medians) == set(fastest) == expected, f"rows of {sorted(medians)}, marked {sorted(fastest)}")
    require(all(len(each) == 1 for each in fastest.values()), f"marked: {fastest}")
    told = {(entry["collective"], entry["up_to_bytes"]): entry for entry in file["entries"]}
    require(len(told) == len(file["entries"]) and set(told) == expected, f"entries: {file}")
    for key, entry in told.items():
        require([entry["algorithm"]] == fastest[key], f"{key}: {entry}, marked is {fastest[key]}")
        require(medians[key][entry["algorithm"]] == min(medians[key].values()), f"{key}: {entry} of {medians[key]}")
        require((entry["memory"], entry["ranks"], entry["nodes"], entry["ranks_a_node"]) == ("host", 2, 1, 2), f"{key}: {entry}")
        require(f"{entry['measured']['median_us']:.2f}" == f"{medians[key][entry['algorithm']]:.2f}", f"{key}: {entry}")
    conditions = file["measured_on"]
    require((conditions["ranks"], conditions["nodes"]) == (2, 1) and conditions["mpi"] and conditions["host"], f"{conditions}")


def check_taken(path):
    """Each collective takes what the file says, without a width."""
    entries = json.loads(path.read_text())["entries"]
    for collective, sizes in COLLECTIVES.items():
        options = [] if collective == "barrier" else ["--sizes", ",".join(map(str, sizes))]
        run = penstock("bench", collective, *options, *QUICK, "--baseline", "mpi-alone", "--json", PENSTOCK_TUNE=str(path))
        taken = [line["algorithm"] for line in map(json.loads, whole(run).splitlines())]
        said = [entry["algorithm"].split(":")[0] for entry in entries if entry["collective"] == collective]
        require(taken == said, f"{path.read_text()} says {said} of {collective}, taken are {taken}")


def doctor(file, medians):
    """Another algorithm that serves, in every entry."""
    for entry in file["entries"]:
        name = entry["algorithm"].split(":")[0]
        others = medians[entry["collective"], entry["up_to_bytes"]]
        entry["algorithm"] = next(other for other in others if other.split(":")[0] != name)
    return file


def check_log(path):
    """One line a request, of rank 0 alone, with what serves, why, and why not the rest."""
    bench = ["bench", "allreduce", "--sizes", "8", *QUICK, "--baseline", "mpi-alone"]
    entries = json.loads(path.read_text())["entries"]
    said = next(each["algorithm"] for each in entries if (each["collective"], each["up_to_bytes"]) == ("allreduce", 8))
    run = penstock(*bench, PENSTOCK_TUNE=str(path), PENSTOCK_LOG="info")
    whole(run)
    lines = re.findall(r"allreduce 1 \(MPI_COMM_WORLD, 8 bytes\): (\S+), by PENSTOCK_TUNE; also served by ", run.stderr)
    require(lines == [said], f"{said} in the log: {run.stderr}")


def check_groups():
    """A node of four ranks has as many leaders as PENSTOCK_COLL_GROUPS allows, or as a width says."""
    bench = ["bench", "alltoall", "--sizes", "8", *QUICK, "--baseline", "mpi-alone", "--algorithm"]
    for wish, groups, expected in (("multileader", "1", "multileader:4"), ("multileader:2", "1", "multileader:2")):
        run = penstock(*bench, wish, ranks=4, PENSTOCK_COLL_GROUPS=groups, PENSTOCK_LOG="info")
        whole(run)
        require(f"8 bytes): {expected}, as it was asked for; also served by pairwise:1, nonblocking," in run.stderr,
                f"{wish} with {groups} groups: {run.stderr}")


def check_refused(text, *words, **environment):
    run = penstock(*words, **environment)
    require(run.returncode != 0 and text in run.stderr, f"{' '.join(map(str, words))} says, with {run.returncode}: {run.stderr}")


def check_wrong_use(folder):
    tune = ["tune", "collectives", "--collectives", "allreduce"]
    check_refused("What can stand there: collectives", "tune", "colectives")
    check_refused("allredcue not in {", "tune", "collectives", "--collectives", "allredcue")
    check_refused("--sizes: -5 is not a whole number", *tune, "--sizes", "-5")
    check_refused("--sizes: has none for allreduce: those of sums are multiples of 8", *tune, "--sizes", "1,12")
    check_refused("nowhere/file cannot be written: No such file", *tune, "--output", folder / "nowhere/file")
    check_refused("PENSTOCK_COLL forces algorithms", *tune, "--output", folder / "file", PENSTOCK_COLL="allreduce:doubling")
    require(not (folder / "file").exists(), "a file was written that says nothing")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "tune.json"
        sizes = ",".join(map(str, SIZES))
        run = penstock("tune", "collectives", "--collectives", ",".join(COLLECTIVES), "--sizes", f"{sizes},8", *QUICK,
                       "--output", path)
        medians, fastest = rows_of(whole(run))
        file = json.loads(path.read_text())
        check_file(file, medians, fastest)
        check_taken(path)
        path.write_text(json.dumps(doctor(file, medians)))
        check_taken(path)
        check_log(path)
        check_groups()
        path.write_text(re.sub('"algorithm": "[^"]*"', '"algorithm": "magic"', path.read_text()))
        check_refused("has no algorithm 'magic'", "bench", "allreduce", "--sizes", "8", PENSTOCK_TUNE=str(path))
        check_wrong_use(folder)


if __name__ == "__main__":
    main()

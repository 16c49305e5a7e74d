#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Steps a second of exchanges over `ofi`, for each throttling policy and limit of deferred entries, beside plain MPI, and what the entries did.

    bench/throttle.py build/release-mpich --ranks 2 > table.md
    bench/throttle.py build/release-mpich --ranks 4 --entries 0,8,500 -- --halo 32 --iterations 500
    bench/throttle.py build/release-mpich --ranks 4 --calls windows

Messages are those of `penstock bench halo`, with 26 neighbours. Windows are those of `penstock faces --comm stream-rma`, which uses nothing
else, so that the starts counted are epochs. The settings take turns, so that a slow moment of the machine does not hit one of them alone; every
figure is the median over the turns, with the least and the most of the speeds. Words after -- go to the program.
"""
import argparse
import pathlib
import re
import statistics
import sys

from compare import Build, json_lines, split_words

POLICIES = ["application", "static", "adaptive"]
# For each kind of calls: the program, Penstock's side and plain MPI's in its lines, and its words unless others are given.
PROGRAMS = {
    "messages": (["bench", "halo"], "penstock", "mpi", ["--halo", "64", "--iterations", "100", "--rounds", "1"]),
    "windows": (["faces", "--communication-only", "--comm", "stream-rma,mpi-rma"], "stream-rma", "mpi-rma",
                ["--elements", "4,4,4", "--points", "8", "--inner", "100", "--middle", "2"]),
}
# What the library says at its end on each rank.
COUNTED = re.compile(r"ofi \((.*)\): (\d+) starts posted, (\d+) of them waited for entries, at most (\d+) entries of \d+ at once; "
                     r"(\d+) starts carried out without")


def run(build, options, words, policy, entries):
    """Steps a second of both sides, and the starts of all ranks."""
    program, ours, theirs, _ = PROGRAMS[options.calls]
    settings = {"PENSTOCK_OFI_THROTTLE": policy, "PENSTOCK_OFI_ENTRIES": str(entries), "PENSTOCK_LOG": "info", "PENSTOCK_LOG_FILE": ""}
    output, log = build.start(options.ranks, [*program, "--transport", "ofi", *words, "--json"], settings)
    line = json_lines(output)[-1]
    counted = COUNTED.findall(log)
    if not counted:
        sys.exit(f"throttle.py: {options.tree} has no `ofi`:\n{log}")
    providers, posted, waited, most, without = zip(*counted)
    return {"ours": 1e6 / line[ours]["median"], "theirs": 1e6 / line[theirs]["median"], "line": line, "provider": providers[0],
            "posted": sum(map(int, posted)), "waited": sum(map(int, waited)), "without": sum(map(int, without)), "most": max(map(int, most))}


def collect(options, words):
    """All runs of all turns, by limit and policy."""
    build = Build(options.tree)
    runs = {(entries, policy): [] for entries in options.entries for policy in POLICIES}
    for _ in range(options.turns):
        for (entries, policy), some in runs.items():
            some.append(run(build, options, words, policy, entries))
    return runs


def speed(runs, side):
    values = [one[side] for one in runs]
    return f"{statistics.median(values):.0f} ({min(values):.0f} - {max(values):.0f})"


def count(runs, what):
    return f"{statistics.median(one[what] for one in runs):.0f}"


def title(options, words, one):
    calls = "" if options.calls == "messages" else f" --calls {options.calls}"
    what = f"{one['line']['bytes']} bytes in 26 messages a rank and step" if "bytes" in one["line"] else "an epoch towards each neighbour a step"
    return (f"`bench/throttle.py BUILD_DIR --ranks {options.ranks} --turns {options.turns}{calls} -- {' '.join(words)}`: steps a second, "
            f"{one['line']['library']}, provider {one['provider']}, {what}. Starts are those of all ranks in a run, entries those of one rank.")


def print_table(runs, options, words):
    everything = [one for some in runs.values() for one in some]
    print(f"{title(options, words, everything[0])}\n")
    print("| entries | policy | steps a second | starts posted | that waited for entries | carried out without | most entries in use |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for (entries, policy), some in runs.items():
        counts = " | ".join(count(some, what) for what in ("posted", "waited", "without", "most"))
        print(f"| {entries} | `{policy}` | {speed(some, 'ours')} | {counts} |")
    print(f"\nPlain MPI in the same runs: {speed(everything, 'theirs')}.")


def main():
    own, words = split_words(sys.argv[1:])
    defaults = "; ".join(f"for {calls}: {' '.join(program[3])}" for calls, program in PROGRAMS.items())
    parser = argparse.ArgumentParser(description="Steps a second for each throttling policy and limit of entries, and what became of the starts.",
                                     epilog=f"words after -- go to the program (default {defaults})")
    parser.add_argument("tree", type=pathlib.Path, metavar="BUILD_DIR")
    parser.add_argument("--ranks", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--calls", choices=PROGRAMS, default="messages", help="default: %(default)s")
    parser.add_argument("--entries", type=lambda text: [int(word) for word in text.split(",")], default=[8, 64, 500],
                        help="limits, with commas (default: 8,64,500)")
    parser.add_argument("--turns", type=int, default=3, help="default: %(default)s")
    options = parser.parse_args(own)
    words = words or PROGRAMS[options.calls][3]
    print_table(collect(options, words), options, words)


if __name__ == "__main__":
    main()

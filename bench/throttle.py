#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Steps a second of a 26-neighbour exchange over `ofi`, for each throttling policy and limit of deferred entries, beside plain MPI.

    bench/throttle.py build/release-mpich --ranks 2 > table.md
    bench/throttle.py build/release-mpich --ranks 4 --entries 0,8,500 -- --halo 32 --iterations 500

The settings take turns, so that a slow moment of the machine does not hit one of them alone; every figure is the median over the turns, with
the least and the most. Words after -- go to `penstock bench halo`.
"""
import argparse
import pathlib
import statistics
import sys

from compare import Build, split_words

POLICIES = ["application", "static", "adaptive"]
CONFIGURATION = ["--halo", "64", "--iterations", "100", "--rounds", "1"]


def run(build, ranks, policy, entries, words):
    """Steps a second of Penstock and of plain MPI, and the line that says so."""
    settings = {"PENSTOCK_OFI_THROTTLE": policy, "PENSTOCK_OFI_ENTRIES": str(entries)}
    lines = build.run(ranks, ["halo", "--transport", "ofi", *words], settings)
    return {side: 1e6 / lines[-1][side]["median"] for side in ("penstock", "mpi")} | {"line": lines[-1]}


def collect(options, words):
    """All runs of all turns, by policy and limit."""
    build = Build(options.tree)
    runs = {(policy, entries): [] for policy in POLICIES for entries in options.entries}
    for _ in range(options.turns):
        for (policy, entries), some in runs.items():
            some.append(run(build, options.ranks, policy, entries, words))
    return runs


def figure(runs, side):
    values = [one[side] for one in runs]
    return f"{statistics.median(values):.0f} ({min(values):.0f} - {max(values):.0f})"


def print_table(runs, options, words):
    everything = [one for some in runs.values() for one in some]
    line = everything[0]["line"]
    print(f"`bench/throttle.py BUILD_DIR --ranks {options.ranks} --turns {options.turns} -- {' '.join(words)}`: steps a second, {line['library']}, "
          f"{line['bytes']} bytes in 26 messages a rank and step.\n")
    print("| entries | " + " | ".join(f"`{policy}`" for policy in POLICIES) + " |")
    print("| ---: |" + " ---: |" * len(POLICIES))
    for entries in options.entries:
        print(f"| {entries} | " + " | ".join(figure(runs[policy, entries], "penstock") for policy in POLICIES) + " |")
    print(f"\nPlain MPI in the same runs: {figure(everything, 'mpi')}.")


def main():
    own, arguments = split_words(sys.argv[1:])
    arguments = arguments or CONFIGURATION
    parser = argparse.ArgumentParser(description="Steps a second for each throttling policy and limit of entries.",
                                     epilog=f"words after -- go to `penstock bench halo` (default: {' '.join(CONFIGURATION)})")
    parser.add_argument("tree", type=pathlib.Path, metavar="BUILD_DIR")
    parser.add_argument("--ranks", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--entries", type=lambda text: [int(word) for word in text.split(",")], default=[8, 64, 500],
                        help="limits, with commas (default: 8,64,500)")
    parser.add_argument("--turns", type=int, default=3, help="default: %(default)s")
    options = parser.parse_args(own)
    print_table(collect(options, arguments), options, arguments)


if __name__ == "__main__":
    main()

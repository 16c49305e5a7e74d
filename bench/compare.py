#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `penstock bench` of several builds, one for each MPI, and compares Penstock with the best of their plain MPI.

    bench/compare.py build/release-mpich build/release-openmpi > docs/results/latency.md
    bench/compare.py build/release-mpich build/release-openmpi -- bw --memory malloc
    bench/compare.py --ranks 4 --lines halo.jsonl build/release-mpich build/release-openmpi -- halo --baseline mpi-nonblocking

The builds take turns, so that a slow moment of the machine does not hit one of them alone; every figure is the median over the turns
of the medians of a run's rounds. Words after -- go to `penstock bench`; the default is `latency`.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys


# The sides that are plain MPI, and what a table calls them behind the MPI's name.
PLAIN = {"mpi": "", "mpi-nonblocking": ", nonblocking"}


class Build:
    """A build tree: its command, and the launcher of its MPI."""

    def __init__(self, tree):
        self.command = pathlib.Path(tree) / "bin" / "penstock"
        cache = pathlib.Path(tree) / "CMakeCache.txt"
        if not cache.exists():
            sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {tree} is no build tree: build one by tools/build release-mpich, say")
        cache = cache.read_text(encoding="utf-8")
        self.launcher = re.search(r"^MPIEXEC_EXECUTABLE:\w+=(.+)$", cache, re.MULTILINE).group(1)

    def start(self, ranks, words, settings=None):
        """What one run of the command has printed, and what it has said on standard error."""
        command = [self.launcher, "-n", str(ranks), str(self.command), *words]
        run = subprocess.run(command, env=os.environ | (settings or {}), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             check=False)
        if run.returncode != 0:
            sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {' '.join(command)} failed:\n{run.stdout}{run.stderr}")
        return run.stdout, run.stderr

    def run(self, ranks, arguments):
        """The JSON lines of one run of `penstock bench`."""
        return json_lines(self.start(ranks, ["bench", *arguments, "--json"])[0])


def json_lines(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def collect(builds, ranks, arguments, repeats):
    """All lines of all turns."""
    lines = []
    for turn in range(repeats):
        for build in builds:
            print(f"turn {turn + 1} of {repeats}: {build.command}", file=sys.stderr)
            lines += build.run(ranks, arguments)
    return lines


def median_of(lines, side, **wanted):
    """The median over the turns of one side's figure, or None."""
    values = [line[side]["median"] for line in lines
              if side in line and all(line.get(key) == value for key, value in wanted.items())]
    return statistics.median(values) if values else None


def print_rows(rows):
    for row in rows:
        print("| " + " | ".join(row) + " |")


def print_sizes(lines):
    """One row per message size: plain MPIs, Penstock on each of them, and the ratios to the best plain MPI."""
    sized = [line for line in lines if "bytes" in line]
    libraries = list(dict.fromkeys(line["library"] for line in sized))
    unit = sized[0]["unit"]
    best_of = min if unit == "us" else max
    plain_sides = [side for side in PLAIN if any(side in line for line in sized)]
    caller = any("caller_ns" in line for line in sized)
    print_rows([["bytes"] + [f"{name}{PLAIN[side]}, {unit}" for name in libraries for side in plain_sides]
                + [f"Penstock on {name}, {unit}" for name in libraries] + [f"ratio on {name}" for name in libraries]
                + ([f"to the caller on {name}, ns" for name in libraries] if caller else []),
                ["---:"] * (1 + (2 + len(plain_sides) + caller) * len(libraries))])
    for size in dict.fromkeys(line["bytes"] for line in sized):
        plain = [median_of(sized, side, bytes=size, library=name) for name in libraries for side in plain_sides]
        ours = [median_of(sized, "penstock", bytes=size, library=name) for name in libraries]
        best = best_of(plain)
        costs = [median_of(sized, "caller_ns", bytes=size, library=name) for name in libraries] if caller else []
        print_rows([[str(size)] + [f"{value:.2f}" for value in plain + ours] + [f"{value / best:.2f}" for value in ours]
                    + [f"{value:.1f}" for value in costs]])


def print_costs(lines):
    """What belongs to no size: one row per cost."""
    costs = [line for line in lines if line["benchmark"] == "cost"]
    if not costs:
        return
    libraries = list(dict.fromkeys(line["library"] for line in costs))
    print("\nCosts beside the latency:\n")
    print_rows([["what"] + libraries + ["unit"], ["---"] + ["---:"] * len(libraries) + ["---"]])
    for name in dict.fromkeys(line["name"] for line in costs):
        figures = [median_of(costs, "penstock", name=name, library=library) for library in libraries]
        unit = next(line["unit"] for line in costs if line["name"] == name)
        print_rows([[name] + [f"{figure:.2f}" for figure in figures] + [unit]])


def processor():
    """The processor's name, for the head of the table."""
    info = pathlib.Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.+)$", info.read_text(encoding="utf-8"), re.MULTILINE) if info.exists() else []
    return names[0] if names else platform.machine()


def print_report(lines, arguments, repeats):
    first = next(line for line in lines if "bytes" in line)
    print(f"`penstock bench {' '.join(arguments)}`, {datetime.date.today()}: {first['ranks']} rank(s), {len(os.sched_getaffinity(0))} cores of "
          f"{processor()}, transport {first['transport']}, {first['send']} sends, Penstock's buffers {first['memory']}, "
          f"{first['thread_level']}; medians of {repeats} turns of {first['rounds']} interleaved rounds. "
          "The ratio is Penstock to the better plain MPI.\n")
    print_sizes(lines)
    print_costs(lines)


def split_words(words):
    """What stands before --, and what behind it."""
    split = words.index("--") if "--" in words else len(words)
    return words[:split], words[split + 1:]


def main():
    own, arguments = split_words(sys.argv[1:])
    arguments = arguments or ["latency"]
    parser = argparse.ArgumentParser(description="Compares Penstock with the best plain MPI of several builds.",
                                     epilog="words after -- go to `penstock bench` (default: latency)")
    parser.add_argument("trees", nargs="+", metavar="BUILD_DIR")
    parser.add_argument("--ranks", type=int, default=2, help="of each run (default: %(default)s)")
    parser.add_argument("--lines", metavar="FILE", help="also write the JSON lines of all turns there, for `penstock plot`")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each build (default: %(default)s)")
    options = parser.parse_args(own)
    lines = collect([Build(tree) for tree in options.trees], options.ranks, arguments, options.repeats)
    if options.lines:
        pathlib.Path(options.lines).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    print_report(lines, arguments, options.repeats)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What gaps cost: messages in rows as a vector datatype, beside as many bytes without gaps, packed on the stream, and MPI's own packing.

    bench/rows.py build/release-mpich build/release-openmpi --lines rows.jsonl > table.md
    bench/rows.py build/release-mpich --rows 64,4096 -- --memory malloc

Every figure is the median of the rounds of one run, in us, the first two with their quartiles; `x` is Penstock's time with gaps by its
time without. Words after -- go to `penstock bench latency`.
"""
import argparse
import json
import pathlib
import sys

from compare import Build, split_words

CONFIGURATION = ["--sizes", "64,1024,16384,262144,4194304,16777216", "--rounds", "5", "--iterations", "60"]
SIDES = {"penstock": "with gaps", "contiguous": "without gaps", "packed": "packed on the stream", "mpi": "MPI"}


def numbers(text):
    return [int(word) for word in text.split(",")]


def collect(options, words):
    lines = []
    for tree in options.trees:
        build = Build(tree)
        for row in options.rows:
            print(f"{tree}, rows of {row} bytes", file=sys.stderr)
            baselines = "contiguous,packed,mpi" if "cuda" in words else "contiguous,packed"  # the host's has MPI anyway
            run = build.run(2, ["latency", "--rows", str(row), "--baseline", baselines, *words])
            lines += [line for line in run if "row" in line]
    return lines


def print_table(lines):
    print("| MPI | row | bytes | " + " | ".join(SIDES.values()) + " | x |")
    print("| :-- | ---: | ---: |" + " ---: |" * (len(SIDES) + 1))
    for line in lines:
        ours, others = list(SIDES)[:2], list(SIDES)[2:]
        figures = [f"{line[side]['median']:.2f} ({line[side]['low']:.2f} - {line[side]['high']:.2f})" for side in ours]
        figures += [f"{line[side]['median']:.2f}" for side in others]
        x = line["penstock"]["median"] / line["contiguous"]["median"]
        print(f"| {line['library']} | {line['row']} | {line['bytes']} | {' | '.join(figures)} | {x:.2f} |")


def main():
    own, words = split_words(sys.argv[1:])
    parser = argparse.ArgumentParser(description="What gaps cost.",
                                     epilog=f"words after -- go to `penstock bench latency`, behind {' '.join(CONFIGURATION)}")
    parser.add_argument("trees", type=pathlib.Path, nargs="+", metavar="BUILD_DIR")
    parser.add_argument("--rows", type=numbers, default=[8, 64, 256, 1024, 4096, 65536], help="bytes, with commas")
    parser.add_argument("--lines", type=pathlib.Path, help="keeps the JSON lines")
    options = parser.parse_args(own)
    lines = collect(options, CONFIGURATION + words)
    if options.lines:
        options.lines.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    print_table(lines)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the tables that `penstock life` wrote: one group of bars per file, one bar per variant.

    plot.py life-mpich.json life-openmpi.json --output table.png
"""
import argparse
import json
import sys

import matplotlib

matplotlib.use("Agg")  # draws to files, needs no display
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = ["#8a8d91", "#2f6d9e", "#d1803a"]


def read_tables(paths):
    tables = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            tables.append(json.load(file))
    return tables


def label_of(row, table):
    """The time, and what it is worth where that may be said."""
    text = f"{row['us_per_step']['median']:.2f} us"
    if "speed_up" in row and row is not table["rows"][0]:
        text += f"\n{row['speed_up']:.2f} x"
    return text


def draw_variant(axes, tables, index, count):
    """The bars of one variant, with its quartiles as error bars."""
    width = 0.8 / count
    rows = [table["rows"][index] for table in tables]
    places = [group + (index - (count - 1) / 2) * width for group in range(len(tables))]
    medians = [row["us_per_step"]["median"] for row in rows]
    below = [row["us_per_step"]["median"] - row["us_per_step"]["low"] for row in rows]
    above = [row["us_per_step"]["high"] - row["us_per_step"]["median"] for row in rows]
    axes.bar(places, medians, width * 0.94, yerr=[below, above], capsize=4, color=COLOURS[index % len(COLOURS)],
             label=rows[0]["variant"])
    for place, row, table in zip(places, rows, tables):
        axes.annotate(label_of(row, table), (place, row["us_per_step"]["high"]), xytext=(0, 5),
                      textcoords="offset points", ha="center", fontsize=9)


def draw(tables, path):
    figure, axes = plt.subplots(figsize=(2.5 + 3.2 * len(tables), 4.8))
    count = len(tables[0]["rows"])
    for index in range(count):
        draw_variant(axes, tables, index, count)
    first = tables[0]
    axes.set_title(f"Life, {first['pattern']}, {first['cells'][0]} x {first['cells'][1]} cells", loc="left")
    axes.set_ylabel("us a step, median and quartiles (less is better)")
    axes.set_xticks(range(len(tables)), [f"{table['mpi']}\n{table['ranks']} rank(s)" for table in tables])
    axes.margins(y=0.22)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=count, fontsize=9)
    figure.savefig(path, dpi=130, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description="Draws the tables that penstock life wrote.")
    parser.add_argument("tables", nargs="+", metavar="life.json")
    parser.add_argument("--output", default="table.png", help="the picture to write (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        draw(read_tables(arguments.tables), arguments.output)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"plot.py: {error}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The tables of `penstock life` as bars: one group for each table, one bar for each variant."""
from penstock_plot import style
from penstock_plot.records import InputError
from penstock_plot.style import plt


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
    axes.bar(places, medians, width * 0.94, yerr=[below, above], capsize=3, error_kw={"elinewidth": 1.1},
             color=style.COLOURS[index % len(style.COLOURS)], label=rows[0]["variant"])
    for place, row, table in zip(places, rows, tables):
        axes.annotate(label_of(row, table), (place, row["us_per_step"]["high"]), xytext=(0, 5),
                      textcoords="offset points", ha="center", fontsize=9)


def draw(tables, path, title=None):
    if not all("rows" in table for table in tables):
        raise InputError("life is drawn from the tables that `penstock life` writes: life.json")
    count = len(tables[0]["rows"])
    if any(len(table["rows"]) != count for table in tables):
        raise InputError("the tables have different numbers of variants")
    figure, axes = plt.subplots(figsize=(2.5 + 3.2 * len(tables), 4.8))
    for index in range(count):
        draw_variant(axes, tables, index, count)
    first = tables[0]
    axes.set_title(title or f"Life, {first['pattern']}, {first['cells'][0]} x {first['cells'][1]} cells")
    axes.set_ylabel("us a step, median and quartiles (less is better)")
    axes.set_xticks(range(len(tables)), [f"{table['mpi']}\n{table['ranks']} rank(s)" for table in tables])
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.22)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=count)
    style.save(figure, path)

# SPDX-License-Identifier: Apache-2.0
"""Strong scaling: the speed-up over the number of ranks, from the tables of `penstock life --json` and its like."""
from penstock_plot import style
from penstock_plot.records import InputError, is_figure
from penstock_plot.statistics import pooled, ratio_interval
from penstock_plot.style import plt


def points_of(tables):
    """Figures of a step by variant and number of ranks; the variants in the order in which they come."""
    points = {}
    for table in tables:
        if "rows" not in table or "ranks" not in table:
            raise InputError("scaling is drawn from tables with ranks and rows, as `penstock life --json` prints them")
        for row in table["rows"]:
            if not is_figure(row.get("us_per_step")):
                raise InputError(f"the row of {row.get('variant')} has no us_per_step")
            points.setdefault(row["variant"], {}).setdefault(table["ranks"], []).append(row["us_per_step"])
    return {name: {ranks: pooled(figures) for ranks, figures in of.items()} for name, of in points.items()}


def speed_up(base, figure):
    """How many times as fast as `base`, and the interval of it."""
    if "samples" in base and "samples" in figure:
        return ratio_interval(base["samples"], figure["samples"])
    return base["median"] / figure["median"], base["low"] / figure["high"], base["high"] / figure["low"]


def check_problem(tables):
    """Strong scaling is of one problem."""
    problems = {(table.get("pattern"), tuple(table.get("cells", []))) for table in tables}
    if len(problems) > 1:
        raise InputError(f"the tables are of several problems, so that their speed-ups cannot be compared: {sorted(map(str, problems))}")


def draw_variant(axes, name, points, base, index, count):
    # Side by side, so that intervals do not hide each other.
    shift = 1 + 0.025 * (index - (count - 1) / 2)
    ranks = sorted(points)
    values = [speed_up(base, points[rank]) for rank in ranks]
    axes.errorbar([rank * shift for rank in ranks], [value for value, _, _ in values],
                  yerr=[[max(0.0, value - low) for value, low, _ in values], [max(0.0, high - value) for value, _, high in values]],
                  color=style.COLOURS[index % len(style.COLOURS)], marker=style.MARKERS[index % len(style.MARKERS)],
                  capsize=3, elinewidth=1.1, label=name)


def draw(tables, path, title=None):
    points = points_of(tables)
    check_problem(tables)
    baseline = next(iter(points))
    first = min(points[baseline])
    base = points[baseline][first]
    sampled = all("samples" in figure for of in points.values() for figure in of.values())
    figure, axes = plt.subplots(figsize=(6.2, 4.4), layout="constrained")
    ranks = sorted({rank for of in points.values() for rank in of})
    axes.plot(ranks, [rank / first for rank in ranks], color=style.GREY, linewidth=1, linestyle=(0, (4, 3)), label="ideal")
    for index, (name, of) in enumerate(points.items()):
        draw_variant(axes, name, of, base, index, len(points))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(ranks, [str(rank) for rank in ranks])
    axes.minorticks_off()
    style.plain_numbers(axes.yaxis)
    axes.set_xlabel("ranks")
    axes.set_ylabel(f"speed-up over {baseline} on {first} rank{'' if first == 1 else 's'}")
    cells = tables[0].get("cells")
    problem = f"{tables[0].get('pattern', '')}, {' x '.join(map(str, cells))} cells" if cells else ""
    interval = "bars: 95 % of resampled rounds" if sampled else "bars: quartiles"
    axes.set_title(title or f"Strong scaling: {problem}; {interval}")
    axes.legend(loc="upper left")
    style.save(figure, path)

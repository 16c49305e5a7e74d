# SPDX-License-Identifier: Apache-2.0
"""Strong scaling: the speed-up over the number of ranks, from the tables of `penstock life --json` and its like."""
from penstock_plot import style
from penstock_plot.records import InputError, is_figure, sides_of
from penstock_plot.statistics import pooled, ratio_interval
from penstock_plot.style import plt


# What may differ between tables of one problem.
CONDITIONS = {"ranks", "rank_grid", "grid", "mpi", "library", "thread_level", "transport", "oversubscribed", "rounds", "rows", "compute_us", "largest_bytes",
              "published"}


def variants_of(table):
    """The figure of a step by variant: Life's tables have rows, those of other programs a key for each."""
    if "rows" in table:
        return {row.get("variant"): row.get("us_per_step") for row in table["rows"]}
    return {name: table[name] for name in sides_of(table)} if "of" in table else {}


def points_of(tables):
    """Figures of a step by variant and number of ranks; the variants in the order in which they come."""
    points = {}
    for table in tables:
        variants = variants_of(table)
        if "ranks" not in table or not variants or not all(map(is_figure, variants.values())):
            raise InputError("scaling is drawn from tables of times a step, as `penstock life --json` prints them")
        for name, figure in variants.items():
            points.setdefault(name, {}).setdefault(table["ranks"], []).append(figure)
    return {name: {ranks: pooled(figures) for ranks, figures in of.items()} for name, of in points.items()}


def problem_of(table):
    return {key: value for key, value in table.items() if key not in CONDITIONS and not is_figure(value)}


def speed_up(base, figure):
    """How many times as fast as `base`, and the interval of it."""
    if "samples" in base and "samples" in figure:
        return ratio_interval(base["samples"], figure["samples"])
    return base["median"] / figure["median"], base["low"] / figure["high"], base["high"] / figure["low"]


def check_problem(tables):
    """Strong scaling is of one problem."""
    for table in tables:
        different = {key for key in problem_of(table) | problem_of(tables[0]) if table.get(key) != tables[0].get(key)}
        if different:
            raise InputError(f"the tables are of several problems, so that their speed-ups cannot be compared: they differ in {', '.join(sorted(different))}")


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
    problem = f"{tables[0].get('pattern', tables[0].get('benchmark', ''))}, {' x '.join(map(str, cells))} cells" if cells else tables[0].get("benchmark", "")
    varies = any(figure["low"] < figure["high"] for of in points.values() for figure in of.values())
    interval = ("; bars: 95 % of resampled rounds" if sampled else "; bars: quartiles") if varies else ""
    axes.set_title(title or f"Strong scaling: {problem}{interval}")
    figure.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncol=3)
    style.save(figure, path)

# SPDX-License-Identifier: Apache-2.0
"""Curves over the size of a message: all sides of `penstock bench --json`, with the quartiles as bands."""
import matplotlib.ticker

from penstock_plot import style
from penstock_plot.records import COLLECTIVES, InputError, sides_of
from penstock_plot.statistics import pooled
from penstock_plot.style import plt

BENCHMARKS = ["latency", "bandwidth", "multi-pair", "message-rate", "halo", "exchange", "rma", *COLLECTIVES]
AXES = {
    "latency": "half round trip, us",
    "bandwidth": "bandwidth, MB/s",
    "multi-pair": "bandwidth of all pairs, MB/s",
    "message-rate": "messages a second, millions",
    "halo": "a step, us",
    "exchange": "an exchange, us",
    "rma": "half round trip by puts, us",
    **{name: f"{name}, us" for name in COLLECTIVES},
}
# What tells panels from each other, where it varies.
CONDITIONS = ["device", "mode", "launch", "order", "pack", "memory", "send", "transport", "ranks", "pairs", "thread_level", "checked",
              "wished_algorithm"]
WORDS = {
    "pack": lambda value: "pack and unpack kernels" if value else "",
    "checked": lambda value: "every byte checked" if value else "unchecked",
    "ranks": lambda value: f"{value} rank{'' if value == 1 else 's'}",
    "memory": lambda value: {"ordinary": "ordinary memory", "PST_Alloc_mem": "PST_Alloc_mem"}.get(value, value),
    "launch": lambda value: "" if value == "dependent" else f"{value} launches",
    "send": lambda value: f"{value} sends",
    "order": lambda value: f"receives {value}",
}
# A side has one colour and marker in all pictures.
LOOKS = ["penstock", "mpi", "nccl", "mpi-nonblocking", "nvshmem", "nvshmem-add", "ofi-chain"]
# Of rma, in place of these.
ONE_SIDED = {"penstock": "Penstock, epochs", "windows-batch": "Penstock, batches", "two-sided": "Penstock, messages",
             "mpi": "MPI, messages", "mpi-windows": "MPI, post to wait", "mpi-fence": "MPI, fences", "mpi-lock": "MPI, locks"}
DASHES = ["-", "--", ":", "-."]  # of the libraries
NAMES = {"penstock": "Penstock", "mpi": "MPI", "mpi-nonblocking": "MPI, nonblocking", "nccl": "NCCL", "nvshmem": "NVSHMEM",
         "nvshmem-add": "NVSHMEM, adding signals"}


def conditions_of(line):
    return tuple(line.get(name) for name in CONDITIONS)


def words_of(conditions, varying):
    words = []
    for name, value in zip(CONDITIONS, conditions):
        if name in varying and value is not None:
            words.append(WORDS.get(name, str)(value))
    return ", ".join(filter(None, words))


def select(lines, benchmark, where):
    """The measurements asked for; checked ones only where nothing else is there."""
    chosen = [line for line in lines if line.get("benchmark") == benchmark and "bytes" in line
              and all(str(line.get(key)).lower() == value.lower() for key, value in where.items())]
    unchecked = [line for line in chosen if not line.get("checked")]
    return unchecked or chosen


def panels_of(lines):
    panels = {}
    for line in lines:
        panels.setdefault(conditions_of(line), []).append(line)
    varying = {name for i, name in enumerate(CONDITIONS) if len({key[i] for key in panels}) > 1}
    return [(words_of(key, varying), panels[key]) for key in panels]


def series_of(lines):
    """Side, number of the library, name, and points (bytes, figure), of each side on each library."""
    names = ONE_SIDED if lines[0].get("benchmark") == "rma" else NAMES
    libraries = list(dict.fromkeys(line.get("library") for line in lines))
    series = {}
    for line in lines:
        for side in sides_of(line):
            series.setdefault((side, line.get("library")), {}).setdefault(line["bytes"], []).append(line[side])
    named = []
    for (side, library), points in series.items():
        name = names.get(side, side)
        if len(libraries) > 1:
            name = f"Penstock on {library}" if side == "penstock" else name.replace("MPI", library)
        named.append((side, libraries.index(library), name, sorted((size, pooled(figures)) for size, figures in points.items())))
    return sorted(named, key=lambda one: one[0] != "penstock")


def draw_series(axes, looks, side, library, name, points):
    look = looks.index(side) if side in looks else len(looks)
    colour = style.COLOURS[look]
    sizes = [max(size, 1) for size, _ in points]
    axes.plot(sizes, [figure["median"] for _, figure in points], color=colour, linestyle=DASHES[library % len(DASHES)],
              marker=style.MARKERS[look], markerfacecolor=colour if library == 0 else "white", label=name, zorder=20 - look)
    axes.fill_between(sizes, [figure["low"] for _, figure in points], [figure["high"] for _, figure in points],
                      color=colour, alpha=0.22, linewidth=0, zorder=10 - look)


def draw_panel(axes, title, lines, benchmark):
    looks = list(ONE_SIDED) if benchmark == "rma" else LOOKS
    for side, library, name, points in series_of(lines):
        draw_series(axes, looks, side, library, name, points)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high / low < 30:
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    style.plain_numbers(axes.yaxis)
    axes.set_title(title)
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel(AXES[benchmark])
    axes.tick_params(labelbottom=True)
    axes.set_xlabel("bytes that a rank sends in a step" if benchmark in ("halo", "exchange") else "size of a message")


def draw(lines, benchmark, path, where=None, title=None):
    there = sorted({line["benchmark"] for line in lines if line.get("benchmark") in BENCHMARKS} - {benchmark})
    lines = select(lines, benchmark, where or {})
    if not lines:
        raise InputError(f"no {benchmark} lines" + (f" with {where}" if where else "") + " in the files" +
                         (f", which have {', '.join(there)}: say so by --benchmark" if there else ""))
    panels = panels_of(lines)
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(5.6 * columns, 3.5 * rows + 0.4), squeeze=False,
                                sharex=True, sharey=True, layout="constrained")
    for axes, (name, of_panel) in zip(grid.flat, panels):
        draw_panel(axes, name, of_panel, benchmark)
        style.label_bytes(axes, [max(line["bytes"], 1) for line in lines])
    for axes in list(grid.flat)[len(panels):]:
        axes.set_axis_off()
    handles = {label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="upper center", bbox_to_anchor=(0.5, 0), ncol=min(4, len(handles)))
    figure.suptitle(title or f"{benchmark.capitalize()}: medians and quartiles", x=0.01, ha="left", fontsize=12)
    style.save(figure, path)
